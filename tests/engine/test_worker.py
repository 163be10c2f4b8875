"""The worker's protocol, with a loader and a decode loop of our own in place of the heavy ones."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from engine.commands import (
    AnyCommand,
    Cancel,
    Generate,
    Load,
    MeasureFloor,
    MeasureMemory,
    MeasureNoise,
    Pause,
    Quit,
    Race,
    Resume,
    Set,
    Step,
    encode_command,
)
from engine.errors import EngineError
from engine.failures import failed_event, is_device_failure, is_lost_rank, is_out_of_memory
from engine.settings import DecodeSettings, LoadSettings

STAND_IN = """
    import contextlib, os, sys, time, types
    from engine.errors import EngineError
    from engine.events import Loaded, Loading, ModelInfo, Tokens

    class Pair:
        info = Loaded(
            target=ModelInfo(name="m", path="", architecture="A", parameters=1, dtype="float32"),
            drafter=None, device="cpu", versions={}, block_size=None, mask_token_id=None,
            target_layer_ids=[], memory_bytes=1, seconds=0.1, context_length=10, vocab_size=10,
        )

    def load_pair(model, drafter, *, progress, **where):
        print("a stray print")
        sys.stderr.write("a warning\\n")
        with contextlib.suppress(OSError):
            os.write(1, b"a stray write\\n")
            sys.__stdout__.write("another\\n")
        os.system("echo from a child process")
        assert sys.stdin.read() == ""
        progress(Loading(stage="weights", done=1, total=2))
        if model == "missing":
            raise EngineError("model_not_found", "There is no model.", "Choose another.", "looked everywhere")
        if model == "broken":
            raise KeyError("surprise")
        if model == "cuda":
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        if model == "huge":
            raise MemoryError
        if model == "slow":
            time.sleep(60)
        if model == "segfault":
            import ctypes; ctypes.string_at(0)
        return Pair()

    class Session:
        def reset(self):
            print("the conversation is forgotten")

    Pair.session = Session()
    Pair.target = types.SimpleNamespace(device=types.SimpleNamespace(type="cpu"))

    def generate(pair, messages, settings, *, control, plain=False, candidates=8):
        for index in range(10_000):
            now = control.before_round(settings)
            if now is None:
                yield Tokens(pieces={"0": "cancelled"})
                return
            yield Tokens(pieces={str(index): f"{now.mode} {now.budget}"})
            time.sleep(0.005)

    def race(pair, messages, lanes, *, control):
        for index in range(10_000):
            if control.before_round(lanes[0]) is None:
                yield 0, Tokens(pieces={"0": "cancelled"})
                yield 1, EngineError("k", "the other one", "", "why")
                return
            for lane, settings in enumerate(lanes):
                yield lane, Tokens(pieces={str(index): settings.mode})
            time.sleep(0.005)

    for name, function in [("load", load_pair), ("decode", generate), ("race", race)]:
        module = types.ModuleType(f"engine.{name}")
        setattr(module, function.__name__, function)
        sys.modules[module.__name__] = module
    from engine.worker import main
    main(sys.argv[1:])
