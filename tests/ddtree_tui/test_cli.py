import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_tui import __version__, cli, exit_codes
from ddtree_tui.arguments import build_parser
from ddtree_tui.budget import read_budget
from ddtree_tui.log_file import KEPT_LOGS, new_log_path
from ddtree_tui.options import AppOptions, GenerateOptions
from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings


@pytest.fixture(autouse=True)
def log_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(*arguments: str, **keywords) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "ddtree_tui", *arguments],
        capture_output=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        **keywords,
    )


def refused(*arguments: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        cli.parse(arguments)
    return caught.value


def test_no_options_open_the_app_with_the_defaults():
    options = cli.parse([])
    assert isinstance(options, AppOptions)
    assert (options.load, options.decode) == (LoadSettings(), DecodeSettings())
    assert options.replay is options.trace is options.prompt is None
    assert options.log_path.parent.is_dir()


def test_every_option_reaches_its_setting():
    options = cli.parse(
        "generate hello --model m --drafter d --device cuda:1 --dtype bfloat16 --mode chain --budget 16"
        " --verify sequential --block-size 8 --thinking --temperature 0.8 --top-p 0.95 --top-k 20 --min-p 0.1"
        " --seed 7 --max-new-tokens 99 --stop A --stop B --detail --trace t.jsonl --json"
        " --show-thinking --quiet --debug --system be --device-map auto".split()
    )
    assert isinstance(options, GenerateOptions)
    assert options.load == LoadSettings(
        model="m", drafter="d", device="cuda:1", dtype="bfloat16", device_map="auto"
    )
    assert cli.parse(["--quantize", "int8"]).load.quantize == "int8"
    assert "bnb-nf4" in refused("--quantize", "nf4").hint
    assert refused("--quantize", "int8", "--tp", "2").kind == "bad_setting"
    assert options.decode == DecodeSettings(
        mode="chain",
        budget=16,
        verify="sequential",
        block_size=8,
        thinking=True,
        temperature=0.8,
        top_p=0.95,
        top_k=20,
        min_p=0.1,
        seed=7,
        max_new_tokens=99,
        stop=("A", "B"),
        detail=True,
    )
    assert options.messages == [{"role": "system", "content": "be"}, {"role": "user", "content": "hello"}]
    assert (options.json, options.show_thinking, options.quiet, options.debug) == (True, True, True, True)
    assert options.trace == Path("t.jsonl")


def test_options_count_on_both_sides_of_the_command():
    options = cli.parse(["--budget", "8", "--thinking", "generate", "x", "--mode", "chain", "--no-thinking"])
    assert (options.decode.budget, options.decode.mode, options.decode.thinking) == (8, "chain", False)


@pytest.mark.parametrize(
    ("words", "budget", "auto"),
    [
        (["--budget", "auto"], 256, True),
        (["--budget", "auto:32"], 32, True),
        (["--budget", "auto", "generate", "x", "--budget", "16"], 16, False),
    ],
)
def test_the_engine_may_choose_the_budget(words, budget, auto):
    decode = cli.parse(words).decode
    assert (decode.budget, decode.auto_budget) == (budget, auto)


def test_no_setting_is_out_of_reach():
    given = {action.dest for action in build_parser()._actions} | set(read_budget("auto"))
    assert given >= set(LoadSettings.__struct_fields__) | set(DecodeSettings.__struct_fields__)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "0"], "budget cannot be 0"),
        (["--budget", "-3"], "budget cannot be -3"),
        (["--budget", "1000000"], "from 1 to 1024"),
        (["--budget", "9" * 40], "from 1 to 1024"),
        (["--budget", "many"], "whole number from 1 to 1024"),
        (["--budget", "6.5"], "whole number"),
        (["--budget", "auto:"], "whole number from 1 to 1024, or auto"),
        (["--budget", "auto:0"], "budget cannot be 0"),
        (["--budget"], "--budget needs a value"),
        (["--buget", "64"], "Did you mean --budget?"),
        (["--bud", "64"], "There is no option --bud"),
        (["bench", "--flor"], "Did you mean --floor?"),
        (["--temperature", "warm"], "temperature cannot be 'warm'"),
        (["--temperature", "nan"], "temperature cannot be nan"),
        (["--temperature", "-1"], "temperature cannot be -1"),
        (["--top-p", "0"], "top-p"),
        (["--top-k", "-1"], "top-k"),
        (["--min-p", "1"], "min-p"),
        (["--seed", "-1"], "seed"),
        (["--seed", str(2**63)], "2^63 - 1"),
        (["--seed", "9" * 40], "2^63 - 1"),
        (["--temperature", "1e-320"], "0 (greedy)"),
        (["--max-new-tokens", "0"], "max-new-tokens"),
        (["--block-size", "1"], "block size"),
        (["--stop", ""], "non-empty"),
        (["--mode", "tre"], "did you mean tree?"),
        (["--verify", "native"], "did you mean naive?"),
        (["--dtype", "float8"], "Choose one of auto, float32"),
        (["--device", "cudda"], "did you mean cuda?"),
        (["--device", "cuda:x"], "cuda:N"),
        (["genrate", "hi"], "Did you mean generate?"),
        (["What is 2 + 2?"], 'ddtree-tui generate "PROMPT"'),
        (["generate"], "There is no prompt"),
        (["generate", "  \n"], "The prompt is empty"),
        (["generate", "two", "words"], "quotes"),
        (["generate", "hi", "--prompt-file", "x"], "two prompts"),
        (["generate", "--prompt-file", "/no/such/file"], "cannot be read"),
        (["replay"], "no trace file named"),
        (["replay", "/no/such/file"], "no trace file /no/such/file"),
        (["replay", "/"], "folder"),
        (["replay", "x", "--json"], "no use for --json"),
        (["--log", "/no/such/folder/log"], "log cannot be written"),
    ],
)
def test_a_wrong_command_line_is_answered_by_a_sentence(arguments, words):
    error = refused(*arguments)
    assert words in f"{error.message} {error.hint}"
    assert error.hint


