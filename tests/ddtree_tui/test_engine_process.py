import os
import queue
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from ddtree_tui.engine_process import EngineProcess, died_event, log_tail, worker_command
from engine.commands import EXIT_DEVICE, Cancel, Generate, Load, Set
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Finished, Loaded, Prefilled, Round
from engine.settings import DecodeSettings, LoadSettings

FAKE_WORKER = Path(__file__).with_name("fake_worker.py")
QUESTION = Generate(messages=[{"role": "user", "content": "12 + 30"}], settings=DecodeSettings())


class Bench:
    """An engine process on a scripted worker, and the events it reported."""

    def __init__(self, scenario: str, folder: Path) -> None:
        self.events: queue.Queue[AnyEvent] = queue.Queue()
        self.log = folder / "worker.log"
        self.engine = EngineProcess(
            self.events.put, self.log, command=[sys.executable, str(FAKE_WORKER), scenario, str(self.log)]
        )

    def until(self, kind: type[AnyEvent]) -> AnyEvent:
        while True:
            event = self.events.get(timeout=60)
            if isinstance(event, kind):
                return event

    def load(self) -> None:
        self.engine.start()
        self.engine.send(Load(settings=LoadSettings()))
        self.until(Loaded)


@pytest.fixture
def bench(tmp_path, request):
    bench = Bench(request.param, tmp_path)
    yield bench
    bench.engine.stop()
    assert not bench.engine.alive


