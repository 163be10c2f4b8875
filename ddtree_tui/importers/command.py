"""``ddtree-tui import``: another system's record of a run as a trace."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ddtree_tui import exit_codes
from ddtree_tui.escape import escape
from ddtree_tui.export.formats import write_new
from ddtree_tui.importers.answer import events_of
from ddtree_tui.importers.read import read_import
from ddtree_tui.options import ImportOptions
from ddtree_tui.plural import counted
from ddtree_tui.standard_output import put_bytes
from engine.event_lines import encode_event
from engine.events import UNKNOWN_ID, AnyEvent, Finished, Prefilled, Round, Tokens

STANDARD_OUTPUT = Path("-")


def run_import(options: ImportOptions) -> int:
    """Write the trace, say what is in it and what its source does not tell; returns the exit code.

    Raises:
        EngineError: ``import`` for a file that cannot be read; ``export``, ``output`` if the trace cannot be
            written.
    """
    imported = read_import(options.file, options.source)
    seen = Seen()
    lines = (encode_event(event) + b"\n" for event in seen.watched(events_of(imported)))
    out = options.out if options.out is not None else Path(f"{options.file.stem}.jsonl")
    if out == STANDARD_OUTPUT:
        put_bytes(list(lines))  # all of it is checked before any of it is written
    else:
        write_new(out, lines)
    wrote = "" if out == STANDARD_OUTPUT else f"Wrote {escape(str(out))}: "
    print(f"{wrote}{seen.said(imported.system)}", file=sys.stderr)
    if missing := seen.missing():
        print(f"Unknown, because the file does not say: {', '.join(missing)}.", file=sys.stderr)
    if out != STANDARD_OUTPUT:
        print(f"Open it with: ddtree-tui replay {escape(str(out))}", file=sys.stderr)
    return exit_codes.OK


class Seen:
    """What went by: how much, and what of it is unknown."""

    def __init__(self) -> None:
        self._answers = self._rounds = 0
        self._answers_rounds = 0  # of the answer that goes by
        self._known: set[str] = set()
        self._missing: set[str] = set()

    def watched(self, events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
        """The events as they come."""
        spelled = False
        for event in events:
            match event:
                case Tokens():
                    spelled = True
                case Prefilled():
                    self._answers += 1
                    self._answers_rounds = 0
                    self._note("the prompt", bool(event.messages or event.prompt_text))
                case Round():
                    self._answers_rounds += 1
                    self._round(event)
                case Finished():
                    self._rounds += self._answers_rounds or event.rounds
                    if event.rounds:
                        self._note("what each round did: only totals", self._answers_rounds > 0)
                    self._note("the text", bool(event.text) or spelled)
            yield event

    def _round(self, event: Round) -> None:
        if event.mode != "ar":
            self._note("the draft trees", event.tree_known)
        if event.nodes.ids:
            self._note("the drafted tokens", event.nodes.ids.count(UNKNOWN_ID) == 0)
            self._note("the drafter's probabilities", bool(event.nodes.logprobs))
        self._note("the target's probabilities", bool(event.target.logprobs))
        self._note("which tokens were committed", UNKNOWN_ID not in event.committed_ids)
        self._note("times of rounds", event.ms.total > 0)
        self._note("times of stages", event.ms.divided)

    def _note(self, what: str, known: bool) -> None:
        (self._known if known else self._missing).add(what)

    def said(self, system: str) -> str:
        """How much there was, in a sentence."""
        return f"{counted(self._answers, 'answer')} of {system}, {counted(self._rounds, 'round')}."

    def missing(self) -> list[str]:
        """What is unknown; in some answers only where it is known in others."""
        return [f"{what} (of some)" if what in self._known else what for what in sorted(self._missing)]
