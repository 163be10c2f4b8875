"""``ddtree-tui race``: one prompt, several ways, one table."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from ddtree_tui import exit_codes
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.escape import escape
from ddtree_tui.inbox import Inbox
from ddtree_tui.labels import text_of
from ddtree_tui.options import RaceOptions
from ddtree_tui.race.comparison import Comparison, diff, explanation
from ddtree_tui.race.course import Lane, Race
from ddtree_tui.race.table import COLUMNS, aligned, comparisons, rows
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import put
from ddtree_tui.status_line import StatusLine
from engine.commands import Cancel, Load, encode_command
from engine.commands import Race as RaceCommand
from engine.events import AnyEvent, Failed, Loaded, Loading

SHARED_TOKENS, OTHER_TOKENS = 12, 30
"""Of a diff: so much of what both texts have, and of what one has."""
STATUS_SECONDS = 0.2


def run_race(options: RaceOptions, engine_command: list[str] | None = None) -> int:
    """Load the pair, race, and report; returns the exit code.

    Raises:
        EngineError: ``engine_start``, ``bad_text``, ``output``.
    """
    command = RaceCommand(messages=options.messages, lanes=options.lanes)
    encode_command(command)  # text that cannot be sent is an error before anything is loaded
    inbox = Inbox()
    engine = EngineProcess(inbox.put, options.log_path, command=engine_command, debug=options.debug)
    with signals_to(inbox.put), engine:
        engine.send(Load(settings=options.load))
        return _Command(options, command, engine, inbox).run()


class _Command:
    """The way from loading to the table."""

    def __init__(
        self,
        options: RaceOptions,
        command: RaceCommand,
        engine: EngineProcess,
        inbox: Inbox,
    ) -> None:
        self.options, self.command, self.engine, self.inbox = options, command, engine, inbox
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
            if isinstance(item, int):
                if self.race is None or self.signal is not None:
                    return exit_codes.interrupted(item)
                self.signal = item
                self.inbox.expect_end()
                self.engine.send(Cancel())
            elif isinstance(item, Loaded):
                self.race = Race(options_prompt(self.options), self.options.lanes, item)
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
        lines = [json.dumps(as_json(race, compared))] if self.options.json else as_text(race, compared)
        put("\n".join(lines) + "\n")
        failures = [lane.answer.failed for lane in race.lanes if lane.answer.failed is not None]
        for failure in failures:
            self.status.error(failure, debug=False)
        if self.signal is not None:
            return exit_codes.interrupted(self.signal)
        if failures:
            return exit_codes.exit_code(failures[0].error)
        defect = any(comparison.kind == "defect" for comparison in compared.values())
        return exit_codes.TEXT_DIFFERS if defect else exit_codes.OK

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


def options_prompt(options: RaceOptions) -> str:
    """The user's last message."""
    return options.messages[-1]["content"]


def as_text(race: Race, compared: dict[int, Comparison]) -> list[str]:
    """The table, and below it every difference."""
    lines = aligned([COLUMNS, *rows(race, compared)])
    for comparison in compared.values():
        if comparison.where is not None and comparison.against is not None:
            lines += ["", explanation(comparison), *diff_lines(comparison.against, comparison.lane)]
    return lines


def diff_lines(before: Lane, after: Lane) -> list[str]:
    """The first difference of two texts: what both have before it, then what each goes on with."""
    pieces = diff(before.ids, after.ids)
    shared = pieces[0].ids if pieces[0].kind == "same" else []
    start = len(shared)
    lines = [f"  {'… ' * (start > SHARED_TOKENS)}{_text(before, shared[-SHARED_TOKENS:])}"] if shared else []
    for sign, lane in (("-", before), ("+", after)):
        rest = lane.ids[start:]
        end = " …" if len(rest) > OTHER_TOKENS else ""
        lines.append(f"{sign} {_text(lane, rest[:OTHER_TOKENS])}{end}  ({lane.name})")
    return lines


def as_json(race: Race, compared: dict[int, Comparison]) -> dict[str, Any]:
    """All numbers and texts."""
    return {
        "prompt": race.prompt,
        "target": race.loaded.target.name,
        "drafter": race.loaded.drafter.name if race.loaded.drafter else None,
        "dtype": race.loaded.target.dtype,
        "device": race.loaded.device,
        "reference": race.reference.number,
        "lanes": [_lane_json(race, lane, compared.get(lane.number)) for lane in race.lanes],
    }


def _lane_json(race: Race, lane: Lane, comparison: Comparison | None) -> dict[str, Any]:
    answer, finished, failed = lane.answer, lane.answer.finished, lane.answer.failed
    told: dict[str, Any] = {
        "name": lane.name,
        "settings": msgspec.to_builtins(lane.settings),
        "reason": finished.reason if finished else None,
        "failed": failed.message if failed else None,
        "tokens_per_second": lane.tokens_per_second,
        "ratio": race.ratio(lane),
        "acceptance_length": answer.statistics.acceptance.mean,
        "rounds": answer.statistics.acceptance.rounds,
        "tokens": len(lane.ids),
        "decode_seconds": lane.decode_seconds,
        "prefill_seconds": lane.prefill_seconds,
        "place": race.places.index(lane) + 1 if lane in race.places else None,
        "output_ids": lane.ids,
        "text": finished.text if finished else None,
        "thinking_text": finished.thinking_text if finished else None,
        "compared": None,
    }
    if comparison is not None:
        told["compared"] = {
            "with": comparison.against.number if comparison.against else None,
            "result": comparison.kind,
            "divergence": asdict(comparison.where) if comparison.where else None,
            "noise": comparison.noise,
            "noise_measured": comparison.measured,
            "explanation": explanation(comparison),
        }
    return told


def _text(lane: Lane, ids: Sequence[int]) -> str:
    return escape(text_of(lane.answer.vocabulary, ids))