def running(pid: int) -> bool:
    """Whether that process lives; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone_within(pid: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while running(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("bench", ["plain"], indirect=True)
def test_events_of_an_answer_arrive_in_order(bench):
    bench.load()
    bench.engine.send(QUESTION)
    bench.until(Prefilled)
    rounds = [bench.events.get(timeout=60) for _ in range(2)]
    assert [event.index for event in rounds if isinstance(event, Round)] == [0, 1]
    finished = bench.until(Finished)
    assert finished.text == "12 + 30 = 42."


@pytest.mark.parametrize("bench", ["plain"], indirect=True)
def test_stop_is_quick_final_and_silent(bench):
    bench.load()
    pid = bench.engine.pid
    begin = time.monotonic()
    bench.engine.stop(grace=60)
    assert time.monotonic() - begin < 30
    assert not running(pid)
    bench.engine.stop()
    bench.engine.send(QUESTION)
    assert bench.events.empty()


@pytest.mark.parametrize("bench", ["deaf"], indirect=True)
def test_stop_kills_a_worker_that_does_not_listen(bench):
    bench.engine.start()
    pid = bench.engine.pid
    time.sleep(0.5)
    bench.engine.stop(grace=0.3)
    assert not running(pid)


@pytest.mark.parametrize("bench", ["deaf"], indirect=True)
def test_stop_works_while_a_sender_is_stuck(bench):
    bench.engine.start()
    huge = Generate(messages=[{"role": "user", "content": "x" * 2**21}], settings=DecodeSettings())
    sender = threading.Thread(target=bench.engine.send, args=(huge,))
    sender.start()
    time.sleep(0.5)
    assert sender.is_alive()
    begin = time.monotonic()
    bench.engine.stop(grace=0.3)
    assert time.monotonic() - begin < 30
    sender.join(60)
    assert not sender.is_alive()


@pytest.mark.parametrize("bench", ["killed"], indirect=True)
def test_a_killed_worker_is_reported_with_the_end_of_its_log(bench):
    bench.load()
    bench.engine.send(QUESTION)
    failed = bench.until(Failed)
    assert failed.error == "engine_died"
    assert "SIGKILL" in failed.message
    assert "about to be killed" in failed.detail
    assert str(bench.log) in failed.hint
    assert bench.events.empty()


@pytest.mark.parametrize("bench", ["closed_output"], indirect=True)
def test_a_worker_that_closes_its_output_is_ended_and_that_is_said(bench):
    bench.load()
    bench.engine.send(QUESTION)
    failed = bench.until(Failed)
    assert failed.error == "engine_died"
    assert "connection" in failed.message
    assert "memory" not in failed.hint
    assert not bench.engine.alive


@pytest.mark.parametrize("bench", ["closed_input"], indirect=True)
def test_a_worker_that_takes_no_commands_is_ended_and_that_is_said(bench):
    bench.load()
    bench.engine.send(QUESTION)
    failed = bench.until(Failed)
    assert failed.error == "engine_died"
    assert "connection" in failed.message
    assert not bench.engine.alive


@pytest.mark.parametrize("bench", ["exit"], indirect=True)
def test_it_can_be_started_again_after_its_end(bench):
    for _ in range(2):
        bench.load()
        bench.engine.send(QUESTION)
        failed = bench.until(Failed)
        assert "exit code 7" in failed.message
        assert not bench.engine.alive


@pytest.mark.parametrize("bench", ["plain"], indirect=True)
def test_kill_9_from_outside_is_reported(bench):
    bench.load()
    os.kill(bench.engine.pid, signal.SIGKILL)
    assert bench.until(Failed).error == "engine_died"


@pytest.mark.parametrize("bench", ["garbage"], indirect=True)
def test_a_line_that_is_no_event_is_reported_and_the_rest_is_read(bench):
    bench.load()
    bench.engine.send(QUESTION)
    assert bench.until(Failed).error == "bad_event"
    assert bench.until(Finished).reason == "stop"


@pytest.mark.parametrize("bench", ["slow"], indirect=True)
def test_cancel_reaches_a_running_answer(bench):
    bench.load()
    bench.engine.send(QUESTION)
    bench.until(Round)
    bench.engine.send(Cancel())
    assert bench.until(Finished).reason == "cancelled"


@pytest.mark.parametrize("bench", ["flood"], indirect=True)
def test_a_flood_of_events_is_read_whole(bench):
    bench.load()
    bench.engine.send(QUESTION)
    rounds = 0
    while not isinstance(event := bench.events.get(timeout=60), Finished):
        rounds += isinstance(event, Round)
    assert rounds == 2000


@pytest.mark.parametrize("bench", ["slow"], indirect=True)
def test_settings_that_cannot_be_sent_are_refused_at_once(bench):
    bench.load()
    with pytest.raises(EngineError, match="budget"):
        bench.engine.send(Set(settings={"budget": 0}))
    with pytest.raises(EngineError, match="temperature cannot change"):
        bench.engine.send(Set(settings={"temperature": 1.0}))
    with pytest.raises(EngineError, match="not UTF-8"):
        bench.engine.send(
            Generate(messages=[{"role": "user", "content": "\udcff"}], settings=DecodeSettings())
        )


def test_a_program_that_cannot_be_started_is_an_error(tmp_path):
    engine = EngineProcess(lambda event: None, tmp_path / "log", command=[str(tmp_path / "nothing")])
    with pytest.raises(EngineError) as caught:
        engine.start()
    assert caught.value.kind == "engine_start"


def test_starting_twice_is_a_mistake(tmp_path):
    bench = Bench("plain", tmp_path)
    with bench.engine, pytest.raises(RuntimeError):
        bench.engine.start()


@pytest.mark.parametrize("given", [None, "ACTIVE"])
def test_waiting_threads_of_the_worker_do_not_spin_unless_told_to(tmp_path, monkeypatch, given):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    tell = "import os, sys; open(sys.argv[1], 'w').write(os.environ['OMP_WAIT_POLICY'])"
    ended = threading.Event()
    command = [sys.executable, "-c", tell, str(tmp_path / "policy")]
    engine = EngineProcess(lambda event: ended.set(), tmp_path / "log", command=command)
    engine.start()
    assert ended.wait(60)
    engine.stop()
    assert (tmp_path / "policy").read_text() == (given or "PASSIVE")


def test_only_the_main_thread_ties_the_worker_to_itself(tmp_path):
    commands: list[list[str]] = []
    thread = threading.Thread(target=lambda: commands.append(worker_command(tmp_path)))
    thread.start()
    thread.join()
    assert "--parent" not in commands[0]
    assert worker_command(tmp_path)[-2:] == ["--parent", str(os.getpid())]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-signal.SIGSEGV, "SIGSEGV"),
        (-signal.SIGKILL, "out of memory"),
        (1, "exit code 1"),
        (EXIT_DEVICE, "device reported"),
        (-62, "signal 62"),
    ],
)
def test_the_end_is_put_in_words(tmp_path, code, words):
    event = died_event(code, tmp_path / "missing.log")
    assert words in f"{event.message} {event.hint}"
    assert event.detail == ""


def test_log_tail_keeps_the_last_lines_whatever_their_bytes(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"\n".join(b"line %d" % number for number in range(1000)) + b"\n\xff end")
    assert log_tail(log, 3).splitlines() == ["line 998", "line 999", "\ufffd end"]


OWNER = """
    import os, queue, signal, sys, time
    from pathlib import Path
    from ddtree_tui.engine_process import EngineProcess
    from engine.commands import Load
    from engine.events import Loaded
    from engine.settings import LoadSettings

    log, command, ending = Path(sys.argv[1]), sys.argv[3:], sys.argv[2]
    events = queue.Queue()
    engine = EngineProcess(events.put, log, command=command or None)
    engine.start()
    engine.send(Load(settings=LoadSettings()))
    print(engine.pid, flush=True)
    while not isinstance(events.get(), Loaded):
        pass
    if ending == "return":
        sys.exit(0)
    if ending == "exception":
        raise ValueError("the app broke")
    if ending == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if ending == "abort":
        os.abort()
    if ending == "term":
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)
"""


@pytest.mark.parametrize("ending", ["return", "exception", "kill", "abort", "term"])
def test_no_worker_outlives_its_owner(tmp_path, ending):
    log = tmp_path / "log"
    fake = [sys.executable, str(FAKE_WORKER), "slow", str(log)]
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), str(log), ending, *fake],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    assert running(pid)
    owner.wait(60)
    owner.stdout.close()
    assert gone_within(pid, 60)


def test_interrupting_the_owner_spares_the_worker(tmp_path):
    """Ctrl-C reaches the whole foreground process group; the worker is not in it."""
    bench = Bench("slow", tmp_path)
    with bench.engine:
        pid = bench.engine.pid
        assert os.getpgid(pid) == pid != os.getpgid(0)
