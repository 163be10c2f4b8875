"""Which rounds a report is about, and what it knows beside them."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import Recording, conversation, loaded

from ddtree_tui.session import Session
from ddtree_tui.statistics.report import Report
from ddtree_tui.statistics.scope import Scope
from engine.events import Floor, Loaded, MemoryUse, Round
from engine.settings import DecodeSettings

FLOOR = Floor(bytes_per_second=1e9, target_bytes=5_000_000, drafter_bytes=1_000_000)


def session_of(*runs: DecodeSettings, info: Loaded | None = None) -> Session:
    recording = Recording(7)
    session = Session()
    session.apply(info or loaded())
    for settings in runs:
        for event in recording.answer("hello", settings=settings, rounds=12):
            session.apply(event)
    return session


def report(session: Session, scope: Scope, answer: int = -1) -> Report:
    return session.statistics.report(scope, session.answers[answer].statistics)


def test_an_answer_and_all_answers():
    tree, chain = DecodeSettings(budget=32), DecodeSettings(mode="chain")
    session = session_of(tree, chain)
    first, second = (report(session, Scope.ANSWER, number) for number in (0, 1))
    both = report(session, Scope.ALL)
    assert (first.rounds, second.rounds, both.rounds) == (12, 12, 24)
    assert first.tokens + second.tokens == both.tokens
    assert first.marginal is not None
    assert first.marginal.budget == 32
    assert second.marginal is None
    assert first.acceptance.mean == pytest.approx(session.answers[0].finished.mean_acceptance_length)
    assert first.speed.mean == pytest.approx(session.answers[0].finished.tokens_per_second)


def test_since_a_setting_changed():
    tree = DecodeSettings(budget=32)
    longer = msgspec.structs.replace(tree, max_new_tokens=7, seed=3)
    assert report(session_of(tree, longer), Scope.CHANGE).rounds == 24
    for changed in ({"budget": 16}, {"thinking": True}, {"temperature": 0.5}, {"verify": "naive"}):
        other = msgspec.structs.replace(tree, **changed)
        assert report(session_of(tree, other, other), Scope.CHANGE).rounds == 24, changed


def test_a_live_change_of_the_budget_counts_from_its_round_on():
    session = Session()
    events = conversation(3, rounds=10, budget=32)
    for event in events:
        if isinstance(event, Round) and event.index >= 6:
            event = msgspec.structs.replace(event, budget=48)
        session.apply(event)
    assert report(session, Scope.CHANGE).rounds == 4
    assert report(session, Scope.ANSWER).rounds == 10


def test_ways_survive_a_new_conversation_but_not_another_pair():
    ar, chain, tree = (DecodeSettings(mode=mode) for mode in ("ar", "chain", "tree"))
    session = session_of(tree, ar, chain)
    ways = {way.name: way for way in report(session, Scope.ALL).ways}
    assert list(ways) == ["ar", "chain", "tree 64"]
    assert ways["ar"].over_ar == 1
    speeds = [report(session, Scope.ANSWER, number).speed.mean for number in range(3)]
    assert ways["tree 64"].over_ar == pytest.approx(speeds[0] / speeds[1])
    assert ways["tree 64"].over_chain == pytest.approx(speeds[0] / speeds[2])
    session.forget_answers()
    empty = session.statistics.report(Scope.ALL, None)
    assert (empty.rounds, len(empty.ways)) == (0, 3)
    session.apply(loaded())
    assert len(session.statistics.report(Scope.ALL, None).ways) == 3
    session.apply(msgspec.structs.replace(loaded(), device="cuda"))
    assert session.statistics.report(Scope.ALL, None).ways == []


def test_the_floor_counts_the_drafter_in_drafted_rounds_alone():
    info = msgspec.structs.replace(loaded(), floor=FLOOR, device="cuda")
    session = session_of(DecodeSettings(), DecodeSettings(mode="ar"), info=info)
    drafted, plain, both = (
        report(session, Scope.ANSWER, 0),
        report(session, Scope.ANSWER),
        report(session, Scope.ALL),
    )
    assert drafted.floor is not None
    assert drafted.floor.floor_ms == pytest.approx(6)
    assert drafted.floor.share == pytest.approx(6 / drafted.round_ms)
    assert plain.floor is not None
    assert plain.floor.floor_ms == pytest.approx(5)
    assert both.floor is not None
    assert both.floor.floor_ms == pytest.approx(5.5)
    broken = msgspec.structs.replace(info, floor=msgspec.structs.replace(FLOOR, bytes_per_second=0.0))
    assert report(session_of(DecodeSettings(), info=broken), Scope.ALL).floor is None
    assert report(session_of(DecodeSettings()), Scope.ALL).floor is None


def test_memory_is_that_after_loading_until_the_engine_says_more():
    session = session_of(DecodeSettings())
    memory = report(session, Scope.ALL).memory
    assert memory is not None
    assert (memory.loaded, memory.of, memory.now) == (90_000_000, None, None)
    session.apply(MemoryUse(of="process", bytes=5, peak_bytes=7))
    memory = report(session, Scope.ALL).memory
    assert memory is not None
    assert (memory.of, memory.now, memory.peak) == ("process", 5, 7)


def test_nothing_yet():
    empty = Session().statistics.report(Scope.ANSWER, None)
    assert empty.rounds == 0
    assert (empty.memory, empty.expected, empty.hits, empty.marginal) == (None, None, None, None)
    assert (empty.stages, empty.calibration, empty.ways) == ([], [], [])


def test_a_report_is_json_and_comes_back():
    whole = report(session_of(DecodeSettings(), DecodeSettings(mode="ar")), Scope.ALL)
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Report) == whole
