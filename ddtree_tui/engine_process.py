"""The engine's child process, seen from the app: commands go in, events come back, no orphan stays."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from engine.commands import EXIT_DEVICE, AnyCommand, Set, encode_command
from engine.control import Control
from engine.errors import EngineError
from engine.event_lines import decode_event
from engine.events import AnyEvent, Failed

_TORCHRUN = ("torch.distributed.run", "--standalone")

LOG_TAIL_LINES = 20
GRACE_SECONDS = 2.0


class EngineProcess:
    """Owns one worker at a time.

    Events arrive through ``on_event``, called from a reader thread, in order. When the worker ends
    without having been stopped, the last event is a ``failed`` of kind ``engine_died`` that says how
    and quotes the end of the log. ``start`` may be called again then.

    Args:
        on_event: takes every event; must be quick and must not raise.
        log_path: the file that takes everything the engine prints; its folder exists.
        command: the program to run instead of the engine's worker (tests run a scripted one).
        debug: have the worker log more.
        ranks: how many processes hold the target together; ``torchrun`` starts them, if it has not already.
    """

    def __init__(
        self,
        on_event: Callable[[AnyEvent], None],
        log_path: Path,
        *,
        command: Sequence[str] | None = None,
        debug: bool = False,
        ranks: int | None = None,
    ) -> None:
        self.log_path = log_path
        self._on_event = on_event
        self._command = command
        self._debug = debug
        self._ranks = ranks
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._stopping = threading.Event()
        self._cut_off = threading.Event()
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the worker runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Process id of the worker, also after its end; None before the first start."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start a worker; it says nothing until it is sent ``Load``.

        Raises:
            EngineError: ``engine_start`` if the process cannot be started.
            RuntimeError: if one runs already.
        """
        if self.alive:
            raise RuntimeError("the engine runs already")
        self._release()
        self._stopping = threading.Event()
        self._cut_off = threading.Event()
        try:
            process = subprocess.Popen(
                self._command or worker_command(self.log_path, debug=self._debug, ranks=self._ranks),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # the worker moves its own to the log
                env=worker_environment(),
                start_new_session=True,  # Ctrl-C in the terminal is for the app alone
            )
        except OSError as error:
            raise EngineError(
                "engine_start",
                f"The engine cannot be started: {error.strerror or error}.",
                "Check that there is memory left and that this Python works.",
                str(error),
            ) from error
        self._process = process
        self._reader = threading.Thread(
            target=self._read, args=(process, self._stopping), name="engine-events", daemon=True
        )
        self._reader.start()
        atexit.register(self.stop)

    def send(self, command: AnyCommand) -> None:
        """Give the worker a command; does nothing when it has ended (``engine_died`` tells of that).

        Raises:
            EngineError: ``bad_text`` for text that UTF-8 cannot carry; ``bad_setting`` for a ``Set`` of a
                value out of range, or of a setting that cannot change during an answer.
        """
        if isinstance(command, Set):
            Control().update(**command.settings)
        line = encode_command(command)
        with self._lock:
            process = self._process
            if process is None or process.stdin is None or process.stdin.closed:
                return
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[process.stdin.write(rest) :]
            except OSError:  # it has ended, or takes no commands any more and is of no use
                self._cut_off.set()
                _kill_session(process)

    def stop(self, grace: float = GRACE_SECONDS) -> None:
        """End the worker: by the end of its input, after ``grace`` seconds by force. Idempotent."""
        process = self._process
        if process is None:
            return
        self._stopping.set()
        if self.alive:
            # A worker that reads no more may have a sender stuck in write(), holding the lock and with
            # it the pipe; then there is nothing to close gently.
            if self._lock.acquire(timeout=grace):
                try:
                    _close(process.stdin)
                finally:
                    self._lock.release()
            try:
                process.wait(grace)
            except subprocess.TimeoutExpired:
                _kill_session(process)
                process.wait()
        self._release()
        atexit.unregister(self.stop)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _release(self) -> None:
        """Let the reader finish and close the pipes of a worker that has ended."""
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(GRACE_SECONDS)
        if self._process is not None:
            _close(self._process.stdin)
            if self._reader is not threading.current_thread():
                _close(self._process.stdout)

    def _read(self, process: subprocess.Popen[bytes], stopping: threading.Event) -> None:
        assert process.stdout is not None
        for line in io.BufferedReader(cast(io.FileIO, process.stdout), 2**16):
            event = self._decode(line)
            if event is not None and not stopping.is_set():
                self._on_event(event)
        try:
            code = process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it closed its output and lives on: of no use any more
            self._cut_off.set()
            _kill_session(process)
            code = process.wait()
        _kill_session(process)  # what it started, if anything
        if not stopping.is_set():
            cut_off = self._cut_off.is_set() and code == -signal.SIGKILL
            self._on_event(died_event(code, self.log_path, cut_off=cut_off))

    def _decode(self, line: bytes) -> AnyEvent | None:
        try:
            return decode_event(line)
        except EngineError as error:
            if not line.endswith(b"\n"):
                return None  # cut short by the worker's death, which is reported next
            return Failed(
                error="bad_event",
                message="The engine reported something that cannot be read.",
                hint=f"Please report it with the log: {self.log_path}",
                detail=f"{error.detail}: {line[:500]!r}",
            )


