"""The engine's process in the server: loaded, checked, given one request at a time, restarted."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import Any, TypeVar

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.server.fair_queue import FairQueue
from ddtree_tui.server.metrics import Metrics
from ddtree_tui.server.options import ServeOptions
from ddtree_tui.server.run import Run
from ddtree_tui.server.self_check import check_engine
from ddtree_tui.server.watch import Watch
from engine.commands import AnyCommand, Cancel, Generate, Load, MeasureMemory, encode_command
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Loading, MemoryUse
from engine.failures import as_error

RESTARTS = 5
"""So often the engine may fail in a row without passing its check, before the server says that it failed. It
goes on trying."""
LONGEST_PAUSE = 30.0
CHECK_SECONDS = 900.0
"""How long the engine may be silent in its first answers at least: it compiles what it decodes with."""
MAX_UNREAD = 2000
"""So many events may wait for a client that does not read what it is sent."""
CANCEL_SECONDS = 10.0
"""How long the engine may take to end an answer that it was told to end after it was silent too long, and not
longer than it may be silent."""

Result = TypeVar("Result")

log = logging.getLogger("ddtree_tui.server")


class Status(Enum):
    """What ``/health`` says."""

    STARTING = "starting"
    OK = "ok"
    FAILED = "failed"


class EngineLostError(Exception):
    """The engine's process ended, or was ended because it did not answer."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class EngineHost:
    """Everything but ``EngineProcess``'s reader runs in the event loop's thread.

    Attributes:
        status, reason: what ``/health`` says; the reason is of what is not ok.
        loaded: what the engine holds, once it does.
        queue: the requests that wait.
        running: the one that decodes.
        restarts: how often the engine was started again.
        given_up: whether no engine is started any more.
    """

    def __init__(
        self, options: ServeOptions, metrics: Metrics, watch: Watch, command: Sequence[str] | None = None
    ) -> None:
        self.options, self.metrics, self.watch = options, metrics, watch
        self._command = command
        self.status = Status.STARTING
        self.reason = "The engine is being started."
        self.loaded: Loaded | None = None
        self.queue: FairQueue[Run] = FairQueue(options.limits.queue)
        self.running: Run | None = None
        self.restarts = 0
        self.given_up = False
        self.closing = False
        self._usual_seconds = 1.0
        """What an answer takes of the device, the last ones counting most."""
        self._failure = ""
        """Why the engine before this one is gone, until this one works."""
        self._process: EngineProcess | None = None
        self._sender = ThreadPoolExecutor(1, "engine-commands")
        self._loading: asyncio.Future[Loaded] = asyncio.Future()
        self._lost: asyncio.Future[Failed] = asyncio.Future()

    async def live(self) -> None:
        """Keep an engine that works, and give it what waits, until cancelled."""
        try:
            await self._live()
        except Exception:
            log.exception("host failed")
            self.given_up = True
            self._is(Status.FAILED, "The server failed unexpectedly.")
            self._fail_all(EngineError("internal", self.reason))
            await self._end_process()

    async def _live(self) -> None:
        failures = 0
        worked = False
        while True:
            try:
                await self._start()
                self._tell("A first answer is being checked.")
                await check_engine(self._decode_alone, self.options.decode, self._require())
                failures, worked, self._failure = 0, True, ""
                self._is(Status.OK, "")
                await self._serve()
            except EngineLostError as lost:
                self._failure = lost.failed.message
                log.error("engine lost", extra={"facts": {"reason": self._failure, "failures": failures + 1}})
                self._fail_all(EngineError("engine_died", self._failure))
                self.watch.take(lost.failed, None)
            except EngineError as error:
                self._failure = f"{error.message} {error.hint}".strip()
                log.error("not serving", extra={"facts": {"reason": error.message, "kind": error.kind}})
                self._fail_all(EngineError("not_loaded", error.message))
                if not worked:  # what was asked for will not do, and would not the next time
                    self.given_up = True
                    self._is(Status.FAILED, self._failure)
                    await self._end_process()
                    return
            failures += 1
            self.restarts += 1
            pause = pause_after(failures)
            again = f" The next try is in {pause:.0f} s." if pause else ""
            self._is(Status.STARTING if failures < RESTARTS else Status.FAILED, self._failure + again)
            await self._end_process()
            await asyncio.sleep(pause)

    def submit(self, run: Run) -> None:
        """Have a request wait for its turn, but not for ever. ``leave`` must follow, sooner or later.

        Raises:
            QueueFullError: if too many wait already.
            EngineError: ``bad_text`` for what cannot be sent to the engine.
        """
        encode_command(run.command)
        # The next one does not wait, or only for the memory report behind an answer that was told whole.
        free = self.running is None or self.running.ended
        self.queue.put(run.client, run, spare=int(free))
        run.timer = asyncio.get_running_loop().call_later(
            self.options.limits.request_seconds, self._expire, run
        )

    def leave(self, run: Run) -> None:
        """Nobody waits for this answer any more: take it out of the line, or end it before its next round."""
        if run.timer is not None:
            run.timer.cancel()
        if not self.queue.remove(run.client, run) and run is self.running and not run.ended:
            self._post(Cancel())

    def _expire(self, run: Run) -> None:
        self._cut(run, f"The answer took longer than {self.options.limits.request_seconds:g} s.")

    def _cut(self, run: Run, why: str) -> None:
        """End an answer before its time, and have its reader told."""
        run.fail(EngineError("timeout", why))
        self.leave(run)

    def expected_wait(self) -> int:
        """Whole seconds until one more request could start, as far as one can tell."""
        return max(1, math.ceil(self._usual_seconds * len(self.queue)))

    async def close(self, grace: float) -> None:
        """Take nothing new, let the answer under way end within ``grace`` seconds, then end the engine."""
        self.closing = True
        shutting_down = EngineError("shutting_down", "The server is shutting down.")
        for waiting in self.queue.empty():
            waiting.fail(shutting_down)
        if (run := self.running) is not None and self.status is Status.OK:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.done.wait(), grace)
            run.fail(shutting_down)  # says nothing if it has ended
            self._post(Cancel())
        self.watch.end()

    async def end(self) -> None:
        """End the engine's process."""
        await self._end_process()
        self._sender.shutdown(wait=False)

    # The engine's life

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._loading, self._lost = loop.create_future(), loop.create_future()
        self.loaded = None
        take = _in_loop(loop, partial(self._take, self._lost))
        options = self.options
        process = EngineProcess(
            take, options.log_path, command=self._command, debug=options.debug, ranks=options.load.tp
        )
        self._process = process
        process.start()  # in this thread, the main one: the kernel ends the engine together with it
        self._post(Load(settings=options.load, prefix_cache=options.limits.prefix_bytes))
        self.loaded = await self._or_lost(self._loading)
        log.info("engine loaded", extra={"facts": {"pid": process.pid, "seconds": self.loaded.seconds}})

    async def _serve(self) -> None:
        while True:
            await self._or_lost(asyncio.ensure_future(self.queue.filled()))
            if self.queue:
                await self._carry_out(self.queue.take(), self.options.limits.idle_seconds)

    async def _decode_alone(self, command: Generate) -> list[AnyEvent]:
        """Have the engine answer before anybody is served; all events of the answer.

        Raises:
            EngineLostError: if it dies of that.
        """
        run = Run(f"check-{time.monotonic_ns()}", command, "")
        await self._carry_out(run, max(CHECK_SECONDS, self.options.limits.idle_seconds))
        return [event async for event in run.events()]

    async def _carry_out(self, run: Run, idle: float) -> None:
        """Have the engine answer, which may be silent for ``idle`` seconds at a time.

        Raises:
            EngineLostError: if it dies of that, or is ended for its silence.
        """
        self.running = run
        run.started = run.heard = time.monotonic()
        self.watch.begin(run)
        self._post(run.command)
        self._post(MeasureMemory())
        try:
            await self._or_lost(asyncio.ensure_future(self._until_done(run, idle)))
        except EngineLostError as lost:
            if not run.ended:  # else it went between this answer and the next
                run.take(lost.failed)
                self.watch.take(lost.failed, run)
            raise
        finally:
            self.running = None
            run.done.set()  # also where the engine went: whoever waits for the device need not
            took = time.monotonic() - run.started
            self._usual_seconds += (took - self._usual_seconds) / 8

    async def _until_done(self, run: Run, idle: float) -> None:
        """Wait for the end of the answer. An engine that is silent too long is told to end it, then lost."""
        told = False
        while not run.done.is_set():
            silent = time.monotonic() - run.heard
            if silent >= idle + min(idle, CANCEL_SECONDS):
                message = f"The engine said nothing for {silent:.0f} s and was ended."
                self._lose(Failed(error="engine_died", message=message))
                return
            if silent >= idle and not told:
                told = True
                self._cut(run, f"The engine said nothing for {idle:g} s.")
            patience = idle + (min(idle, CANCEL_SECONDS) if told else 0.0) - silent
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.done.wait(), max(patience, 0.01))

    def _take(self, lost: asyncio.Future[Failed], event: AnyEvent) -> None:
        """What the engine says; ``lost`` tells which, as one that was given up may have words under way."""
        if lost is not self._lost or lost.done():
            return
        run = self.running
        if run is not None:
            run.heard = time.monotonic()
        match event:
            case MemoryUse() | Failed(command="measurememory"):
                self._measured(event)
                return
            case Failed(error="engine_died"):
                self._lose(event)
                return
            case Failed(error="bad_event"):  # goes on decoding, so that the next answer would get its rounds
                self._lose(Failed(error="engine_died", message=event.message, detail=event.detail))
                return
            case Failed() if run is None and not self._loading.done():
                self._loading.set_exception(as_error(event))
            case Loaded():
                self._loading.set_result(event)
            case Loading():
                self._tell(f"{event.stage} ({event.done} of {event.total}).")
            case _ if run is not None:
                if self.status is Status.OK:
                    self.metrics.event(event)
                run.take(event)
                if run.unread > MAX_UNREAD and not run.over and self.status is Status.OK:
                    self._cut(run, "The client does not read its answer.")
        self.watch.take(event, run)

    def _measured(self, event: MemoryUse | Failed) -> None:
        """What was asked for right behind the answer under way, of which nothing more comes therefore."""
        if isinstance(event, MemoryUse):
            self.metrics.memory(event)
        else:
            log.warning("memory not measured", extra={"facts": {"reason": event.message}})
        if self.running is not None:
            self.running.measured()

    def _lose(self, failed: Failed) -> None:
        if not self._lost.done():
            self._lost.set_result(failed)

    async def _or_lost(self, future: asyncio.Future[Result]) -> Result:
        """The result of ``future``.

        Raises:
            EngineLostError: if the engine goes first.
        """
        try:
            both: set[asyncio.Future[Any]] = {future, self._lost}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._lost.done():
                raise EngineLostError(self._lost.result())
            return future.result()
        finally:
            if not future.done():
                future.cancel()

    def _fail_all(self, error: EngineError) -> None:
        for run in self.queue.empty():
            run.fail(error)

    def _post(self, command: AnyCommand) -> None:
        """Send a command, in order, without waiting for a pipe that is full."""
        if self._process is not None:
            self._sender.submit(self._process.send, command)

    async def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await asyncio.to_thread(process.stop)

    def _require(self) -> Loaded:
        assert self.loaded is not None
        return self.loaded

    def _tell(self, doing: str) -> None:
        """What is done until there is an engine that works, and why there is none."""
        self.reason = f"{doing} The one before: {self._failure}" if self._failure else doing

    def _is(self, status: Status, reason: str) -> None:
        if status is not self.status:
            log.info("status", extra={"facts": {"status": status.value, "reason": reason}})
        self.status, self.reason = status, reason
        self.metrics.status(status.value)


def pause_after(deaths: int) -> float:
    """Seconds until the engine is started again: none at first, about twice as many each time."""
    doublings = min(deaths - 1, 10)  # an engine that dies for hours overflows a float otherwise
    return min(LONGEST_PAUSE, 2.0**doublings - 1)


def _in_loop(loop: asyncio.AbstractEventLoop, take: Callable[[AnyEvent], None]) -> Callable[[AnyEvent], None]:
    """Call ``take`` in the loop's thread, whichever thread an event comes from."""

    def hand_over(event: AnyEvent) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(take, event)

    return hand_over
