"""``ddtree-tui doctor``: from options to exit code, on the engine itself where it decodes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from make_recording import conversation

from ddtree_tui import cli
from ddtree_tui.doctor.command import run_doctor
from ddtree_tui.doctor.examination import examine
from ddtree_tui.doctor.options import DEFAULT_TOKENS, DoctorOptions
from ddtree_tui.doctor.prompts import own_prompts
from ddtree_tui.doctor.terminal import terminal_lines
from ddtree_tui.doctor.visit import Visit, answer_all, conversations
from engine.causes import CAUSES
from engine.diagnosis.lines import Line
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded
from engine.faults.catalogue import FAULTS
from engine.settings import DecodeSettings, LoadSettings

FINE = Line(part="environment", name="Python", status="ok", seen="3.12")
QUESTION = "What is 3.5 km in metres?"


def options(**changed: object) -> DoctorOptions:
    given: dict[str, object] = {
        "load": LoadSettings(device="cpu"),
        "decode": DecodeSettings(max_new_tokens=24),
        "log_path": Path("test.log"),
    }
    return DoctorOptions(**(given | changed))  # type: ignore[arg-type]


def test_options_of_the_command_line(tmp_path: Path) -> None:
    read = cli.parse(
        ["doctor", "--prompt", "Hi", "--inject", "mask-id", "--inject", "wrong-leaf", "--report", "r.md"]
    )
    assert isinstance(read, DoctorOptions)
    assert read.decode.inject == ("mask-id", "wrong-leaf")
    assert read.decode.max_new_tokens == DEFAULT_TOKENS
    assert read.messages == [{"role": "user", "content": "Hi"}]
    assert not read.chosen
    assert cli.parse(["doctor", "--model", "demo", "--max-new-tokens", "7"]).decode.max_new_tokens == 7  # type: ignore[union-attr]
    read = cli.parse(["doctor", "run.jsonl", "--with-text"])
    assert isinstance(read, DoctorOptions)
    assert (read.trace, read.messages, read.with_text) == (Path("run.jsonl"), None, True)
    for wrong in (
        ["run.jsonl", "--prompt", "Hi"],
        ["--system", "S"],
        ["--inject", "nonsense"],
        ["--until", "x"],
    ):
        with pytest.raises(EngineError):
            cli.parse(["doctor", *wrong])


def test_every_cause_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--list-faults"]) == 0
    listed = capsys.readouterr().out
    assert all(f"  {name}: " in listed for name in CAUSES)
    assert all(fault.plants in listed for fault in FAULTS.values())


def test_what_cannot_be_planted_is_no_diagnosis() -> None:
    class Refusing:
        def answer(self, *_: object) -> list[AnyEvent]:
            return [Failed(error="bad_setting", message="It cannot be planted here.", hint="Leave it away.")]

    loaded = next(event for event in conversation(1, rounds=1) if isinstance(event, Loaded))
    visit = Visit(LoadSettings(), loaded=loaded)
    asked = [([*own_prompts("demo")[0]], DecodeSettings(mode="ar", inject=("wrong-leaf",)))]
    with pytest.raises(EngineError, match="cannot be planted here"):
        answer_all(Refusing(), visit, asked, lambda _: None)  # type: ignore[arg-type]


def test_own_prompts_have_what_a_fault_needs() -> None:
    visit = Visit(LoadSettings())
    for inject, roles in (((), {"user"}), (("system-lost",), {"system", "user"})):
        for messages, _ in conversations(visit, None, DecodeSettings(inject=inject)):
            assert {message["role"] for message in messages} == roles


def test_reports_are_refused_before_anything_takes_time(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be"):
        run_doctor(options(report=tmp_path / "report.pdf"), examination=[])
    (tmp_path / "there.md").write_text("mine")
    with pytest.raises(EngineError, match="exists"):
        run_doctor(options(report=tmp_path / "there.md"), examination=[])
    with pytest.raises(EngineError, match="cannot be written"):
        run_doctor(options(report=tmp_path / f"{'x' * 300}.md"), examination=[])
    with pytest.raises(EngineError, match="no folder"):
        run_doctor(options(report=tmp_path / "no" / "folder.md"), examination=[])


def test_the_machine_alone(capsys: pytest.CaptureFixture[str]) -> None:
    pair = Line(part="pair", name="models", status="fail", seen="not looked at")
    assert run_doctor(options(until="environment"), examination=[FINE, pair]) == 0
    assert "not looked at" not in capsys.readouterr().out
    bad = Line(
        part="environment", name="torch", status="fail", seen="not installed", todo="pip install torch"
    )
    assert run_doctor(options(), examination=[FINE, bad]) == 1
    said = capsys.readouterr().out
    assert "Not healthy: torch: not installed." in said
    assert "pip install torch" in said
    assert "was not loaded" in said


def test_a_pair_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_doctor(options(load=LoadSettings(model=str(tmp_path / "none")))) == 1
    said = capsys.readouterr().out
    assert "fail  models" in said
    assert "torch starts" in said


def test_an_examination_that_dies_says_behind_what() -> None:
    line = '{"part":"environment","name":"Python","status":"ok","seen":"3.12"}'
    script = f"import os; print({line!r}, flush=True); os.abort()"
    first, last = examine(LoadSettings(), [sys.executable, "-c", script])
    assert first.name == "Python"
    assert (last.status, "after Python" in last.seen) == ("fail", True)


def test_terminals() -> None:
    def statuses(**environment: str) -> dict[str, str]:
        found = terminal_lines(environment, size=(120, 40), encoding="utf-8", is_terminal=True)
        return {line.name: line.status for line in found}

    assert statuses(TERM="xterm-256color") == dict.fromkeys(("terminal", "colours", "characters"), "ok")
    assert statuses(TERM="dumb")["terminal"] == "warn"
    small = terminal_lines({"TERM": "xterm"}, size=(40, 10), encoding="latin-1", is_terminal=True)
    assert [line.status for line in small] == ["warn", "ok", "warn"]


def test_naive_verification_beside_the_same_prompt_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decode = DecodeSettings(verify="naive", max_new_tokens=24)
    messages = [{"role": "user", "content": QUESTION}]
    report = tmp_path / "report.json"
    asked = options(decode=decode, messages=messages, report=report, log_path=tmp_path / "log")
    assert run_doctor(asked, examination=[FINE]) == 1
    said = capsys.readouterr().out
    assert said.rstrip().splitlines()[-1] != ""
    assert "first rounds" in said
    assert "The first tree that branches is that of round 1" in said
    assert "3.5 kilometers = 3500 meters." in said
    told = json.loads(report.read_text(encoding="utf-8"))
    assert not told["healthy"]
    assert told["texts"] is None
    assert "kilometers" not in report.read_text(encoding="utf-8")
    by_role = {answer["role"]: answer for answer in told["answers"]}
    assert by_role["subject"]["own"] == "defect"
    assert by_role["healthy"]["own"] == "identical"
    (beside,) = told["beside"]
    assert beside["parted"] is not None
    assert beside["sick_acceptance"] < beside["healthy_acceptance"]
