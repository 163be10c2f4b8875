"""The app keeps up and stays out of the way: few paints, quick answers, an engine that never waits."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from make_recording import VOCABULARY, Recording, conversation, spelled
from own_time import OwnTime
from playing import Playing, playing, replaying

from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.engine_link import EngineLink
from ddtree_tui.labels import Labels
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.vocabulary import SeenVocabulary
from engine.commands import Generate
from engine.events import AnyEvent, Finished, Loaded, Round
from engine.settings import DecodeSettings, LoadSettings

HERE = Path(__file__).parent
ROUNDS_PER_SECOND = 30
WORKER = [sys.executable, str(HERE / "scripted_engine.py"), str(ROUNDS_PER_SECOND)]


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When the app wrote to the terminal."""
    times: list[float] = []
    write: Callable[..., None] = PlaygroundApp._display

    def note(self: PlaygroundApp, *arguments: object) -> None:
        times.append(time.monotonic())
        write(self, *arguments)

    monkeypatch.setattr(PlaygroundApp, "_display", note)
    return times


@pytest.fixture
def worker_path(monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.pathsep.join([str(HERE), str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)


def recorded(rounds: int) -> list[AnyEvent]:
    recording = Recording(3, ms=1000 / ROUNDS_PER_SECOND)
    settings = DecodeSettings(budget=64, thinking=True)
    return [*recording.start(), *recording.answer("hello", settings=settings, rounds=rounds)]


def most_in_a_second(times: list[float]) -> int:
    return max(sum(start <= t < start + 1 for t in times) for start in times)


async def test_never_more_than_fifteen_paints_a_second(displayed: list[float]) -> None:
    async with replaying(recorded(rounds=600), at_once=False, quick=False) as play:
        await play.until(lambda: play.rounds > 5)
        displayed.clear()
        rounds, paints = play.rounds, play.app.paints
        await asyncio.sleep(3)
        assert play.rounds - rounds > 3 * 20
        assert most_in_a_second(displayed) <= 15
        assert play.app.paints - paints > 5  # and it does paint


async def test_keys_are_answered_within_a_tenth_of_a_second(displayed: list[float]) -> None:
    waits: list[float] = []

    async def answered(play: Playing, key: str, shown: Callable[[], bool]) -> None:
        own = OwnTime()
        play.app.simulate_key(key)
        while not shown():
            assert own.seconds() < 60
            await asyncio.sleep(0.001)
        waits.append(own.seconds())

    async with replaying(recorded(rounds=400), at_once=False, quick=False) as play:
        await play.until(lambda: play.rounds > 20)
        for _ in range(6):
            await answered(play, "left", lambda: "looking back" in play.part("#heading"))
            await asyncio.sleep(0.13)
            await answered(play, "end", lambda: "following" in play.part("#heading"))
            await asyncio.sleep(0.17)
    print(f"keys answered after {1000 * statistics.median(waits):.0f} ms, at most {1000 * max(waits):.0f} ms")
    assert statistics.median(waits) < 0.1


def test_an_idle_app_paints_nothing(displayed: list[float]) -> None:
    async def idle() -> None:
        async with playing(quick=False) as play:
            await play.until(lambda: play.controller.session.loaded)
            await play.settle()
            displayed.clear()
            await asyncio.sleep(1.0)

    asyncio.run(idle())
    assert displayed == []


def seconds_alone() -> float:
    """How long the worker takes for its answer when its events are only thrown away."""
    link = EngineLink(LoadSettings(), Path(os.devnull), command=WORKER)
    link.start()
    try:
        seen: list[AnyEvent] = []
        end = time.monotonic() + 60
        sent = False
        while not any(isinstance(event, Finished) for event in seen):
            assert time.monotonic() < end
            seen += link.drain()
            if not sent and any(isinstance(event, Loaded) for event in seen):
                link.send(Generate(messages=[{"role": "user", "content": "x"}], settings=DecodeSettings()))
                sent = True
            time.sleep(0.01)
    finally:
        link.stop()
    return next(event.t for event in reversed(seen) if isinstance(event, Round))


async def seconds_watched() -> float:
    """How long the same answer takes with the app looking on."""
    link = EngineLink(LoadSettings(), Path(os.devnull), command=WORKER)
    async with playing(engine=link, quick=False) as play:
        await play.until(lambda: play.controller.session.loaded)
        await play.type("x")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds and not play.controller.busy, 30)
        return play.controller.session.rounds[-1][1].t


async def test_the_engine_is_not_slowed(worker_path: None) -> None:
    """An engine that waited for paints would take twice as long. The best of a few: other work on the
    machine slows both, and not at the same time."""
    ratios: list[float] = []
    while not ratios or (ratios[-1] >= 1.05 and len(ratios) < 3):
        alone = await asyncio.to_thread(seconds_alone)
        ratios.append(await seconds_watched() / alone)
    print(f"60 rounds take {min(ratios):.3f} of the time they take alone")
    assert min(ratios) < 1.3


def test_a_trace_is_written_while_the_app_looks_away(worker_path: None, tmp_path: Path) -> None:
    from engine.trace import read_trace

    trace = tmp_path / "run.jsonl"
    link = EngineLink(LoadSettings(), Path(os.devnull), trace=trace, command=[*WORKER[:2], "500"])
    link.start()
    end = time.monotonic() + 60
    link.send(Generate(messages=[{"role": "user", "content": "x"}], settings=DecodeSettings()))
    while b'"finished"' not in trace.read_bytes():
        assert time.monotonic() < end
        time.sleep(0.02)
    link.stop()
    events = read_trace(trace).events
    assert sum(isinstance(event, Round) for event in events) == 60
    assert sum(isinstance(event, Round) for event in link.drain()) == 60


@pytest.mark.parametrize(("nodes", "milliseconds"), [(64, 5.0), (1024, 25.0)])
def test_a_tree_is_laid_out_quickly(nodes: int, milliseconds: float) -> None:
    """This thread's processor time, folded to a screen and with every node: the median of several trees,
    as the collector may have the whole suite to go through in one. bench_paint.py measures the painting."""
    rounds = [event for event in conversation(0, budget=nodes, rounds=8) if isinstance(event, Round)]
    vocabulary = SeenVocabulary()
    vocabulary.add(spelled(list(range(len(VOCABULARY)))))
    labels = Labels(vocabulary)
    for rows in (17, None):
        times = []
        for round_ in rounds:
            start = time.thread_time()
            lay_out(DraftShape.of(round_), labels, 118, rows)
            times.append(1000 * (time.thread_time() - start))
        spent = statistics.median(times)
        print(f"{nodes} nodes, {'folded' if rows else 'unfolded'}: {spent:.2f} ms")
        assert spent < milliseconds
