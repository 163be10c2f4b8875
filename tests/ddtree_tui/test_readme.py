"""The README's promises that can be checked without running its commands."""

import re
import shlex
from pathlib import Path

import pytest

from ddtree_tui.arguments import build_parser
from ddtree_tui.glyphs import LEGEND
from ddtree_tui.usage import option_names
from engine.events import AnyEvent

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_ci_runs_the_readme_test_command():
    (command,) = (line for line in "".join(blocks("sh")).splitlines() if "pytest" in line)
    assert f"\n{command}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_two_commands_do_their_own_set_up():
    commands = [line for line in "".join(blocks("sh")).splitlines() if line.startswith("python3 -m venv")]
    assert len(commands) == 2
    assert commands[0].endswith(".venv/bin/ddtree-tui --budget 64")


def test_every_option_it_names_exists():
    known = {*option_names(build_parser()), "--no-build-isolation", "--no-deps", "--nproc-per-node"}
    text = "".join(line for line in README.splitlines(keepends=True) if "engine.train " not in line)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--measure"}
    assert named
    assert named <= known


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


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_every_file_it_links_to_exists(path):
    assert (ROOT / path).exists()
