"""``ddtree-tui bench`` from its command line to its files, on a scripted engine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ddtree_tui import cli, exit_codes
from ddtree_tui.bench.command import run_bench
from ddtree_tui.bench.configuration import decode_settings
from ddtree_tui.bench.work_file import WorkFile, work_path
from engine.commands import Generate, decode_command
from engine.errors import EngineError

WORKER = Path(__file__).with_name("scripted_worker.py")

START = """
import sys
from ddtree_tui import cli, engine_process
worker, log = sys.argv[1:3]
engine_process.worker_command = lambda path, **options: [sys.executable, worker, log, sys.argv[3]]
sys.exit(cli.main(sys.argv[4:]))
"""


@pytest.fixture
def prompts(tmp_path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(f'{{"question": "{word}"}}\n' for word in ("one", "two", "three")))
    return path


@pytest.fixture
def bench(tmp_path, prompts, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def run(*options: str, fault: str = "") -> int:
        """Answers of full length have ``max_new_tokens`` 99, which the worker counts by."""
        arguments = ["bench", str(prompts), "--max-new-tokens", "99", "--budgets", "16,64", *options]
        command = [sys.executable, str(WORKER), str(tmp_path / "commands"), fault]
        return run_bench(cli.parse(arguments), command)

    return run


def asked(folder: Path) -> list[Generate]:
    """The answers of full length that the engine was asked for."""
    lines = (folder / "commands").read_bytes().splitlines(keepends=True)
    commands = [decode_command(line) for line in lines]
    return [one for one in commands if isinstance(one, Generate) and one.settings.max_new_tokens == 99]


def load(path: Path) -> dict:
    return json.loads(path.read_text())


def test_all_files_say_the_same(bench, tmp_path, capfd):
    out, table, plots = tmp_path / "r.json", tmp_path / "r.md", tmp_path / "plots"
    code = bench("--out", str(out), "--markdown", str(table), "--plots", str(plots), "--floor", "--quiet")
    assert code == exit_codes.OK
    assert capfd.readouterr() == ("", "")
    results = load(out)
    assert results["complete"] is True
    assert results["command"][:2] == ["ddtree-tui", "bench"]
    assert results["loaded"]["versions"] == {"torch": "0"}
    assert not work_path(out).exists()
    (group,) = results["groups"]
    rows = {row["name"]: row for row in group["rows"]}
    assert list(rows) == ["ar", "chain", "tree(16)", "tree(64)"]
    tokens = sum(answer["tokens"] - 1 for answer in results["answers"] if answer["way"]["mode"] == "ar")
    assert {row["tokens"] for row in rows.values()} == {tokens}
    assert rows["ar"]["rounds"] == tokens
    assert rows["ar"]["tokens_per_second"]["value"] == pytest.approx(100)
    chain = rows["chain"]
    assert chain["acceptance"]["value"] == pytest.approx(tokens / chain["rounds"])
    assert chain["speed_vs_ar"]["value"] == pytest.approx(tokens / chain["rounds"] / 0.012 / 100)
    assert chain["ms"]["verify"] == pytest.approx(6)
    assert chain["ttft_ms"]["median"] == pytest.approx(50)
    assert chain["peak_bytes"] == 3 * 2**20
    assert chain["round_over_floor"] == pytest.approx(12 / 6)
    assert rows["ar"]["round_over_floor"] == pytest.approx(10 / 5)
    assert chain["lossless"] == {"compared": 3, "same": 3, "tie": 0, "defect": 0, "unjudged": 0}
    verdicts = [answer["verdict"] for answer in results["answers"] if answer["way"]["mode"] != "ar"]
    assert [verdict["kind"] for verdict in verdicts] == ["same"] * 9
    text = table.read_text()
    assert f"chain 3 prompts, {tokens} tokens" in text
    assert "Texts identical to ar's: 9 of 9." in text
    assert "Times are of a CPU" in text
    for name in ("acceptance.svg", "speed.svg", "stages.svg"):
        assert ET.parse(plots / name).getroot().tag.endswith("svg")


def test_the_ways_take_turns_prompt_by_prompt(bench, tmp_path):
    assert bench("--thinking", "both", "--temperatures", "0,0.8", "--quiet", "--seed", "5") == exit_codes.OK
    settings = [command.settings for command in asked(tmp_path)]
    assert len(settings) == 3 * 2 * 2 * 4
    blocks = [settings[start : start + 4] for start in range(0, len(settings), 4)]
    names = ["ar", "chain", "tree 16", "tree 64"]
    for place, block in enumerate(blocks):
        ways = [f"{one.mode} {one.budget}" if one.mode == "tree" else one.mode for one in block]
        assert ways == [*names[place % 4 :], *names[: place % 4]]
        assert len({(one.thinking, one.temperature, one.seed) for one in block}) == 1
        assert block[0].seed == 5 + place // 4
    conditions = [(block[0].thinking, block[0].temperature) for block in blocks[:4]]
    assert conditions == [(False, 0), (False, 0.8), (True, 0), (True, 0.8)]


def test_a_text_that_differs_is_told_with_its_place_and_gap(bench, tmp_path, capsys):
    assert bench("--quiet", fault="differs") == exit_codes.TEXT_DIFFERS
    report = capsys.readouterr().out
    assert "Texts identical to ar's: 6 of 9." in report
    assert report.count("- defect: chain, set prompt") == 3
    assert "token 5 (position 9, round 2) is #7, ar's is #" in report
    assert "gap 0.125, in ar 0.125" in report
    # The same within what rounding explains.
    assert bench("--quiet", "--tie-gap", "0.25", fault="differs") == exit_codes.OK
    assert "3 ties" in capsys.readouterr().out
    assert bench("--quiet", fault="differs, noisy") == exit_codes.OK  # as the engine has measured it
    assert "3 ties" in capsys.readouterr().out


def test_an_engine_that_dies_leaves_what_was_measured_and_the_next_start_goes_on(bench, tmp_path, capsys):
    out = tmp_path / "r.json"
    assert bench("--out", str(out), fault="die") == exit_codes.ENGINE_FAILED
    captured = capsys.readouterr()
    assert "killed by signal 9" in captured.err
    assert "**Not complete**" in captured.out
    assert load(out)["complete"] is False
    assert len(load(out)["answers"]) == 2
    before = len(asked(tmp_path))
    assert before == 3
    assert bench("--out", str(out), "--quiet") == exit_codes.OK
    results = load(out)
    assert (results["complete"], results["sessions"], len(results["answers"])) == (True, 2, 12)
    assert len(asked(tmp_path)) == before + 10
    assert "in 2 sessions" in capsys.readouterr().out
    with pytest.raises(EngineError, match="exist already"):
        bench("--out", str(out))


def test_everything_there_already_starts_no_engine(bench, tmp_path, monkeypatch):
    """As after a kill between the last answer and the results."""
    out = tmp_path / "r.json"
    with monkeypatch.context() as patched:
        patched.setattr(WorkFile, "remove", lambda work: None)
        assert bench("--out", str(out), "--quiet") == exit_codes.OK
    before = load(out)["groups"]
    out.unlink()
    with pytest.raises(EngineError, match="another seed"):
        bench("--out", str(out), "--quiet", "--seed", "1")
    (tmp_path / "commands").unlink()
    assert bench("--out", str(out), "--quiet") == exit_codes.OK
    assert not (tmp_path / "commands").exists()
    assert load(out)["groups"] == before
    assert load(out)["complete"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_keeps_what_is_done(tmp_path, prompts, number):
    out, log = tmp_path / "r.json", tmp_path / "commands"
    options = [str(prompts), "--max-new-tokens", "99", "--budgets", "16", "--out", str(out)]
    command = [sys.executable, "-c", START, str(WORKER), str(log), "wait", "bench", *options]
    process = subprocess.Popen(
        [*command, "--log", str(tmp_path / "log")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not log.exists() or len(asked(tmp_path)) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    report, status = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert b"the same command goes on from here" in status
    assert b"**Not complete**" in report
    assert len(load(out)["answers"]) == 3
    assert work_path(out).exists()
    # And it does.
    command[5] = ""
    done = subprocess.run([*command, "--log", str(tmp_path / "log")], capture_output=True, timeout=60)
    assert done.returncode == 0
    assert len(load(out)["answers"]) == 9


def test_a_prompt_that_cannot_be_answered_is_told_and_the_others_go_on(bench, tmp_path, prompts, capsys):
    prompts.write_text('{"prompt": "too long"}\n{"prompt": "two"}\n')
    assert bench("--quiet") == exit_codes.OK
    report = capsys.readouterr().out
    assert "### Not answered" in report
    assert "- set prompt 0, chain: The prompt has 900 tokens." in report
    assert "chain 1 prompt," in report


def test_a_way_that_does_not_fit_leaves_the_others(bench, capsys):
    assert bench("--quiet", fault="torn") == exit_codes.OK
    report = capsys.readouterr().out
    assert report.count("There is not enough memory.") == 6
    assert "| chain |" in report
    assert "| tree(16) |" not in report


def test_without_a_drafter_only_ar_can_be_measured(bench, capsys):
    with pytest.raises(EngineError, match="need a drafter"):
        bench("--quiet", fault="alone")
    assert bench("--quiet", "--modes", "ar", fault="alone") == exit_codes.OK
    assert "ar | 1.00" in capsys.readouterr().out


def test_without_ar_there_is_no_verdict(bench, capsys):
    assert bench("--quiet", "--modes", "chain") == exit_codes.OK
    assert "No losslessness verdict: mode ar was not measured." in capsys.readouterr().out


def test_earlier_results_are_a_baseline(bench, tmp_path, capsys):
    out = tmp_path / "before.json"
    assert bench("--quiet", "--out", str(out)) == exit_codes.OK
    assert bench("--quiet", "--baseline", str(out)) == exit_codes.OK
    report = capsys.readouterr().out
    assert "### Against the baseline" in report
    moved = load(out)
    moved["groups"][0]["rows"][1]["tokens_per_second"]["value"] *= 1.2
    out.write_text(json.dumps(moved))
    assert bench("--quiet", "--baseline", str(out)) == exit_codes.MOVED
    report = capsys.readouterr().out
    assert report.count("**lower**") == 1
    assert "-16.7%" in report


def test_progress_is_on_standard_error_with_the_time_left(bench, capsys):
    assert bench() == exit_codes.OK
    captured = capsys.readouterr()
    assert "12 of 12 answers, 0:00:00 left" in captured.err
    assert captured.out.startswith("## t, drafter t, float32 on cpu\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--budgets", "0"], "budget cannot be 0"),
        (["--budgets", "16,many"], "whole number from 1 to 1024"),
        (["--budgets", "16,"], "whole number"),
        (["--budgets", "16,auto:8"], "from 1 to 1024, or auto"),
        (["--modes", "ar,tre"], "did you mean tree?"),
        (["--thinking", "maybe"], "off, on, both"),
        (["--temperatures", "0,hot"], "temperature cannot be 'hot'"),
        (["--temperatures=-1"], "temperature cannot be -1"),
        (["--limit=-1"], "limit cannot be -1"),
        (["--tie-gap", "nan"], "tie gap cannot be nan"),
        (["--wrap", "no place"], "{prompt}"),
        (["--budget", "16"], "no use for --budget"),
        (["--out", "/no/such/folder/r.json"], "no folder"),
        (["--markdown", "/no/such/folder/r.md"], "no folder"),
        (["--out", f"{'x' * 300}.json"], "cannot be written"),
        (["--markdown", f"{'x' * 300}.md"], "cannot be written"),
        (["--markdown", "."], "is a folder"),
        (["--plots", "/dev/null/x"], "cannot be made"),
        (["--baseline", "/no/such/file"], "cannot be read"),
        (["/no/such/file"], "cannot be read"),
        (["--model", "qwen3-4b"], "Name prompt files"),
    ],
)
def test_a_wrong_command_line_is_answered_by_a_sentence(tmp_path, options, words, capsys):
    assert cli.main(["bench", *options, "--log", str(tmp_path / "log")]) == exit_codes.BAD_INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_general_options_in_front_of_the_command_count(tmp_path):
    line = "--mode tree --budget 8 --thinking --temperature 0.5 --top-p 0.9 bench --seed 4 --limit 0"
    options = cli.parse([*line.split(), "--log", str(tmp_path / "log")])
    assert [way.name for way in options.ways] == ["tree(8)"]
    assert [condition.label for condition in options.conditions] == ["thinking T=0.5"]
    assert (options.decode.top_p, options.decode.seed, options.limit) == (0.9, 4, 0)


def test_the_budget_may_be_the_engines_to_choose(tmp_path):
    line = "bench --modes ar,tree --budgets auto,64,16 --limit 0"
    options = cli.parse([*line.split(), "--log", str(tmp_path / "log")])
    assert [way.name for way in options.ways] == ["ar", "tree(16)", "tree(64)", "tree(auto)"]
    settings = [decode_settings(options.decode, way, options.conditions[0], 0) for way in options.ways]
    assert [each.auto_budget for each in settings] == [False, False, False, True]
    assert settings[-1].budget == 256


def test_results_that_cannot_be_written_are_told(bench, tmp_path):
    folder = tmp_path / "r.json.work.jsonl"
    folder.mkdir()
    with pytest.raises(EngineError, match="cannot be written"):
        bench("--quiet", "--out", str(tmp_path / "r.json"))
