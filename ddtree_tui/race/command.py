"""``ddtree-tui race``: one prompt, several ways, one table."""

from __future__ import annotations

import contextlib
import time

from ddtree_tui import exit_codes
from ddtree_tui.conversation import last_prompt
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.inbox import Inbox
from ddtree_tui.options import RaceOptions
from ddtree_tui.race.course import Race
from ddtree_tui.race.report import race_text
from ddtree_tui.race.table import comparisons
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import put
from ddtree_tui.status_line import StatusLine
from engine.commands import Cancel, Load, encode_command
from engine.commands import Race as RaceCommand
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Loading
from engine.trace import TraceWriter

STATUS_SECONDS = 0.2


def run_race(options: RaceOptions, engine_command: list[str] | None = None) -> int:
    """Load the pair, race, and report; returns the exit code.

    Raises:
        EngineError: ``trace_write`` if the trace file cannot be made, ``engine_start``, ``bad_text``,
            ``output``.
    """
    command = RaceCommand(messages=options.messages, lanes=options.lanes)
    encode_command(command)  # text that cannot be sent is an error before anything is loaded
    inbox = Inbox()
    engine = EngineProcess(inbox.put, options.log_path, command=engine_command, debug=options.debug)
    with contextlib.ExitStack() as stack:
        trace = stack.enter_context(TraceWriter(options.trace)) if options.trace else None
        stack.enter_context(signals_to(inbox.put))
        stack.enter_context(engine)
        engine.send(Load(settings=options.load))
        return _Command(options, command, engine, inbox, trace).run()


class _Command:
    """The way from loading to the table."""

    def __init__(
        self,
        options: RaceOptions,
        command: RaceCommand,
        engine: EngineProcess,
        inbox: Inbox,
        trace: TraceWriter | None,
    ) -> None:
        self.options, self.command, self.engine, self.inbox = options, command, engine, inbox
        self.trace = trace
        self.trace_failed = False
        self.race: Race | None = None
        self.signal: int | None = None
        self.status = StatusLine()
        self._told_at = 0.0

    def run(self) -> int:
        while self.race is None or not self.race.over:
            item = self.inbox.get()
            if item is None:
                self.status.say("The engine did not stop in time and was ended.")
                break
            if not isinstance(item, int):
                self._record(item)
            if isinstance(item, int):
                if self.race is None or self.signal is not None:
                    return exit_codes.interrupted(item)
                self.signal = item
                self.inbox.expect_end()
                self.engine.send(Cancel())
            elif isinstance(item, Loaded):
                self.race = Race(last_prompt(self.options.messages) or "", self.options.lanes, item)
                self.engine.send(self.command)
            elif self.race is not None:
                self.race.apply(item)
            elif isinstance(item, Failed):
                return self._failed(item, loading=True)
            self._tell(item)
        assert self.race is not None
        if self.race.failed is not None:
            return self._failed(self.race.failed)
        return self._report(self.race)

    def _report(self, race: Race) -> int:
        self.status.clear()
        compared = comparisons(race)
        put(race_text(race, as_json=self.options.json))
        failures = [lane.answer.failed for lane in race.lanes if lane.answer.failed is not None]
        for failure in failures:
            self.status.error(failure, debug=False)
        if self.signal is not None:
            return exit_codes.interrupted(self.signal)
        if failures:
            return exit_codes.exit_code(failures[0].error)
        if self.trace_failed:
            return exit_codes.TRACE_FAILED
        defect = any(comparison.kind == "defect" for comparison in compared.values())
        return exit_codes.TEXT_DIFFERS if defect else exit_codes.OK

    def _record(self, event: AnyEvent) -> None:
        if self.trace is not None:
            try:
                self.trace.write(event)
            except EngineError as error:
                self.status.say(f"{error.message} {error.hint}")
                self.trace_failed = True

    def _failed(self, event: Failed, *, loading: bool = False) -> int:
        self.status.error(event, self.options.debug)
        return exit_codes.exit_code(event.error, loading=loading)

    def _tell(self, item: AnyEvent | int) -> None:
        """One line on how it goes, on a terminal."""
        if isinstance(item, Loading):
            self.status.loading(item)
        elif self.race is not None and time.monotonic() >= self._told_at + STATUS_SECONDS:
            self._told_at = time.monotonic()
            lanes = "   ".join(f"{lane.name}: {len(lane.ids)}" for lane in self.race.lanes)
            doing = "   measuring rounding" if self.race.measuring else ""
            self.status.show(f"{lanes} tokens{doing}")