def test_wrong_usage_ends_with_code_2_and_one_line():
    done = run("--budget", "0")
    assert done.returncode == exit_codes.BAD_INPUT
    assert done.stdout == b""
    assert done.stderr.decode().count("\n") == 1
    assert done.stderr.startswith(b"ddtree-tui: The budget cannot be 0.")


def test_debug_adds_the_traceback():
    done = run("--budget", "0", "--debug")
    assert done.returncode == exit_codes.BAD_INPUT
    assert b"Traceback" in done.stderr


def test_the_app_needs_a_terminal():
    done = run()
    assert done.returncode == exit_codes.BAD_INPUT
    assert b"needs a terminal" in done.stderr


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"v":9,"type":"loaded"}\n'])
def test_replaying_something_else_ends_with_code_4(tmp_path, content):
    path = tmp_path / "trace"
    path.write_bytes(content)
    done = run("replay", str(path))
    assert done.returncode == exit_codes.TRACE_FAILED
    assert done.stderr.count(b"\n") == 1


def test_the_prompt_comes_from_a_file_or_from_standard_input(tmp_path):
    path = tmp_path / "prompt.txt"
    path.write_bytes("Grüße, 你\nzwei\n".encode())
    wanted = [{"role": "user", "content": "Grüße, 你\nzwei"}]
    assert cli.parse(["generate", "--prompt-file", str(path)]).messages == wanted
    code = "import sys; from ddtree_tui.cli import parse; print(ascii(parse(['generate', '-']).messages))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=path.read_bytes(), capture_output=True, timeout=60
    )
    assert done.stdout.decode().strip() == ascii(wanted)


@pytest.mark.parametrize(
    ("closed", "arguments"),
    [("<&-", "generate -"), ("<&-", ""), ("2>&-", "--budget 0"), ("<&- >&- 2>&-", "generate -")],
)
def test_missing_streams_are_no_crash(closed, arguments):
    shell = f"exec {sys.executable} -m ddtree_tui {arguments} {closed}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, timeout=60, check=False)
    assert done.returncode == exit_codes.BAD_INPUT
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""


