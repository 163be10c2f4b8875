"""The engine as a child process: commands in on standard input, events out on standard output.

The process that starts the worker owns it: when that process closes the worker's standard input, or
dies, the worker exits at once, whatever it is doing. Everything that libraries print, CUDA and Triton
included, goes to the log file, so that nothing but events reaches standard output.
"""

from __future__ import annotations

import argparse
import faulthandler
import logging
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from engine.commands import (
    COMMAND,
    EXIT_DEVICE,
    EXIT_RANKS,
    AnyCommand,
    Cancel,
    Check,
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
    decode_command,
    encode_command,
)
from engine.control import Control
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Lane, Loaded, Loading, Racing
from engine.failures import failed_event, is_device_failure, is_out_of_memory
from engine.settings import LoadSettings
from engine.streams import EventPipe, die_with, take_over_streams

if TYPE_CHECKING:
    from engine.pair import Pair
    from engine.ranks import Ranks

log = logging.getLogger("engine.worker")


@dataclass(frozen=True)
class Job:
    """Something that takes a while and was asked for, and the reins of it if it is an answer."""

    command: Load | Generate | Race | Check | MeasureMemory | MeasureFloor | MeasureNoise
    control: Control = field(default_factory=Control)


TASKS = Load | Generate | Race | Check | MeasureMemory | MeasureFloor | MeasureNoise


class Worker:
    """Reads commands in a thread of its own and carries jobs out in the calling one, in order."""

    def __init__(
        self, commands_fd: int, emit: Callable[[AnyEvent], None], log_path: Path, *, debug: bool = False
    ) -> None:
        self._debug = debug
        self._commands_fd = commands_fd
        self._emit = emit
        self._log_path = log_path
        self._queue: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._open: list[Job] = []
        self._lock = threading.Lock()
        self._pair: Pair | None = None
        self._ranks: Ranks | None = None
        self._job_started = time.monotonic()

    def run(self) -> None:
        """Work until the process ends; does not return."""
        threading.Thread(target=self._read_commands, name="commands", daemon=True).start()
        while True:
            job = self._queue.get()
            self._job_started = time.monotonic()
            try:
                self._carry_out(job)
            except Exception as error:
                self._fail(error, job.command)
                if self._ranks is not None:
                    self._release(self._ranks)
            finally:
                with self._lock:
                    self._open.remove(job)

    def _read_commands(self) -> None:
        with os.fdopen(self._commands_fd, "rb") as lines:
            for line in lines:
                try:
                    command = decode_command(line)
                    log.info("command %s", command.name)
                    if isinstance(command, Quit):
                        break
                    self._hear(command)
                except Exception as error:  # whatever it was, the next command is heard
                    self._fail(error)
        log.info("told to end: exiting")
        os._exit(0)

    def _hear(self, command: AnyCommand) -> None:
        """Queue a task, or tell those that are open."""
        with self._lock:
            if isinstance(command, TASKS):
                job = Job(command)
                if isinstance(command, Generate) and command.paused:
                    job.control.pause()
                self._open.append(job)
                self._queue.put(job)
            else:
                for job in self._open:
                    _apply(command, job.control)

    def _carry_out(self, job: Job) -> None:
        if isinstance(job.command, Load):
            self._join(job.command.settings)
        if self._ranks is not None and isinstance(job.command, Load | Generate):
            self._ranks.share(COMMAND, encode_command(job.command))
        match job.command:
            case Load():
                self._load(job.command)
            case Generate():
                self._generate(job.command, job.control)
            case Race():
                self._race(job.command, job.control)
            case Check():
                self._check(job.command, job.control)
            case MeasureMemory():
                from engine.memory import memory_use

                self._emit(memory_use(loaded(self._pair).target.device))
            case MeasureFloor():
                from engine.floor import measure_floor

                self._emit(measure_floor(loaded(self._pair)))
            case MeasureNoise():
                self._noise(job.control)

    def _join(self, settings: LoadSettings) -> None:
        settings.check()
        if settings.tp is None or settings.tp == 1:
            return
        self._emit(Loading(stage=f"Starting {settings.tp} processes", done=0, total=1))
        from engine.ranks import join

        self._ranks = join(settings.tp, settings.device)

    def _load(self, command: Load) -> None:
        self._pair = None  # the old pair's memory must be free before the new one is read
        self._pair = load(command.settings, self._emit)
        if command.prefix_cache:
            from engine.shelf import Shelf

            self._pair.session.shelf = Shelf(command.prefix_cache)
        self._emit(with_floor(self._pair))
        for finding in self._pair.findings or ():
            self._emit(finding)

    def _generate(self, command: Generate, control: Control) -> None:
        for event in answer(self._pair, command, control):
            self._emit(event)

    def _race(self, command: Race, control: Control) -> None:
        pair = loaded(self._pair)
        from engine.lead_noise import before_the_end, measured
        from engine.race import race

        events = race(pair, command.messages, command.lanes, control=control)
        self._emit(Racing(messages=command.messages, lanes=command.lanes))
        for told in before_the_end(events, len(command.lanes), measured(pair, control)):
            if not isinstance(told, tuple):
                self._emit(told)
                continue
            lane, event = told
            shown = self._failure(event, command) if isinstance(event, Exception) else event
            self._emit(Lane(t=time.monotonic() - self._job_started, lane=lane, event=shown))

    def _noise(self, control: Control) -> None:
        pair = loaded(self._pair)
        from engine.lead_noise import measured

        for event in measured(pair, control):
            self._emit(event)

    def _check(self, command: Check, control: Control) -> None:
        pair = loaded(self._pair)
        from engine.oracle.check import check

        for event in check(
            pair,
            command.prompt_ids,
            command.choices,
            command.settings,
            sequential=command.sequential,
            control=control,
        ):
            t = time.monotonic() - self._job_started
            self._emit(msgspec.structs.replace(event, t=t))

    def _fail(self, error: Exception, command: AnyCommand | None = None) -> None:
        """Report and log what became of ``command``."""
        self._emit(self._failure(error, command))

    def _failure(self, error: Exception, command: AnyCommand | None) -> Failed:
        """Log ``error``; ends the process where the device is unusable from now on."""
        detail = "".join(traceback.format_exception(error))
        if isinstance(error, EngineError):
            log.error("%s: %s %s\n%s", error.kind, error.message, error.detail, detail)
            detail = f"{error.detail}\n{detail}".lstrip() if self._debug else error.detail
        else:
            log.error("%s", detail)
        if is_device_failure(error):
            os._exit(EXIT_DEVICE)
        seconds = time.monotonic() - self._job_started
        return failed_event(error, detail, self._log_path, seconds, command.name if command else "")

    def _release(self, ranks: Ranks) -> None:
        """Have the others wait for the next command too; without them there is none."""
        try:
            ranks.abort()
        except RuntimeError as error:
            log.error("the other processes are lost: %s", error)
            os._exit(EXIT_RANKS)


