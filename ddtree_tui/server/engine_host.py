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
from engine.commands import AnyCommand, Cancel, Generate, Load, MeasureMemory
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Loading, MemoryUse

RESTARTS = 5
"""So often the engine may die in a row without passing its check, before the server says that it failed."""
LONGEST_PAUSE = 30.0
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
        self.closing = False
        self._usual_seconds = 1.0
        """What an answer takes of the device, the last ones counting most."""
        self._process: EngineProcess | None = None
        self._sender = ThreadPoolExecutor(1, "engine-commands")
        self._life: asyncio.Future[Loaded] = asyncio.Future()
        self._lost: asyncio.Future[Failed] = asyncio.Future()

    async def live(self) -> None:
        """Keep an engine that works, and give it what waits, until cancelled."""
        deaths = 0
        while True:
            try:
                await self._start()
                self.reason = "A first answer is being checked."
                await check_engine(self._decode_alone, self.options.decode, self._require())
                deaths = 0
                self._is(Status.OK, "")
                await self._serve()
            except EngineLostError as lost:
                deaths += 1
                self.restarts += 1
                log.error("engine lost", extra={"facts": {"reason": lost.failed.message, "deaths": deaths}})
                self._is(Status.STARTING if deaths < RESTARTS else Status.FAILED, lost.failed.message)
                self._fail_all(EngineError("engine_died", lost.failed.message, "Try again in a moment."))
                await self._end_process()
                await asyncio.sleep(min(LONGEST_PAUSE, 2.0 ** (deaths - 1) - 1))
            except EngineError as error:  # what was loaded will not do, and would not the next time
                log.error("not serving", extra={"facts": {"reason": error.message, "kind": error.kind}})
                self._is(Status.FAILED, f"{error.message} {error.hint}".strip())
                self._fail_all(EngineError("not_loaded", error.message))
                await self._end_process()
                return

    def submit(self, run: Run) -> None:
        """Have a request wait for its turn.

        Raises:
            QueueFullError: if too many wait already.
        """
        self.queue.put(run.client, run)

    def leave(self, run: Run) -> None:
        """Nobody waits for this answer any more: take it out of the line, or end it before its next round."""
        if self.queue.remove(run.client, run) or run.done.is_set():
            return
        if run is self.running:
            self._post(Cancel())

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
        self._life, self._lost = loop.create_future(), loop.create_future()
        self.loaded = None
        take = _in_loop(loop, partial(self._take, self._lost))
        options = self.options
        process = EngineProcess(
            take, options.log_path, command=self._command, debug=options.debug, ranks=options.load.tp
        )
        self._process = process
        process.start()  # in this thread, the main one: the kernel ends the engine together with it
        self._post(Load(settings=options.load))
        self.loaded = await self._or_lost(self._life)
        log.info("engine loaded", extra={"facts": {"pid": process.pid, "seconds": self.loaded.seconds}})

    async def _serve(self) -> None:
        while True:
            await self._or_lost(asyncio.ensure_future(self.queue.filled()))
            if self.queue:
                await self._carry_out(self.queue.take())

    async def _decode_alone(self, command: Generate) -> list[AnyEvent]:
        """Have the engine answer before anybody is served; all events of the answer.

        Raises:
            EngineLostError: if it dies of that.
        """
        run = Run(f"check-{time.monotonic_ns()}", command, "")
        await self._carry_out(run)
        return [event async for event in run.events()]

    async def _carry_out(self, run: Run) -> None:
        self.running = run
        run.started = run.heard = time.monotonic()
        self.watch.begin(run)
        self._post(run.command)
        self._post(MeasureMemory())
        try:
            await self._or_lost(asyncio.ensure_future(self._until_done(run)))
        except EngineLostError as lost:
            run.take(lost.failed)
            raise
        finally:
            self.running = None
            took = time.monotonic() - run.started
            self._usual_seconds += (took - self._usual_seconds) / 8

    async def _until_done(self, run: Run) -> None:
        """Wait for the end of the answer, and see to it that there is one."""
        limits = self.options.limits
        deadline = run.received + limits.request_seconds
        ending = min(CANCEL_SECONDS, limits.idle_seconds)
        while not run.done.is_set():
            now = time.monotonic()
            silent = now - run.heard
            if not run.over and now >= deadline:
                run.fail(EngineError("timeout", f"The answer took longer than {limits.request_seconds:g} s."))
                self._post(Cancel())
            if silent >= limits.idle_seconds and not run.over:
                message = f"The engine said nothing for {limits.idle_seconds:g} s."
                run.fail(EngineError("timeout", message))
                self._post(Cancel())
            if silent >= limits.idle_seconds + ending:
                self._give_up(f"The engine did not answer for {silent:.0f} s and was ended.")
                return
            patience = limits.idle_seconds + (ending if run.over else 0.0) - silent
            if not run.over:
                patience = min(patience, deadline - now)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.done.wait(), max(patience, 0.01))

    def _take(self, lost: asyncio.Future[Failed], event: AnyEvent) -> None:
        """What the engine says; ``lost`` tells which engine, as an old one may have words under way."""
        if lost is not self._lost:
            return
        run = self.running
        match event:
            case MemoryUse():
                self.metrics.memory(event)
                if run is not None:
                    run.checks_end()
                return
            case Failed(error="engine_died"):
                self._lose(event)
            case Failed() if run is None and not self._life.done():
                self._life.set_exception(EngineError(event.error, event.message, event.hint, event.detail))
            case Loaded():
                self._life.set_result(event)
            case Loading():
                self.reason = f"{event.stage} ({event.done} of {event.total})."
            case _ if run is not None:
                self.metrics.event(event)
                run.take(event)
        self.watch.take(event, run)

    def _lose(self, failed: Failed) -> None:
        if not self._lost.done():
            self._lost.set_result(failed)

    def _give_up(self, message: str) -> None:
        self._lose(Failed(error="engine_died", message=message))

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

    def _is(self, status: Status, reason: str) -> None:
        if status is not self.status:
            log.info("status", extra={"facts": {"status": status.value, "reason": reason}})
        self.status, self.reason = status, reason
        self.metrics.status(status.value)


def _in_loop(loop: asyncio.AbstractEventLoop, take: Callable[[AnyEvent], None]) -> Callable[[AnyEvent], None]:
    """Call ``take`` in the loop's thread, whichever thread an event comes from."""

    def hand_over(event: AnyEvent) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(take, event)

    return hand_over
