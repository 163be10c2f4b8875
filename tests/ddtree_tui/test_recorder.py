"""Every run becomes a file, whatever happens to the engine, the app or the disk."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from make_recording import Recording as Synthetic
from make_recording import loaded

from ddtree_tui import recorder as recorder_module
from ddtree_tui.export.run_events import run_events
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import SUFFIX, new_path, paths_of, recorded_runs, remove_oldest
from ddtree_tui.session import Session
from engine import recording as recording_module
from engine.detectors.found import found
from engine.events import AnyEvent, Divergence, Failed, Finding, Loading, MemoryUse, Prefilled, Round, Tokens
from engine.settings import DecodeSettings
from engine.trace import read_trace

NOW = 1_790_000_000.0


def record(folder: Path, events: list[AnyEvent], **options: object) -> Recorder:
    recorder = Recorder(folder, clock=lambda: NOW, **options)  # type: ignore[arg-type]
    for event in events:
        recorder.take(event)
    recorder.close()
    return recorder


def run(seed: int = 0, rounds: int = 5, prompt: str = "hello", **settings: object) -> list[AnyEvent]:
    synthetic = Synthetic(seed)
    answer = synthetic.answer(prompt, rounds=rounds, settings=DecodeSettings(**settings))  # type: ignore[arg-type]
    return [*synthetic.start(), *answer]


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_each_answer_is_a_run_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "runs"
    synthetic = Synthetic(0)
    start = list(synthetic.start())
    first = list(synthetic.answer("first", rounds=5))
    second = list(synthetic.answer("second", rounds=40, settings=DecodeSettings(mode="chain")))
    record(folder, [*start, *first, *second])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    newest, oldest = paths_of(folder)
    for path, events in ((oldest, first), (newest, second)):
        kept = [event for event in read_trace(path).events if not isinstance(event, Tokens)]
        assert kept == [loaded(), *events]
    runs = list(recorded_runs(folder))
    assert [run.prompt for run in runs] == ["second", "first"]
    assert [run.name for run in runs] == ["chain", "tree 64"]
    assert [run.rounds for run in runs] == [40, 5]
    assert {run.when for run in runs} == {NOW}
    assert {run.ending for run in runs} == {"stop"}
    for described, events in zip(runs, (second, first), strict=True):
        assert described.tokens == events[-1].tokens  # type: ignore[union-attr]
        assert described.mean == pytest.approx(events[-1].mean_acceptance_length)  # type: ignore[union-attr]
        assert described.tokens_per_second == events[-1].tokens_per_second  # type: ignore[union-attr]


def test_a_turn_says_how_many_came_before(tmp_path: Path) -> None:
    synthetic = Synthetic(0)
    history = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    record(tmp_path, [*synthetic.start(), *synthetic.answer("c", rounds=2, history=history)])  # type: ignore[arg-type]
    (described,) = recorded_runs(tmp_path)
    assert (described.prompt, described.turns) == ("c", 1)


def test_an_app_that_ends_in_the_middle_keeps_what_there_was(tmp_path: Path) -> None:
    events = run(rounds=40)[:-10]
    record(tmp_path, events)
    (path,) = paths_of(tmp_path)
    kept = [event for event in read_trace(path).events if isinstance(event, Round)]
    assert kept == [event for event in events if isinstance(event, Round)]
    (described,) = recorded_runs(tmp_path)
    assert (described.ending, described.tokens_per_second) == ("unfinished", None)
    assert described.tokens == 1 + sum(round_.acceptance_length for round_ in kept)


def test_a_run_that_failed_says_so(tmp_path: Path) -> None:
    events = [*run(rounds=5)[:-2], Failed(error="engine_died", message="The engine was killed.")]
    record(tmp_path, events)
    (described,) = recorded_runs(tmp_path)
    assert described.ending == "failed"


def test_rounds_are_on_the_disk_soon_though_no_more_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "FLUSH_SECONDS", 0.1)
    recorder = Recorder(tmp_path)
    events = run(rounds=3)[:-1]
    for event in events:
        recorder.take(event)
    rounds = [event for event in events if isinstance(event, Round)]
    until(lambda: paths_of(tmp_path))
    (path,) = paths_of(tmp_path)
    until(lambda: [event for event in read_trace(path).events if isinstance(event, Round)] == rounds)
    recorder.close()


def test_the_oldest_go_for_new_ones(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"2026010{number}T000000Z-1{SUFFIX}").write_bytes(b"x" * 100)
    (tmp_path / "other.txt").write_bytes(b"y" * 1000)
    remove_oldest(tmp_path, 250)
    assert [path.name[:8] for path in paths_of(tmp_path)] == ["20260105", "20260104"]
    assert (tmp_path / "other.txt").exists()
    record(tmp_path, run(), limit_bytes=10_000_000)
    assert len(paths_of(tmp_path)) == 3
    newest = paths_of(tmp_path)[0]
    record(tmp_path, run(), limit_bytes=newest.stat().st_size + 50)
    assert len(paths_of(tmp_path)) == 1
    assert newest not in paths_of(tmp_path)


def test_none_stays_that_is_older_than_one_that_goes(tmp_path: Path) -> None:
    for number, size in enumerate((10, 10, 200, 100)):
        (tmp_path / f"2026010{number}T000000Z-1{SUFFIX}").write_bytes(b"x" * size)
    remove_oldest(tmp_path, 250)
    assert [path.name[:8] for path in paths_of(tmp_path)] == ["20260103"]


def test_names_are_unlike_one_another(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        names.append(new_path(tmp_path, NOW))
        names[-1].touch()
    assert len(set(names)) == 3
    assert names[0].name == f"20260921T141320Z-0000-{os.getpid()}{SUFFIX}"
    assert names == sorted(names)
    assert list(recorded_runs(tmp_path)) == []


def test_what_is_no_recording_is_left_out_of_the_list(tmp_path: Path) -> None:
    record(tmp_path, run())
    (tmp_path / f"a{SUFFIX}").write_bytes(b"rubbish")
    (tmp_path / f"b{SUFFIX}").mkdir()
    (tmp_path / f"c{SUFFIX}").write_bytes(paths_of(tmp_path)[-1].read_bytes()[:50])
    assert len(list(recorded_runs(tmp_path))) == 1
    assert list(recorded_runs(tmp_path / "nowhere")) == []


def test_a_folder_that_cannot_be_made_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file in the way")
    recorder = Recorder(tmp_path / "state" / "runs")
    for event in [*run(0), *run(1)]:
        recorder.take(event)
    recorder.close()
    (problem,) = recorder.problems()
    assert problem.kind == "record"
    assert str(tmp_path) in problem.message
    assert "goes on" in problem.hint
    assert recorder.problems() == []


def test_a_full_disk_is_told_once_and_what_was_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.write, 6

    def full(fd: int, data: memoryview) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise OSError(28, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(recording_module, "BLOCK_ROUNDS", 4)
    monkeypatch.setattr(recording_module.os, "write", full)
    recorder = record(tmp_path, [*run(0, rounds=40), *run(1, rounds=40)])
    (problem,) = recorder.problems()
    assert "no room left" in problem.message
    (first,) = recorded_runs(tmp_path)
    assert first.rounds == 20


def test_a_disk_that_is_too_slow_gives_up_the_run_not_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "MOST_BEHIND", 10)
    monkeypatch.setattr(recording_module, "BLOCK_ROUNDS", 1)
    real, taken = os.write, threading.Event()

    def slow(fd: int, data: memoryview) -> int:
        assert taken.wait(60)
        return real(fd, data)

    monkeypatch.setattr(recording_module.os, "write", slow)
    recorder = Recorder(tmp_path)
    for event in run(rounds=200):
        recorder.take(event)
    taken.set()
    recorder.close()
    (problem,) = recorder.problems()
    assert "too slow" in problem.message
    (described,) = recorded_runs(tmp_path)
    assert described.rounds < 40
    assert described.ending == "unfinished"


def test_a_run_larger_than_all_may_be_ends_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "BLOCK_ROUNDS", 1)
    recorder = record(tmp_path, run(rounds=50), limit_bytes=20_000)
    assert len(recorder.problems()) == 1
    (path,) = paths_of(tmp_path)
    assert 20_000 < path.stat().st_size < 40_000


def test_nothing_is_made_before_a_run_begins(tmp_path: Path) -> None:
    synthetic = Synthetic(0)
    start = [Loading(stage="x", done=0, total=1), *synthetic.start()]
    record(tmp_path / "runs", start)
    prefilled = next(event for event in run() if isinstance(event, Prefilled))
    record(tmp_path / "runs", [prefilled])  # of an engine that never loaded
    assert not (tmp_path / "runs").exists()


def test_what_is_found_out_after_the_end_is_of_the_same_run(tmp_path: Path) -> None:
    events = run(rounds=40)
    found = Divergence(round=3, node=-1, position=30, id=20, target_id=21, gap=0.5, verdict="defect")
    dead = Failed(error="engine_died", message="The engine was killed.")  # while nothing ran
    record(tmp_path, [*events, found, dead, MemoryUse(of="process", bytes=1, peak_bytes=2)])
    (path,) = paths_of(tmp_path)
    assert [*read_trace(path).events][-2:] == [events[-1], found]
    (described,) = recorded_runs(tmp_path)
    assert described.ending == "stop"
    session = Session()
    for event in read_trace(path).events:
        session.apply(event)
    assert found in list(run_events(session.answers[0]))


def test_what_is_found_before_a_prompt_is_read_is_of_its_run(tmp_path: Path) -> None:
    first, second = run(1), run(2)
    about_prompt, late = found("two-bos", "Two."), found("degenerate-text", "Again.", round=3)
    recorder = record(
        tmp_path, [*first, late, about_prompt, *second[1:], found("wrong-leaf", "Here.", round=2)]
    )
    assert recorder.problems() == []
    runs = [read_trace(path).events for path in sorted(paths_of(tmp_path))]
    causes = [[event.cause for event in events if isinstance(event, Finding)] for events in runs]
    assert causes == [["degenerate-text"], ["two-bos", "wrong-leaf"]]
    session = Session()
    for event in (*first, late, about_prompt, *second[1:]):
        session.apply(event)
    kept = [[finding.cause for finding in answer.findings] for answer in session.answers]
    assert kept == [["degenerate-text"], ["two-bos"]]
    exported = [event for event in run_events(session.answers[1]) if isinstance(event, Finding)]
    assert exported == [about_prompt]
