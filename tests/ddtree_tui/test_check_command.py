"""``ddtree-tui check``: a scripted engine for the ways it can go, and the real one for one of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ddtree_tui import cli
from ddtree_tui.check.command import run_check
from ddtree_tui.check.options import CheckOptions
from ddtree_tui.check.text import details, headline
from ddtree_tui.headless import run_generate
from ddtree_tui.options import GenerateOptions
from engine.errors import EngineError
from engine.events import Checked, Divergence, LayerCheck
from engine.settings import DecodeSettings, LoadSettings

ENGINE = """
import os, sys
from engine.commands import *
from engine.event_lines import encode_event
from engine.events import *
from engine.settings import DecodeSettings

found = sys.argv[1]
model = ModelInfo(name="m", path="/m", architecture="A", parameters=1, dtype="float32")

def emit(event):
    os.write(1, encode_event(event) + b"\\n")

def checked():
    emit(Checking(stage="Reading the answer", done=1, total=2))
    first = Divergence(round=0, node=-1, position=4, id=8, target_id=9, gap=0.5, verdict="defect")
    if found == "defect":
        emit(first)
    emit(Checked(
        oracle="full", verdict=found, positions=2, compared=0 if found == "unchecked" else 2, ties=0,
        defects=int(found == "defect"), noise=0.002, seconds=0.1, reason="Why not.",
        first=first if found == "defect" else None,
    ))

for line in sys.stdin.buffer:
    command = decode_command(line)
    if isinstance(command, Quit):
        break
    if isinstance(command, Load):
        emit(Loaded(
            target=model, drafter=None, device="cpu", versions={}, block_size=None, mask_token_id=None,
            target_layer_ids=[], memory_bytes=1, seconds=0.1, context_length=99, vocab_size=99,
        ))
    elif isinstance(command, MeasureMemory):
        emit(MemoryUse(of="process", bytes=1, peak_bytes=1))
    elif isinstance(command, Check):
        assert command.choices[0].id == 7 and command.sequential == (len(sys.argv) > 2)
        checked()
    elif isinstance(command, Generate):
        emit(Tokens(pieces={"7": "seven", "8": "eight", "9": "nine"}))
        emit(Prefilled(
            prompt_ids=[1, 2, 3], prompt_text="p", messages=command.messages, thinking=False,
            settings=command.settings, stop_ids=[0], seconds=0.1, first_id=7,
        ))
        if found == "failed":
            emit(Failed(error="not_finite", message="No numbers.", hint="Try again."))
        else:
            emit(Round(
                index=0, mode="ar", position=3, root_id=7, nodes=Nodes(),
                target=TargetRows(ids=[8], logprobs=[-0.1], gaps=[0.3]), accepted=[], bonus_id=8, miss=None,
                committed_ids=[8], acceptance_length=1,
                ms=StageTimes(draft=0, build=0, verify=1, walk=0, commit=0, total=1),
            ))
            if command.settings.oracle == "full":
                checked()
            if found == "over":
                nothing = StageTimes(draft=0, build=0, verify=0, walk=0, commit=0, total=0)
                emit(Finished(
                    reason="stop", output_ids=[7, 8], text="", thinking_text="", rounds=1, tokens=2,
                    mean_acceptance_length=1.0, acceptance_histogram=[0, 1], tokens_per_second=1.0,
                    ttft_s=0.1, ms=nothing, drafted=0, accepted=0,
                ))
