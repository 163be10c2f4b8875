"""The configuration: one schema, its example, the file, the environment, and what is wrong in them."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest
from make_recording import conversation
from playing import playing

from ddtree_tui import cli, exit_codes
from ddtree_tui.config import SECTIONS, Config, fields
from ddtree_tui.config_file import ReadConfig, config_path, example, read_config
from ddtree_tui.options import AppOptions
from ddtree_tui.setting_list import UNSET
from engine.event_lines import encode_event
from engine.settings import DecodeSettings, LoadSettings


def reading(tmp_path: Path, text: str | bytes, **environment: str) -> ReadConfig:
    path = tmp_path / "config.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config({"DDTREE_TUI_CONFIG": str(path)} | environment)


def test_the_schema_has_every_setting_of_the_engine_with_its_default() -> None:
    assert Config().decode_settings() == DecodeSettings()
    assert Config().load_settings() == LoadSettings()
    for section in SECTIONS:
        for field in fields(section):
            assert field.help
            assert not field.help.endswith(".")
            assert msgspec.convert(field.default, field.type) == field.default


def test_the_example_names_everything_and_its_values_are_accepted(tmp_path: Path) -> None:
    assert reading(tmp_path, example()).problems == ()
    assert reading(tmp_path, example()).config == Config()
    uncommented = "\n".join(
        line.removeprefix("# ") if " = " in line and "DDTREE" not in line else line
        for line in example().splitlines()
    )
    table = tomllib.loads(uncommented)
    for section in SECTIONS:
        assert list(table[section]) == [field.name for field in fields(section)]
    read = reading(tmp_path, uncommented)
    assert read.problems == ()
    assert len(read.config.keys) > 15


def test_the_example_says_what_holds_where_there_is_no_value() -> None:
    lines = example().splitlines()
    assert "# block_size = 8  # for instance; unless given: the drafter's own" in lines
    optional = {field.name for section in SECTIONS for field in fields(section) if field.default is None}
    assert optional == set(UNSET)
    assert sum("unless given: " in line and " = " in line for line in lines) == len(optional)


def test_what_the_file_says_holds(tmp_path: Path) -> None:
    read = reading(
        tmp_path,
        """
        [decode]
        budget = 16
        temperature = 1
        stop = ["Q:"]
        [models]
        device = "cpu"
        [looks]
        theme = "light"
        paints_per_second = 4
        [recordings]
        enabled = false
        limit_mb = 10
        [keys]
        "round.back" = "h,left"
        round.forth = "l"
        """,
    )
    assert read.problems == ()
    assert read.config.decode_settings() == DecodeSettings(budget=16, temperature=1.0, stop=("Q:",))
    assert read.config.load_settings() == LoadSettings(device="cpu")
    assert (read.config.looks.theme, read.config.looks.paints_per_second) == ("light", 4)
    assert (read.config.recordings.enabled, read.config.recordings.limit_mb) == (False, 10)
    assert read.config.keys == {"round.back": "h,left", "round.forth": "l"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[decode]\nbudgte = 3", ("decode.budgte", "did you mean budget?")),
        ("[decode]\nbudget = 0", ("decode.budget", "The budget cannot be 0.")),
        ('[decode]\nbudget = "many"', ("decode.budget", "The budget cannot be 'many'")),
        ("[decode]\nthinking = 1", ("decode.thinking", "The thinking cannot be 1")),
        ("[decode]\ntemperature = -1.0", ("decode.temperature", "cannot be -1.0")),
        ("[decode]\ntemperature = nan", ("decode.temperature", "cannot be nan")),
        ('[models]\ndevice = "tpu"', ("models.device", "cannot be 'tpu'")),
        ('[models]\ndtype = "int3"', ("models.dtype", "cannot be 'int3'")),
        ("[models]\ncontext = 0", ("models.context", "cannot be 0")),
        ('[looks]\ntheme = "pink"', ("looks.theme", "dark, light, contrast")),
        ("[looks]\npaints_per_second = 0", ("looks.paints_per_second", "cannot be 0")),
        ("[recordings]\nlimit_mb = 0", ("recordings.limit_mb", "cannot be 0")),
        ("[lokos]\ntheme = 'light'", ("unknown part: lokos", "did you mean looks?")),
        ("decode = 3", ("decode has to be a table",)),
        ("[keys]\n'round.back' = 3", ("keys.round.back", "written as one text")),
        ("[decode\n", ("is not TOML",)),
        (b"a = " + b"[" * 10_000, ("is not TOML",)),
        (b"[decode]\nseed = " + b"9" * 5000, ("is not TOML",)),
        (b"[decode]\nseed = 0x" + b"f" * 6000, ("decode.seed", "beyond 64 bits")),
        (b"\xff\xfe", ("not UTF-8",)),
    ],
)
def test_what_is_wrong_is_named_with_its_file_and_the_rest_holds(
    tmp_path: Path, text: str | bytes, told: tuple[str, ...]
) -> None:
    read = reading(tmp_path, text)
    (problem,) = read.problems
    assert str(tmp_path / "config.toml") in problem
    for part in told:
        assert part in problem
    assert read.config == Config()
    if isinstance(text, str) and "[decode\n" not in text:
        rest = "[recordings]\nlimit_mb = 7\n" if "recordings" not in text else "[looks]\nascii = true\n"
        more = reading(tmp_path, f"{text}\n{rest}")
        assert more.problems == (problem,)
        assert more.config != Config()


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    read = read_config({"DDTREE_TUI_CONFIG": str(tmp_path)})
    assert "cannot be read" in read.problems[0]
    assert "does not exist" in read_config({"DDTREE_TUI_CONFIG": str(tmp_path / "no")}).problems[0]


@pytest.mark.parametrize("named", ["~nobody-of-this-name/c.toml", "x" * 300], ids=["home", "length"])
def test_a_name_that_no_file_can_have_is_told(
    named: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = read_config({"DDTREE_TUI_CONFIG": named})
    assert read.config == Config()
    (problem,) = read.problems
    assert named in problem
    monkeypatch.setenv("DDTREE_TUI_CONFIG", named)
    assert cli.main(["config"]) == exit_codes.BAD_INPUT
    assert capsys.readouterr().out == f"{named}: not all of it holds\n"


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    read = reading(
        tmp_path,
        "[decode]\nbudget = 16\nthinking = true\nblock_size = 4",
        DDTREE_TUI_DECODE_BUDGET="32",
        DDTREE_TUI_DECODE_THINKING="off",
        DDTREE_TUI_DECODE_BLOCK_SIZE="",
        DDTREE_TUI_DECODE_STOP='["a", "b"]',
        DDTREE_TUI_DECODE_TOP_P="0.5",
        DDTREE_TUI_LOOKS_ASCII="true",
        DDTREE_TUI_MODELS_MODEL="qwen3-4b",
    )
    assert read.problems == ()
    decode = read.config.decode_settings()
    assert decode == DecodeSettings(budget=32, thinking=False, stop=("a", "b"), top_p=0.5)
    assert read.config.looks.ascii
    assert read.config.models.model == "qwen3-4b"


def test_wrong_variables_are_told(tmp_path: Path) -> None:
    read = reading(
        tmp_path, "", DDTREE_TUI_DECODE_BUDGET="x", DDTREE_TUI_DECODE_BUDGTE="1", DDTREE_TRITON="0"
    )
    assert len(read.problems) == 2
    assert "DDTREE_TUI_DECODE_BUDGET: " in read.problems[0]
    assert (
        "DDTREE_TUI_DECODE_BUDGTE is not known (did you mean DDTREE_TUI_DECODE_BUDGET?)" in read.problems[1]
    )


def test_where_the_file_is() -> None:
    assert config_path({}).name == "config.toml"
    assert config_path({}).parent.name == "ddtree-tui"


def test_the_command_line_comes_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[decode]\nbudget = 16\nseed = 3\nstop = ["x"]\n[models]\nmodel = "qwen3-4b"\n'
        '[looks]\ntheme = "light"\n[recordings]\nenabled = false\n[oops]'
    )
    monkeypatch.setenv("DDTREE_TUI_CONFIG", str(path))
    options = cli.parse(["--budget", "8", "--theme", "contrast", "--log", str(tmp_path / "log")])
    assert isinstance(options, AppOptions)
    assert (options.decode.budget, options.decode.seed, options.decode.stop) == (8, 3, ("x",))
    assert options.load.model == "qwen3-4b"
    assert options.config.looks.theme == "contrast"
    assert not options.record
    assert len(options.problems) == 1
    generate = cli.parse(["generate", "hello", "--log", str(tmp_path / "log")])
    assert generate.decode == DecodeSettings()  # type: ignore[union-attr]


def test_who_reads_it_is_who_the_example_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "run.jsonl"
    run.write_bytes(b"".join(encode_event(event) + b"\n" for event in conversation(0, rounds=1)))
    asked: list[str] = []
    monkeypatch.setattr(cli, "read_config", lambda: asked.append("") or ReadConfig(Config(), tmp_path))
    commands = {
        "": ["--log=log"],
        "replay": ["run.jsonl", "--log=log"],
        "attach": ["http://127.0.0.1:1", "--log=log"],
        "generate": ["hello", "--log=log"],
        "race": ["hello", "--log=log"],
        "bench": ["--log=log"],
        "serve": ["--log=log"],
        "models": [],
        "export": ["run.jsonl", "--html"],
        "import": ["run.jsonl"],
        "stats": ["run.jsonl"],
        "doctor": ["--log=log"],
        "check": ["run.jsonl", "--log=log"],
    }
    readers = []
    for command, arguments in commands.items():
        cli.parse([*([command] if command else []), *arguments])
        readers += [command] * bool(asked)
        asked.clear()
    assert readers == ["", "replay", "attach"]
    assert "Only the app reads it, also as replay and attach; the other commands\n# do not" in example()


def ddtree(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ddtree_tui", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | environment,
    )


def test_the_config_command(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    named = {"DDTREE_TUI_CONFIG": str(path)}
    assert ddtree("config", "--path", **named).stdout == f"{path}\n"
    printed = ddtree("config", "--print")
    assert printed.stdout == example()
    path.write_text(printed.stdout)
    checked = ddtree("config", **named)
    assert (checked.returncode, checked.stdout) == (exit_codes.OK, f"{path}: all of it holds\n")
    path.write_text("[decode]\nbudgte = 3\n[keys]\n'run.stop' = 'q'\n'run.stpo' = 'x'\n")
    checked = ddtree("config", **named)
    assert checked.returncode == exit_codes.BAD_INPUT
    assert "decode.budgte" in checked.stderr
    assert "keys.run.stpo: there is no such key (did you mean run.stop?)" in checked.stderr


async def test_what_is_wrong_is_one_notice_and_the_app_goes_on(tmp_path: Path) -> None:
    read = reading(tmp_path, "[decode]\nbudgte = 3\nbudget = 8\n[keys]\n'run.stpo' = 'x'\n[looks]\ntheme = 3")
    async with playing(rounds=3, config=read) as play:
        await play.until(lambda: play.told)
        (notice,) = play.told
        for part in (str(tmp_path / "config.toml"), "decode.budgte", "looks.theme", "keys.run.stpo"):
            assert part in notice
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds == 3)


async def test_keys_of_the_configuration_work_and_are_shown(tmp_path: Path) -> None:
    read = reading(
        tmp_path,
        '[keys]\n"round.back" = "ctrl+b,h"\n"look.help" = "f12"\n"set.mode" = "["\n"app.quit" = "ctrl+x"',
    )
    async with playing(rounds=20, config=read, size=(120, 40)) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hi")
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.busy)
        await play.pilot.press("ctrl+b")  # while typing
        assert play.controller.viewpoint.index(20) == 18
        await play.pilot.press("escape", "h")
        assert play.controller.viewpoint.index(20) == 17
        await play.pilot.press("f3")  # no longer its key
        assert play.controller.viewpoint.index(20) == 17
        await play.pilot.press("left_square_bracket")
        assert play.controller.settings.mode == "ar"
        await play.settle()
        assert "^B →" in play.part("#keys")
        assert "^X quit" in play.part("#keys")
        assert "F12 keys" in play.part("#keys")
        await play.pilot.press("i", "f12")  # in the tree it begins with the tree's signs
        await play.settle()
        assert "Ctrl+B  h " in play.text()
        assert "F12" in play.text()
        offered = {command.title: command.help for command in play.app.get_system_commands(play.app.screen)}
        assert offered["Keys"].endswith("(F12)")
