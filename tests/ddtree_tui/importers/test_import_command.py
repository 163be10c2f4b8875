"""``ddtree-tui import`` from the command line, and what opens its traces."""

from __future__ import annotations

import json
import pickle
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from drawing import drawn, rounds_drawn
from samples import TREES, benchmark, plain, response, sglang, vllm

from ddtree_tui import exit_codes
from ddtree_tui.cli import main
from ddtree_tui.doctor.of_run import report_of
from ddtree_tui.doctor.visit import Visit, open_trace
from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.export.page import run_page
from ddtree_tui.importers.read import read_import
from ddtree_tui.narration import Narrator
from ddtree_tui.node_facts import facts_of
from ddtree_tui.session import Session
from ddtree_tui.transcript_lines import TranscriptLines
from ddtree_tui.widgets.node_detail import detail_lines
from ddtree_tui.written_text import Writing
from engine.errors import EngineError
from engine.settings import LoadSettings
from engine.trace import read_trace


def written(tmp_path: Path, name: str, value: Any) -> Path:
    """A file of another system."""
    path = tmp_path / name
    path.write_bytes(json.dumps(value).encode() if name.endswith("json") else pickle.dumps(value))
    return path


FILES = {
    "bench.pkl": benchmark(),
    "trees.pkl": TREES,
    "vllm.json": vllm([2, 0, 5]),
    "ids.json": vllm([2, 0, 5], ids=True),
    "sglang.json": [sglang(), sglang()],
    "plain.json": plain(),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(here: Path, name: str) -> Session:
    """A session of the trace that importing a sample makes."""
    assert main(["import", str(written(here, name, FILES[name])), "--out", "t.jsonl"]) == exit_codes.OK
    session = Session()
    for event in read_trace(here / "t.jsonl").events:
        session.apply(event)
    return session


def test_it_writes_a_trace_and_says_what_is_unknown(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(written(here, "trees.pkl", TREES))]) == exit_codes.OK
    said = capsys.readouterr().err
    assert "Wrote trees.jsonl: 1 answer of reference, 2 rounds." in said
    for unknown in ("the text", "times of rounds", "the drafter's probabilities"):
        assert unknown in said
    assert "ddtree-tui replay trees.jsonl" in said
    assert main(["import", "trees.pkl"]) == exit_codes.TRACE_FAILED
    assert "exists already" in capsys.readouterr().err


