"""The real worker on a tiny random pair: what the app and the headless command rest on."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ddtree_tui import exit_codes
from ddtree_tui.engine_process import EngineProcess
from engine.commands import Cancel, Generate, Load, Pause, Resume, Set, Step
from engine.event_lines import decode_event
from engine.events import AnyEvent, Failed, Finished, Loaded, Loading, Prefilled, Round
from engine.settings import DecodeSettings, LoadSettings, Message
from engine.trace import read_trace

QUESTION: list[Message] = [{"role": "user", "content": "What is 12 + 30?"}]
SECONDS = 240


class Engine:
    """A worker with the tiny pair loaded."""

    def __init__(self, pair: Path, log: Path) -> None:
        self.events: queue.Queue[AnyEvent] = queue.Queue()
        self.process = EngineProcess(self.events.put, log)
        self.pair = pair

    def load(self) -> Loaded:
        self.process.start()
        names = {"model": str(self.pair / "target"), "drafter": str(self.pair / "drafter")}
        self.process.send(Load(settings=LoadSettings(**names)))
        return self.until(Loaded)

    def until(self, kind: type[Any]) -> Any:
        while not isinstance(event := self.events.get(timeout=SECONDS), kind):
            assert not isinstance(event, Failed), event
        return event

    def ask(self, **settings: Any) -> None:
        decode = DecodeSettings(**({"max_new_tokens": 24} | settings))
        self.process.send(Generate(messages=QUESTION, settings=decode))


@pytest.fixture(scope="module")
def engine(tiny_pair_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tiny_pair_folder, tmp_path_factory.mktemp("log") / "engine.log")
    loaded = engine.load()
    assert loaded.device == "cpu"
    assert loaded.block_size == 8
    yield engine
    engine.process.stop()


def test_all_modes_give_the_same_tokens_through_the_pipe(engine):
    answers = []
    for settings in ({"mode": "ar"}, {"mode": "chain"}, {"mode": "tree", "budget": 16}):
        engine.ask(**settings)
        answers.append(engine.until(Finished).output_ids)
    assert answers[0] == answers[1] == answers[2]
    assert len(answers[0]) == 24


def test_pause_step_change_and_cancel(engine):
    engine.ask(mode="tree", budget=16, max_new_tokens=200)
    engine.process.send(Pause())
    engine.until(Prefilled)
    engine.process.send(Set(settings={"budget": 3}))
    engine.process.send(Step())
    first = engine.until(Round)
    while True:  # rounds that were under way before the pause was heard
        engine.process.send(Step())
        if len((following := engine.until(Round)).nodes.ids) <= 3:
            break
    assert following.index > first.index
    engine.process.send(Resume())
    engine.until(Round)
    engine.process.send(Cancel())
    finished = engine.until(Finished)
    assert finished.reason == "cancelled"
    assert finished.tokens < 200


def test_a_setting_that_is_refused_ends_the_answer_not_the_worker(engine):
    engine.ask(block_size=99)
    failed = engine.events.get(timeout=SECONDS)
    assert isinstance(failed, Failed)
    assert failed.error == "bad_setting"
    engine.ask(mode="ar", max_new_tokens=2)
    assert engine.until(Finished).tokens == 2


def test_kill_9_is_reported_and_the_engine_starts_again(engine):
    engine.ask(mode="ar", max_new_tokens=200)
    engine.until(Round)
    os.kill(engine.process.pid, signal.SIGKILL)
    while not isinstance(event := engine.events.get(timeout=SECONDS), Failed):
        assert isinstance(event, Round)
    assert event.error == "engine_died"
    assert "worker" in event.detail
    engine.load()
    engine.ask(mode="ar", max_new_tokens=2)
    assert engine.until(Finished).tokens == 2


def generate(pair: Path, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "ddtree_tui", "generate", QUESTION[0]["content"]),
            *("--model", str(pair / "target"), "--log", str(tmp_path / "log"), *options),
        ],
        capture_output=True,
        timeout=SECONDS,
        stdin=subprocess.DEVNULL,
    )


def test_the_command_writes_events_and_the_same_trace(tiny_pair_folder, tmp_path):
    trace = tmp_path / "run.jsonl"
    drafter = str(tiny_pair_folder / "drafter")
    options = ("--drafter", drafter, "--json", "--trace", str(trace), "--max-new-tokens", "24")
    done = generate(tiny_pair_folder, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    events = [decode_event(line) for line in done.stdout.splitlines()]
    assert [event for event in events if not isinstance(event, Loading)] == read_trace(trace).events
    committed = [event.first_id for event in events if isinstance(event, Prefilled)]
    for event in events:
        if isinstance(event, Round):
            committed += event.committed_ids
    assert isinstance(events[-1], Finished)
    assert events[-1].output_ids == committed


def test_the_streamed_text_is_the_final_text(tiny_pair_folder, tmp_path):
    """The command spells ids by ``tokens`` events alone; a random model writes many broken characters."""
    options = ("--mode", "ar", "--temperature", "2", "--max-new-tokens", "200")
    done = generate(tiny_pair_folder, tmp_path, *options)
    events = generate(tiny_pair_folder, tmp_path, *options, "--json").stdout.splitlines()
    finished = decode_event(events[-1])
    assert isinstance(finished, Finished)
    assert "\ufffd" in finished.text
    assert done.stdout.decode() == finished.text + ("" if finished.text.endswith("\n") else "\n")


def test_drafting_without_a_drafter_is_bad_input(tiny_pair_folder, tmp_path):
    done = generate(tiny_pair_folder, tmp_path)
    assert done.returncode == exit_codes.BAD_INPUT
    assert b"needs a drafter" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_model_that_is_not_there_is_code_3(tmp_path):
    done = generate(tmp_path / "nothing", tmp_path)
    assert done.returncode == exit_codes.NOT_LOADED
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1
