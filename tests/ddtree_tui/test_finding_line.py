"""What detectors noticed: on the main screen, in the timeline, in a log, and without the app."""

from __future__ import annotations

from make_recording import conversation
from playing import replaying

from ddtree_tui.narration import Narrator
from ddtree_tui.noticed import told
from ddtree_tui.overview import Mark
from ddtree_tui.screens.diagnosis import DiagnosisScreen
from ddtree_tui.session import Session
from ddtree_tui.widgets.finding_line import FindingLine
from engine.detectors.found import found, given_up
from engine.events import AnyEvent, Finding, Finished, Loaded


def noticed(*findings: Finding) -> list[AnyEvent]:
    """A run of twelve rounds in which all of them were noticed right before its end."""
    events = conversation(1, rounds=12)
    assert isinstance(events[-1], Finished)
    return [*events[:-1], *findings, events[-1]]


def session_of(events: list[AnyEvent]) -> Session:
    session = Session()
    for event in events:
        session.apply(event)
    return session


LEAF = found("wrong-leaf", "Round 5 committed the state of node [7].", round=4, node=7)
LOOP = found("degenerate-text", "The same 8 tokens 5 times.", severity="warning", round=9)
NOTE = found("quantised-target", "It was quantised before.", severity="note")


async def test_the_gravest_has_a_line_and_no_round_has_to_make_way() -> None:
    async with replaying(noticed(LOOP, LEAF, NOTE), size=(100, 30)) as play:
        await play.settle()
        line = play.part("#finding")
        assert line.strip().startswith("! wrong-leaf, round 5: the state committed is that of another node")
        assert line.strip().endswith("and 1 more  D tells more")
        assert play.rounds == 12


async def test_without_findings_or_with_notes_alone_the_line_takes_no_room() -> None:
    async with replaying(noticed(NOTE), size=(80, 24)) as play:
        await play.settle()
        assert not play.app.query_one(FindingLine).display


async def test_enter_in_the_diagnosis_shows_the_first_round() -> None:
    async with replaying(noticed(LOOP, LEAF), size=(100, 40)) as play:
        await play.settle()
        await play.pilot.press("D", "enter")
        await play.settle()
        assert not isinstance(play.app.screen, DiagnosisScreen)
        assert play.controller.shown == 4
        assert "where it shows first" in play.text()
        await play.pilot.press("D", "n", "enter")
        await play.settle()
        assert play.controller.shown == 9


async def test_what_shows_in_no_round_leads_nowhere() -> None:
    async with replaying(noticed(found("two-bos", "The first two are the same.")), size=(100, 40)) as play:
        await play.settle()
        await play.pilot.press("D", "enter")
        await play.settle()
        assert isinstance(play.app.screen, DiagnosisScreen)


def test_the_round_is_marked_and_notes_are_not() -> None:
    session = session_of(noticed(LOOP, LEAF, NOTE))
    assert session.overview.noticed == [4, 9]
    assert session.overview.mark(4, 5) is Mark.FINDING
    session.overview.diverges(4)
    assert session.overview.mark(4, 5) is Mark.DIVERGENCE


def test_what_is_noticed_of_a_pair_is_of_its_first_answer() -> None:
    events = conversation(1, rounds=3)
    place = next(number for number, event in enumerate(events) if isinstance(event, Loaded)) + 1
    pair = found("vocabulary", "The sizes differ.")
    session = Session()
    for event in [*events[:place], pair]:
        session.apply(event)
    assert session.findings_of(None) == [pair]
    for event in events[place:]:
        session.apply(event)
    assert session.findings_of(session.answer) == [pair]


def test_a_log_tells_it_in_a_line() -> None:
    session = Session()
    lines = [*Narrator(session).tell(LEAF)]
    assert len(lines) == 1
    assert lines[0].startswith("Noticed, defect: wrong-leaf, round 5: the state committed")
    assert not [*Narrator(session).tell(NOTE)]
    assert "[7]" in told(LEAF)


def test_what_is_no_cause_of_the_catalogue_says_what_was_seen_once() -> None:
    said = told(given_up(object()))
    assert said == (
        "warning: not-checked: The detector object failed and looked no further. "
        "Please report it with the log."
    )
    assert told(LEAF).count(LEAF.seen) == 1