def test_it_writes_to_standard_output(here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = written(here, "plain.json", plain())
    assert main(["import", str(path), "-o", "-"]) == exit_codes.OK
    lines = capsysbinary.readouterr().out.splitlines()
    assert [json.loads(line)["type"] for line in lines[:3]] == ["loaded", "tokens", "prefilled"]


def test_what_is_refused_leaves_no_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = plain()
    bad["rounds"][1]["parents"] = [-1, 7]
    for name, value, source in (
        ("bad.json", bad, "auto"),
        ("wrong.json", plain(), "vllm"),
        ("other.json", {"a": 1}, "auto"),
        ("text.pkl", "text", "auto"),
    ):
        path = written(here, name, value)
        assert main(["import", str(path), "--from", source, "--out", "t.jsonl"]) == exit_codes.TRACE_FAILED
        said = capsys.readouterr().err
        assert said.startswith("ddtree-tui: ")
        assert "Traceback" not in said
        assert not (here / "t.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["import"], exit_codes.BAD_INPUT),
        (["import", "none.pkl"], exit_codes.TRACE_FAILED),
        (["import", "."], exit_codes.TRACE_FAILED),
        (["import", "x", "--from", "nowhere"], exit_codes.BAD_INPUT),
    ],
    ids=str,
)
def test_wrong_arguments_are_named(
    here: Path, arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == code
    assert capsys.readouterr().err.count("\n") == 1


def test_a_text_is_called_a_text(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("What is 47 + 85?\n")
    with pytest.raises(EngineError, match=r"q\.txt is a text, and no record of a run"):
        read_import(path)


def test_a_trace_of_ours_needs_no_import(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported(here, "plain.json")
    assert main(["import", "t.jsonl", "--out", "u.jsonl"]) == exit_codes.TRACE_FAILED
    assert "is a DDTree trace already" in capsys.readouterr().err


@pytest.mark.parametrize("name", FILES)
def test_its_statistics_say_unknown_and_no_zero(
    here: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(here, name)
    capsys.readouterr()
    assert main(["stats", "t.jsonl", "--json"]) == exit_codes.OK
    report = json.loads(capsys.readouterr().out)
    untimed = name not in ("bench.pkl", "plain.json")
    assert (report["speed"]["mean"] is None) == untimed
    assert (report["round_ms"] is None) == untimed
    assert (report["hits"], report["floor"], report["memory"], report["stages"]) == (None, None, None, [])
    assert bool(report["calibration"]) == (name == "plain.json")
    assert report["rounds"] > 0
    assert main(["stats", "t.jsonl", "--ascii"]) == exit_codes.OK
    assert "unknown" in capsys.readouterr().out


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_is_drawn_of_it_is_made_up(here: Path, name: str) -> None:
    session = imported(here, name)
    narrator = Narrator(session)
    for event in read_trace(here / "t.jsonl").events:
        assert " 0 tokens a second" not in " ".join(narrator.tell(event))
    texts = list(drawn(session))
    assert any("imported from" in text for text in texts)
    for text in (text for answer in session.answers for text in rounds_drawn(answer)):
        assert "-1" not in text
        assert not re.search(r"(?<!\d)0\.0\b", text)
    for answer in session.answers:
        for round_ in answer.rounds:
            shape = DraftShape.of(round_)
            for node in range(len(round_.nodes.ids)):
                facts = facts_of(shape, node, answer.vocabulary, answer.labels)
                said = " ".join(text for line in detail_lines(facts, 50, 20, "") for text, _ in line)
                assert ("p unknown" in said) == (name != "plain.json" or facts.target_logprob is None)


@pytest.mark.parametrize("name", FILES)
def test_the_doctor_blames_nothing_on_what_is_unknown(here: Path, name: str) -> None:
    session = imported(here, name)
    visit = Visit(LoadSettings())
    open_trace(here / "t.jsonl", visit, chosen=False)
    assert visit.imported
    assert len(visit.answers) == len(session.answers)
    for answer in session.answers:
        report = report_of(answer)
        assert report.causes == []
        assert [one.own for one in report.answers] == ["unchecked"]
        assert [one.differs for one in report.answers] == ["unknown"]
        assert report.answers[0].acceptance == pytest.approx(answer.statistics.acceptance.mean)


@pytest.mark.parametrize("kind", ["svg", "graphml", "json"])
@pytest.mark.parametrize("name", [name for name in FILES if name != "sglang.json"])
def test_its_rounds_are_exported(
    here: Path, name: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(here, name)
    capsys.readouterr()
    assert main(["export", "t.jsonl", f"--{kind}", "1"]) == exit_codes.OK
    out = capsys.readouterr().out
    if kind == "json":
        assert all(node.get("token_id") != -1 for node in json.loads(out)["nodes"])
    else:
        ElementTree.fromstring(out)


def test_answers_of_totals_alone_are_told_so(here: Path) -> None:
    session = imported(here, "sglang.json")
    answer = session.answers[0]
    assert (len(answer.rounds), answer.round_count) == (0, 2)
    assert answer.text is not None
    assert answer.text.answer == "It is 42."
    assert answer.statistics.acceptance.mean == 2.0
    page = "".join(run_page(answer))
    assert page


def test_answers_with_rounds_and_answers_of_totals_count_alike(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    totals = {"acceptance_lengths": [2] * 50}
    known = {"baseline": vars(response(acceptance_lengths=[1] * 4, round_trees=None, round_timestamps=None))}
    for number, responses in enumerate(([known | {"other": totals}], [{"other": totals} | known])):
        path = written(here, f"{number}.pkl", {"responses": responses})
        assert main(["import", str(path)]) == exit_codes.OK
        said = capsys.readouterr().err
        assert "2 answers of reference, 54 rounds." in said
        assert "what each round did: only totals (of some)" in said


def test_text_whose_tokens_are_unknown_is_shown_as_it_is(here: Path) -> None:
    session = imported(here, "vllm.json")
    lines = TranscriptLines(Writing(), 60)
    lines.update(session)
    shown = [lines.line(number).text for number in range(len(lines))]
    assert "It is 42." in shown
    assert "12 + 30" in shown
