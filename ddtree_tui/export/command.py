"""``ddtree-tui export``: a recorded run, or a round of it, as a file for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ddtree_tui import exit_codes
from ddtree_tui.export.formats import exported_round, exported_run, write_new
from ddtree_tui.export.run_events import jsonl
from ddtree_tui.kept import Kept
from ddtree_tui.options import ExportOptions
from ddtree_tui.session import Session
from ddtree_tui.standard_output import put_bytes
from engine.errors import EngineError
from engine.events import AnyEvent, Lane, Loaded, Round, Tokens
from engine.recording import Recording, own
from engine.trace import in_blocks, read_trace


def run_export(options: ExportOptions) -> int:
    """Export, and return the exit code.

    Raises:
        EngineError: as ``read_trace``; ``usage`` if there is no such round; ``export`` if the file cannot be
            written, ``output`` if standard output cannot.
    """
    pieces = _exported(options)
    if options.output is not None:
        write_new(options.output, pieces)
    else:
        put_bytes(pieces)
    return exit_codes.OK


def _exported(options: ExportOptions) -> Iterable[bytes]:
    if not options.format.of_round:
        kept = Kept.of(read_trace(options.trace).events)
        if (
            options.format.name == "jsonl"
            and options.number is None
            and kept.races
            and not kept.session.answers
        ):
            return jsonl(kept.races[-1].events)
        answers = kept.answers
        number = len(answers) if options.number is None else options.number
        return exported_run(options.format.name, answers[_index(number, len(answers), "answer")])
    session = Session()
    assert options.number is not None
    events, round_ = _round_alone(options.trace, options.number) or _round_of_all(
        options.trace, options.number
    )
    for event in events:
        if isinstance(event, Loaded | Tokens):  # ids mean something else behind another target
            session.apply(event)
    return exported_round(options.format.name, session.vocabulary, round_)


def _round_alone(trace: Path, number: int) -> tuple[Sequence[AnyEvent], Round] | None:
    """From a recording in blocks, only the block of the round is read."""
    if not in_blocks(trace):
        return None
    try:
        with Recording.open(trace) as recording:
            return recording.round(_index(number, recording.rounds, "round"))
    except OSError:
        return None  # read_trace says what is wrong


def _round_of_all(trace: Path, number: int) -> tuple[Sequence[AnyEvent], Round]:
    events = read_trace(trace).events
    place = events.rounds[_index(number, len(events.rounds), "round")]
    wanted = own(events[place])
    assert isinstance(wanted, Round)
    before = [own(events[i]) for i in range(place) if events.kinds[i] in (Loaded, Tokens, Lane)]
    return before, wanted


def _index(number: int, count: int, what: str) -> int:
    if not count:
        raise EngineError("usage", f"The trace has no {what}s to export.", "Choose another trace.")
    if not 1 <= number <= count:
        raise EngineError(
            "usage",
            f"There is no {what} {number}: the trace has {what}s 1 to {count}.",
            "Choose another one.",
        )
    return number - 1