"""


class Worker:
    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "worker.log"
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(STAND_IN), "--log", str(self.log), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )

    def tell(self, *commands: AnyCommand) -> None:
        assert self.process.stdin is not None
        for command in commands:
            self.process.stdin.write(encode_command(command))

    def event(self, kind: str | None = None) -> dict:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            event = json.loads(line)
            if kind in (None, event["type"]):
                return event
        raise AssertionError(f"no {kind}: the worker ended with {self.process.wait()}")

    def pieces_until(self, wanted: str) -> list[str]:
        seen: list[str] = []
        while not seen or seen[-1] != wanted:
            seen += self.event("tokens")["pieces"].values()
        return seen

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(60)


@pytest.fixture
def worker(tmp_path):
    worker = Worker(tmp_path)
    yield worker
    worker.process.kill()
    worker.process.wait()
    worker.process.stdin.close()
    worker.process.stdout.close()


def load(model: str = "m") -> Load:
    return Load(settings=LoadSettings(model=model))


QUESTION = Generate(messages=[{"role": "user", "content": "?"}], settings=DecodeSettings())


def test_nothing_but_events_reaches_the_output(worker):
    worker.tell(load())
    assert [worker.event()["type"] for _ in range(2)] == ["loading", "loaded"]
    assert worker.end() == 0
    log = worker.log.read_text()
    for stray in ("a stray print", "a stray write", "another", "from a child process"):
        assert stray in log


def test_the_end_of_input_ends_it_at_once_even_while_it_loads(worker):
    worker.tell(load("slow"))
    worker.event()
    begin = time.monotonic()
    assert worker.end() == 0
    assert time.monotonic() - begin < 30


def test_quit_ends_it_at_once(worker):
    worker.tell(load(), QUESTION)
    worker.event("tokens")
    worker.tell(Quit())
    assert worker.process.wait(60) == 0


def test_a_reader_that_goes_away_ends_it(worker):
    worker.tell(load(), QUESTION)
    worker.event("tokens")
    worker.process.stdout.close()
    assert worker.process.wait(60) == 0


def test_ctrl_c_does_not_touch_it(worker):
    worker.tell(load(), QUESTION)
    worker.event("tokens")
    os.kill(worker.process.pid, signal.SIGINT)
    worker.tell(Cancel())
    worker.pieces_until("cancelled")


def test_cancelling_ends_the_answer_and_the_next_one_starts(worker):
    worker.tell(load(), QUESTION, Cancel())
    worker.pieces_until("cancelled")
    worker.tell(QUESTION)
    worker.pieces_until("tree 64")
    worker.tell(Cancel())
    worker.pieces_until("cancelled")


def test_a_race_says_which_lane_an_event_is_of(worker):
    race = Race(messages=QUESTION.messages, lanes=[DecodeSettings(mode="ar"), DecodeSettings(mode="chain")])
    worker.tell(load(), race)
    begun = worker.event("racing")
    assert [lane["mode"] for lane in begun["lanes"]] == ["ar", "chain"]
    assert begun["messages"] == QUESTION.messages
    for lane, mode in enumerate(("ar", "chain")):
        event = worker.event("lane")
        assert (event["lane"], event["event"]["type"]) == (lane, "tokens")
        assert event["event"]["pieces"] == {"0": mode}
        assert 0 <= event["t"] < 60
    worker.tell(Cancel())
    while (event := worker.event("lane"))["event"]["type"] != "failed":
        pass
    assert event["lane"] == 1
    assert (event["event"]["error"], event["event"]["message"]) == ("k", "the other one")
    worker.tell(QUESTION)
    worker.pieces_until("tree 64")


def test_racing_without_a_model_is_refused(worker):
    worker.tell(Race(messages=QUESTION.messages, lanes=[DecodeSettings()]))
    assert worker.event("failed")["error"] == "not_loaded"


def test_a_fresh_answer_forgets_the_conversation(worker):
    worker.tell(load(), QUESTION, Cancel())
    worker.pieces_until("cancelled")
    assert "forgotten" not in worker.log.read_text()
    worker.tell(Generate(messages=QUESTION.messages, settings=QUESTION.settings, fresh=True))
    worker.event("tokens")
    worker.tell(Cancel())
    worker.pieces_until("cancelled")
    worker.end()
    assert "forgotten" in worker.log.read_text()


@pytest.mark.parametrize("command", [MeasureMemory(), MeasureFloor(), MeasureNoise()])
def test_measuring_without_a_model_is_refused(worker, command):
    worker.tell(command)
    failed = worker.event("failed")
    assert (failed["error"], failed["command"]) == ("not_loaded", type(command).__name__.lower())


def test_live_settings_reach_the_answer(worker):
    worker.tell(load(), QUESTION)
    worker.pieces_until("tree 64")
    worker.tell(Set(settings={"budget": 7}))
    worker.pieces_until("tree 7")
    worker.tell(Set(settings={"budget": -1}), Set(settings={"mode": "chain"}))
    worker.pieces_until("chain 7")


def test_pause_step_and_resume(worker):
    worker.tell(load(), Pause(), QUESTION, Pause())
    worker.event("loaded")
    worker.tell(Step())
    first = worker.event("tokens")
    worker.tell(Step())
    second = worker.event("tokens")
    assert int(next(iter(second["pieces"]))) == int(next(iter(first["pieces"]))) + 1
    worker.tell(Resume())
    for _ in range(5):
        worker.event("tokens")


def test_an_answer_can_start_paused(worker):
    worker.tell(load(), Generate(messages=QUESTION.messages, settings=QUESTION.settings, paused=True))
    worker.event("loaded")
    time.sleep(0.3)  # time for dozens of rounds
    worker.tell(Step())
    assert worker.pieces_until("tree 64") == ["tree 64"]
    time.sleep(0.1)
    worker.tell(Cancel())
    assert worker.pieces_until("cancelled") == ["cancelled"]


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("missing", "model_not_found", "no model"),
        ("broken", "internal", "KeyError"),
        ("huge", "out_of_memory", "memory"),
    ],
)
def test_a_failure_to_load_is_an_event_and_the_worker_goes_on(worker, model, kind, words):
    worker.tell(load(model))
    failed = worker.event("failed")
    assert failed["error"] == kind
    assert words in failed["message"]
    assert failed["hint"]
    worker.tell(load())
    worker.event("loaded")
    assert "Traceback" in worker.log.read_text()


@pytest.mark.parametrize("options", [(), ("--debug",)])
def test_an_expected_failure_has_a_traceback_in_debug_mode_only(tmp_path, options):
    worker = Worker(tmp_path, *options)
    worker.tell(load("missing"))
    detail = worker.event("failed")["detail"]
    assert detail.startswith("looked everywhere")
    assert ("Traceback" in detail) == bool(options)
    worker.end()
    worker.process.stdout.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_log_that_cannot_be_written_costs_no_answer(tmp_path):
    worker = Worker(tmp_path, "--log", "/dev/full")
    worker.tell(load())
    worker.event("loaded")
    worker.end()
    worker.process.stdout.close()


def test_answering_without_a_model_is_refused(worker):
    worker.tell(QUESTION)
    failed = worker.event("failed")
    assert (failed["error"], failed["command"]) == ("not_loaded", "generate")


def test_a_line_that_is_no_command_is_refused_and_the_next_one_heard(worker):
    worker.process.stdin.write(b"what?\n")
    failed = worker.event("failed")
    assert (failed["error"], failed["command"]) == ("bad_command", "")
    worker.tell(load())
    worker.event("loaded")


def test_a_setting_with_any_name_is_refused_and_the_next_command_heard(worker):
    worker.tell(load(), QUESTION)
    worker.pieces_until("tree 64")
    worker.process.stdin.write(b'{"cmd":"set","settings":{"self":1}}\n')
    worker.tell(Set(settings={"budget": 7}))
    worker.pieces_until("tree 7")
    worker.tell(Cancel())
    worker.pieces_until("cancelled")


def test_a_broken_device_ends_it_with_its_own_exit_code(worker):
    worker.tell(load("cuda"))
    assert worker.process.wait(60) == 70
    assert "illegal memory access" in worker.log.read_text()


def test_a_crash_leaves_its_stack_in_the_log(worker):
    worker.tell(load("segfault"))
    assert worker.process.wait(60) == -signal.SIGSEGV
    assert "load_pair" in worker.log.read_text()


def test_the_log_has_times(worker):
    worker.tell(load())
    worker.event("loaded")
    worker.end()
    assert worker.log.read_text()[:4].isdigit()


def test_kinds_of_failure(tmp_path):
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."))
    assert not is_out_of_memory(RuntimeError("shapes differ"))
    assert is_device_failure(RuntimeError("CUDA error: device-side assert triggered"))
    assert is_lost_rank(RuntimeError("[third_party/gloo/gloo/transport/tcp/pair.cc] Connection closed"))
    assert failed_event(RuntimeError("NCCL error"), "", tmp_path, 0.0).error == "rank_lost"
    assert not is_lost_rank(ValueError("gloo"))
    assert not is_device_failure(ValueError("CUDA error: quoted"))
    event = failed_event(EngineError("k", "m", "h", "d"), "d", tmp_path, 1.5)
    assert (event.error, event.message, event.hint, event.detail, event.t) == ("k", "m", "h", "d", 1.5)


def test_torch_out_of_memory_is_recognised():
    torch = pytest.importorskip("torch")
    assert is_out_of_memory(torch.cuda.OutOfMemoryError("CUDA out of memory"))
    assert not is_device_failure(torch.cuda.OutOfMemoryError("CUDA error: out of memory"))
