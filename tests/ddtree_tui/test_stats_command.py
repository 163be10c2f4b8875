"""``ddtree-tui stats``: the numbers of a recorded run in a terminal, a pipe and a program."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from make_recording import Recording

from ddtree_tui.cli import main
from ddtree_tui.panels.arrangement import PANELS
from engine.event_lines import encode_event
from engine.settings import DecodeSettings


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A run of two answers, in modes chain and tree."""
    recording = Recording(11)
    events = [*recording.start()]
    for mode in ("chain", "tree"):
        events += recording.answer("hello", settings=DecodeSettings(mode=mode, budget=32), rounds=20)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in events))
    return path


def test_tables_of_all_panels(trace, capsys):
    assert main(["stats", str(trace)]) == 0
    shown = capsys.readouterr().out
    assert "demo with drafter demo on cpu: all answers" in shown
    for panel in PANELS:
        assert panel.title in shown
        assert panel.how in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "chain" in shown
    assert "tree 32" in shown


def test_ascii(trace, capsys):
    assert main(["stats", str(trace), "--ascii"]) == 0
    shown = capsys.readouterr().out
    assert shown.isascii()
    assert "###" in shown


def test_json_of_each_scope(trace, capsys):
    found = {}
    for scope in ("all", "answer", "change"):
        assert main(["stats", str(trace), "--json", "--scope", scope]) == 0
        found[scope] = json.loads(capsys.readouterr().out)
        assert found[scope]["scope"] == scope
    assert (found["all"]["rounds"], found["answer"]["rounds"], found["change"]["rounds"]) == (40, 20, 20)
    assert found["all"]["target"] == "demo"
    assert found["answer"]["marginal"]["budget"] == 32
    assert [less["budget"] for less in found["answer"]["marginal"]["smaller"]] == [16, 8, 4, 2, 1]
    assert found["answer"]["floor"] is None
    assert sum(found["all"]["acceptance"]["histogram"]) == 40


def test_a_run_without_rounds(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in Recording(1).start()))
    for more in ([], ["--json"], ["--ascii"]):
        assert main(["stats", str(path), *more]) == 0
        assert "Traceback" not in capsys.readouterr().err


def test_what_is_no_trace_is_said(tmp_path, capsys):
    path = tmp_path / "run.jsonl"
    assert main(["stats", str(path)]) != 0
    assert "There is no trace file" in capsys.readouterr().err
    path.write_text("no\n")
    assert main(["stats", str(path)]) != 0
    assert "is not a DDTree trace" in capsys.readouterr().err
    assert main(["stats", str(path), "--scope", "some"]) != 0
    assert "answer, all, change" in capsys.readouterr().err