def load(settings: LoadSettings, progress: Callable[[Loading], None] | None) -> Pair:
    """``load_pair`` with these settings."""
    from engine.load import load_pair
    from engine.threads import use_threads

    pair = load_pair(
        settings.model,
        settings.drafter,
        device=settings.device,
        dtype=settings.dtype,
        context=settings.context,
        device_map=settings.device_map,
        tp=settings.tp,
        quantize=settings.quantize,
        progress=progress,
    )
    use_threads(settings.threads, pair.info)
    return pair


def loaded(pair: Pair | None) -> Pair:
    """The pair, if there is one.

    Raises:
        EngineError: ``not_loaded``.
    """
    if pair is None:
        raise EngineError("not_loaded", "No model is loaded.", "Load a model first.")
    return pair


def answer(pair: Pair | None, command: Generate, control: Control | None = None) -> Iterator[AnyEvent]:
    """Carry out ``command``; raises, once it is iterated, as ``loaded`` and ``generate`` do."""
    pair = loaded(pair)
    from engine.decode import generate

    if command.fresh:
        pair.session.reset()
    yield from generate(
        pair,
        command.messages,
        command.settings,
        control=control,
        plain=command.plain,
        candidates=command.candidates,
    )


def with_floor(pair: Pair) -> Loaded:
    """What was loaded, on a GPU with the floor of its rounds, unless there is no room to measure it."""
    if pair.target.device.type == "cuda":
        from engine.floor import measure_floor

        try:
            return msgspec.structs.replace(pair.info, floor=measure_floor(pair))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            log.warning("no room to measure the memory's bandwidth: %s", error)
    return pair.info


def _apply(command: AnyCommand, control: Control) -> None:
    match command:
        case Set(settings=settings):
            try:
                control.update(**settings)
            except EngineError as error:  # whoever sent it was told already; the answer goes on
                log.warning("%s %s", error.message, error.hint)
        case Pause():
            control.pause()
        case Resume():
            control.resume()
        case Step():
            control.step()
        case Cancel():
            control.cancel()
        case _:
            log.warning("%s does not apply to an answer", command)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the worker; started by the app, not by hand."""
    parser = argparse.ArgumentParser(prog="python -m engine.worker", description=__doc__)
    parser.add_argument("--log", type=Path, required=True, help="file that takes everything printed")
    parser.add_argument("--parent", type=int, help="process id to end with")
    parser.add_argument("--ranks", type=int, help="follow the first of so many processes, unless this is it")
    parser.add_argument("--debug", action="store_true", help="log more")
    arguments = parser.parse_args(argv)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner decides what Ctrl-C means
    commands_fd, events_fd = take_over_streams(arguments.log)
    if arguments.parent is not None or arguments.ranks is not None:
        die_with(arguments.parent or os.getppid())
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.DEBUG if arguments.debug else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.captureWarnings(True)
    faulthandler.enable()
    log.info("worker %d started, Python %s", os.getpid(), sys.version.split()[0])
    if arguments.ranks is not None and os.environ["RANK"] != "0":
        os.close(commands_fd)
        os.close(events_fd)
        from engine.follower import follow

        follow(arguments.ranks)
    Worker(commands_fd, EventPipe(events_fd).emit, arguments.log, debug=arguments.debug).run()


if __name__ == "__main__":
    main()