"""
QUESTION = [{"role": "user", "content": "Hi"}]


def options(tmp_path: Path, **changed: object) -> CheckOptions:
    given = {
        "load": LoadSettings(),
        "decode": DecodeSettings(),
        "log_path": tmp_path / "log",
        "messages": QUESTION,
        **changed,
    }
    return CheckOptions(**given)  # type: ignore[arg-type]


def engine(found: str, *sequential: str) -> list[str]:
    return [sys.executable, "-c", ENGINE, found, *sequential]


def test_options_of_the_command_line() -> None:
    read = cli.parse(["check", "--prompt", "Hi", "--mode", "chain", "--inject", "wrong-leaf", "--sequential"])
    assert isinstance(read, CheckOptions)
    assert (read.messages, read.decode.mode, read.sequential) == (QUESTION, "chain", True)
    assert read.decode.inject == ("wrong-leaf",)
    read = cli.parse(["check", "run.jsonl", "--json"])
    assert isinstance(read, CheckOptions)
    assert (read.run, read.messages, read.chosen, read.json) == (Path("run.jsonl"), None, False, True)
    assert cli.parse(["check", "run.jsonl", "--model", "demo"]).chosen  # type: ignore[union-attr]
    for wrong in ([], ["run.jsonl", "--prompt", "Hi"], ["--prompt", "Hi", "--tp", "2"]):
        with pytest.raises(EngineError):
            cli.parse(["check", *wrong])


@pytest.mark.parametrize(
    ("found", "code", "said"),
    [
        ("identical", 0, "This is what the target alone writes: 2 of 2 tokens"),
        ("defect", 1, "round 1, at the root: eight (id 8), where the target alone writes nine (id 9)"),
        ("unchecked", 1, "Nothing was compared. Why not."),
        ("failed", 1, ""),
    ],
)
def test_says_what_was_found(
    found: str, code: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_check(options(tmp_path), engine(found)) == code
    out, err = capfd.readouterr()
    assert said in out
    assert ("No numbers. Try again." in err) == (found == "failed")


def test_one_token_at_a_time_behind_the_answer(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_check(options(tmp_path, sequential=True), engine("identical", "sequential")) == 0
    assert "2 of 2 tokens" in capfd.readouterr().out


def test_what_is_wrong_on_purpose_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    planted = DecodeSettings(inject=("wrong-leaf", "mask-id"))
    run_check(options(tmp_path, decode=planted), engine("identical"))
    assert "FAULT PLANTED: wrong-leaf, mask-id." in capfd.readouterr().err
    run_check(options(tmp_path, decode=DecodeSettings(verify="naive")), engine("identical"))
    assert "ddtree-tui:" not in capfd.readouterr().err  # this target has no recurrent layers


def test_recorded_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two answers in one file, recorded without an oracle."""
    run = tmp_path / "run.jsonl"
    lines = []
    for _ in range(2):
        recorded = GenerateOptions(
            load=LoadSettings(),
            decode=DecodeSettings(),
            messages=QUESTION,
            trace=None,
            json=True,
            show_thinking=False,
            quiet=True,
            debug=False,
            log_path=tmp_path / "log",
        )
        assert run_generate(recorded, engine("over")) == 0
        lines += capfd.readouterr().out.splitlines()[bool(lines) :]
    run.write_text("\n".join(lines) + "\n")
    assert run_check(options(tmp_path, messages=None, run=run, json=True), engine("defect")) == 1
    told = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [one["checked"]["verdict"] for one in told] == ["defect", "defect"]
    assert told[0]["divergences"][0]["target_id"] == 9
    assert told[0]["target"] == "m"
    assert run_check(options(tmp_path, messages=None, run=run), engine("defect")) == 1
    titles = [line for line in capfd.readouterr().out.splitlines() if line.startswith("Answer")]
    assert titles == [f"Answer {number}, tree 64, thinking off: Hi" for number in (1, 2)]


def test_the_real_engine(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    garbled = DecodeSettings(verify="naive", max_new_tokens=24)
    load = LoadSettings(device="cpu")
    assert run_check(options(tmp_path, load=load, decode=garbled, json=True)) == 1
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert "WRONG ON HYBRIDS" in err
    assert told["checked"]["verdict"] == "defect"
    assert told["checked"]["layer"]["kind"] == "linear_attention"
    assert told["target"] == "demo"


def test_a_file_without_answers(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="no trace file"):
        run_check(options(tmp_path, messages=None, run=tmp_path / "none.jsonl"))


def test_sentences() -> None:
    layer = LayerCheck(layer=2, kind="linear_attention", what="state", round=None, error=0.5, tolerance=1e-4)
    first = Divergence(round=None, node=-1, position=9, id=1, target_id=2, gap=0.25, verdict="tie")
    found = Checked(
        oracle="sample",
        verdict="defect",
        positions=9,
        compared=5,
        ties=1,
        defects=0,
        noise=0.1,
        seconds=2,
        layer=layer,
        layers=1,
        first=first,
        gap_round=3,
        drift=[(0, 0.5), (1, 0.25)],
        sequential=True,
    )
    said = " ".join([headline(found), *details(found, lambda token_id: f"<{token_id}>")])
    assert "5 of 9 tokens compared" in said
    assert "what was computed on the way is not" in said
    assert "Near tie at position 9, chosen by the prefill: <1> (id 1)" in said
    assert "recurrent state of layer 2 (linear attention) after the prefill, relative error 0.5" in said
    assert "from round 4 on" in said
    assert "0.25 after round 2, 0.5 at the most" in said
    assert "1 comparison of layers, decoded one token at a time too; 2.0 s." in said