def test_the_largest_seed_is_a_seed():
    assert cli.parse(["generate", "hi", "--seed", str(2**63 - 1)]).decode.seed == 2**63 - 1


def test_a_prompt_file_in_nobodys_home_is_refused_in_a_sentence():
    with pytest.raises(EngineError) as caught:
        cli.parse(["generate", "--prompt-file", "~nobody-of-this-name/p.txt"])
    assert caught.value.kind == "prompt_file"
    assert not caught.value.message.endswith("..")


def test_a_prompt_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "prompt.bin"
    path.write_bytes(b"caf\xe9")
    assert "not UTF-8 text (byte 3)" in refused("generate", "--prompt-file", str(path)).message


def test_a_prompt_longer_than_any_context_is_not_read_to_its_end():
    assert "longer than any context" in refused("generate", "--prompt-file", "/dev/zero").message


def test_help_and_version():
    assert run("--version").stdout.decode() == f"ddtree-tui {__version__}\n"
    text = run("--help").stdout.decode()
    for code, meaning in exit_codes.MEANINGS.items():
        assert f"{code:>3}  {meaning}" in text
    for command in ("generate", "replay", "bench"):
        assert b"exit codes" in run(command, "--help").stdout


def help_of(command):
    (commands,) = (one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction))
    return commands.choices[command].format_help()


@pytest.mark.parametrize("command", [["race", "hello"], ["doctor"], ["check", "--prompt", "hello"]])
def test_what_needs_the_target_in_one_process_says_so_and_does_not_offer_several(command):
    assert "one process" in refused(*command, "--tp", "2").message
    assert "--tp " not in help_of(command[0])
    assert "--tp " in help_of("generate")


def test_presets_are_listed_where_a_model_can_be_named():
    assert "presets for --model" in help_of("generate")
    assert "--model" not in help_of("replay")


def test_exit_codes_are_those_of_the_readme():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for code, meaning in exit_codes.MEANINGS.items():
        assert f"| {code} | {meaning} |" in readme


def test_a_broken_template_is_a_matter_of_the_model():
    assert exit_codes.exit_code("bad_template") == exit_codes.NOT_LOADED
    assert exit_codes.exit_code("template_refused") == exit_codes.ENGINE_FAILED


HEAVY = ("torch", "transformers", "textual", "rich", "networkx", "numpy", "platformdirs", "asyncio")


def test_nothing_heavy_is_imported_for_help_and_version():
    code = (
        "import sys\nfrom ddtree_tui.cli import main\n"
        "try: main(sys.argv[1:])\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    for arguments in (["--help"], ["--version"], ["generate", "--help"], ["bench", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, timeout=60)
        assert done.stderr.decode().strip() == "[]"


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_answer_in_half_a_second(option):
    """Of processor time: nothing else is waited for, and others may have the machine."""
    seconds = []
    for _ in range(3):
        begin = os.times()
        assert run(option).returncode == 0
        end = os.times()
        seconds.append(end.children_user + end.children_system - begin.children_user - begin.children_system)
    assert min(seconds) < 0.5


def test_old_logs_are_removed():
    folder = new_log_path().parent
    for number in range(KEPT_LOGS + 5):
        (folder / f"20200101-0000{number:02}-1.log").write_text("")
    (folder / "notes.txt").write_text("")
    path = new_log_path()
    path.write_text("")
    names = sorted(file.name for file in folder.iterdir())
    assert len(names) == KEPT_LOGS + 1
    assert names[0] == "20200101-000006-1.log"
    assert "notes.txt" in names


def test_without_a_log_folder_the_log_goes_to_a_temporary_one(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    path = new_log_path()
    assert path.parent.is_dir()
    assert os.access(path.parent, os.W_OK)
    assert path.name.startswith("ddtree-tui-")
