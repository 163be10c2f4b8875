"""What the README and the pages beside it promise, as far as that can be checked without running commands."""

import re
import shlex
from pathlib import Path

import pytest

from ddtree_tui.arguments import build_parser
from ddtree_tui.glyphs import LEGEND
from ddtree_tui.usage import option_names
from engine.events import AnyEvent

ROOT = Path(__file__).parents[2]
PAGES = {
    path.name: path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
OF_OTHERS = {"--index-url", "--no-build-isolation", "--no-deps", "--nproc-per-node"}  # pip, torchrun


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_ci_runs_the_readme_test_command():
    (command,) = (line for line in "".join(blocks("sh")).splitlines() if "pytest" in line)
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_two_commands_do_their_own_set_up():
    commands = [line for line in "".join(blocks("sh")).splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith(".venv/bin/ddtree-tui --budget 64")


@pytest.mark.parametrize(
    "name", ["README.md", "larger-models.md", "measuring.md", "oracle.md", "training.md"]
)
def test_every_option_it_names_exists(name):
    from engine.train import arguments

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGES[name]))
    assert named
    parsers = build_parser(), arguments.build_parser()
    assert named <= {*(name for parser in parsers for name in option_names(parser)), *OF_OTHERS}


def test_its_training_command_is_one():
    from engine.train.arguments import read_plan

    (command,) = (line for line in "".join(blocks("sh")).splitlines() if "-m engine.train" in line)
    plan = read_plan([*shlex.split(command)[3:], "--measure", "others.jsonl"])
    assert plan.training.seconds == 3600
    assert plan.measure == ("others.jsonl",)


def test_every_event_type_is_described():
    for event in AnyEvent.__args__:
        assert f"| `{event.__struct_config__.tag}` |" in README


def test_its_glyphs_are_the_ones_on_screen():
    for _, name, _ in LEGEND:
        assert re.search(rf"`[^`]+` {name} \|", README), name


def test_its_python_example_is_python():
    (code,) = blocks("python")
    compile(code, "README.md", "exec")


@pytest.mark.parametrize("name", PAGES)
def test_every_file_it_links_to_exists(name):
    folder = ROOT if name == "README.md" else ROOT / "docs"
    for path, anchor in re.findall(r"\]\(([\w./-]*)(?:#([\w-]+))?\)", PAGES[name]):
        assert (folder / path).exists()
        if anchor:
            page = PAGES[Path(path).name] if path else PAGES[name]
            headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings]
            assert anchor in anchors