def worker_command(
    log_path: Path, *, debug: bool = False, ranks: int | None = None, parent: int | None = None
) -> list[str]:
    """The command line of the worker, or of ``torchrun`` with as many workers as ``ranks``.

    Args:
        parent: the process to end with; None is this one, or the ``torchrun`` between.
    """
    command = [sys.executable, "-P", "-m"]  # -P: a folder named engine where the user works is not ours
    several = ranks is not None and ranks > 1
    between = several and not under_torchrun()
    if between:
        command += [*_TORCHRUN, "--nproc-per-node", str(ranks), "-m", "--"]
    command += ["engine.worker", "--log", str(log_path)]
    if several:
        command += ["--ranks", str(ranks)]
    if parent is None and not between and threading.current_thread() is threading.main_thread():
        # The kernel's signal comes when the starting *thread* ends, so only the main one may ask for it.
        parent = os.getpid()
    if parent is not None:
        command += ["--parent", str(parent)]
    if debug:
        command.append("--debug")
    return command


def under_torchrun() -> bool:
    """Whether this process is one of those that ``torchrun`` started."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def died_event(code: int, log_path: Path, *, cut_off: bool = False) -> Failed:
    """What to report when the worker ended by itself with exit ``code`` (negative: by that signal).

    ``cut_off``: it was ended here, because a pipe to it was broken.
    """
    if cut_off:
        message = "The connection to the engine broke, so it was ended."
    elif code == EXIT_DEVICE:
        message = "The device reported an error that ended the engine."
    elif code < 0:
        message = f"The engine was killed by signal {-code} ({_signal_name(-code)})."
    else:
        message = f"The engine ended unexpectedly with exit code {code}."
    if -code == signal.SIGKILL and not cut_off:
        hint = "If nobody killed it, the system ran out of memory: choose a smaller model or close programs."
    else:
        hint = "Start it again; if it happens again, please report it with the log."
    return Failed(
        error="engine_died", message=message, hint=f"{hint} Log: {log_path}", detail=log_tail(log_path)
    )


def log_tail(path: Path, lines: int = LOG_TAIL_LINES) -> str:
    """The last ``lines`` lines of a log, or nothing if it cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 200 * lines))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def worker_environment() -> dict[str, str]:
    """This environment, where ``engine`` lies unless Python finds it there anyway, and polite threads.

    What the worker starts itself finds no modules where the user works either.

    OpenMP threads that spin while they wait take the cores from the app and from each other: with as many
    other busy processes as cores, small models decode ten times slower.
    """
    root = str(Path(__file__).resolve().parent.parent)
    environment = {"OMP_WAIT_POLICY": "PASSIVE", "PYTHONSAFEPATH": "1", **os.environ}
    if root not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        paths = [root, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    return environment


def _kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill the worker if it lives, and whatever it started (compilers, for example)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"


def _close(stream: IO[bytes] | None) -> None:
    if stream is not None:
        with contextlib.suppress(OSError):
            stream.close()
