"""What the oracle found of an answer, as lines for the screen."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ddtree_tui.answer import Answer
from ddtree_tui.check.text import details, divergence_text, headline
from ddtree_tui.comparison_lane import LANE, LANE_MEANINGS, Compared
from ddtree_tui.escape import escape
from ddtree_tui.graphics import Graphics
from ddtree_tui.rows import Row, wrapped
from engine.events import Checked

LISTED = 12
PLOT_ROWS = 5
SMALLEST = 1e-9
"""Errors below are drawn like this one."""
BAD, GOOD, TEXT, QUIET, PLOT = "bad", "good", "text", "quiet", "plot"

TO_COMPARE = "To compare it: ddtree-tui check FILE, which Esc, then x exports (JSONL)"


def rows_of(answer: Answer, width: int, *, live: bool, plain: bool) -> list[Row]:
    """All lines.

    Args:
        live: there is an engine that can compare.
        plain: draw with ASCII alone.
    """
    return [*_rows(answer, max(24, width), live=live, plain=plain)]


def _rows(answer: Answer, width: int, *, live: bool, plain: bool) -> Iterator[Row]:
    if (progress := answer.checking) is not None:
        yield Row(escape(f"{progress.stage}: {progress.done} of {progress.total} ..."), TEXT)
        return
    checked = answer.checked
    if checked is None:
        yield from wrapped("This answer was not compared with the target alone.", TEXT, width)
        how = "c compares it." if live else TO_COMPARE
        yield from wrapped(how if not live or answer.over else "Wait for its end.", QUIET, width)
        return
    good = checked.verdict in ("identical", "ties")
    yield from wrapped(headline(checked), GOOD if good else BAD, width)
    yield Row("", TEXT)
    for sentence in details(checked, lambda token_id: answer.labels(token_id)[0]):
        yield from wrapped(sentence, TEXT, width)
    yield from _others(answer, checked, width)
    yield from _drift(checked, width, plain=plain)
    yield Row("", TEXT)
    yield Row("under the timeline", QUIET)
    for state in Compared:
        yield from wrapped(f"{LANE[state]} {LANE_MEANINGS[state]}", QUIET, width)


def _others(answer: Answer, checked: Checked, width: int) -> Iterator[Row]:
    """The divergences that are not the first."""
    others = [one for one in answer.divergences if one != checked.first]
    if others:
        yield Row("", TEXT)
        yield Row(f"{checked.defects + checked.ties} places in all", QUIET)
        for one in others[:LISTED]:
            yield from wrapped(divergence_text(one, lambda token_id: answer.labels(token_id)[0]), TEXT, width)
        if checked.defects + checked.ties > LISTED + 1:
            yield Row("...", QUIET)


def _drift(checked: Checked, width: int, *, plain: bool) -> Iterator[Row]:
    """The recurrent state's error over rounds, its decimal logarithm as a curve."""
    if len(checked.drift) < 2:
        return
    values = [math.log10(max(SMALLEST, error)) for _, error in checked.drift]
    if max(values) - min(values) < 1:  # no noise enlarged: a decade at least
        middle = (max(values) + min(values)) / 2
        low, high = middle - 0.5, middle + 0.5
    else:
        low, high = min(values), max(values)
    graphics = Graphics(plain=plain, rows=PLOT_ROWS)
    labels = [f"{10**value:.1g}" for value in (high, low)]
    margin = max(map(len, labels))
    across = max(4, min(len(values) * 2, width - margin - 1))
    # The ends of the scale are drawn in front, and cut off again with the way from there to the first value.
    ahead = [low, high, values[0], values[0]]
    lines = graphics.curve([*ahead, *_spread(values, across)], across + len(ahead))
    yield Row("", TEXT)
    yield from wrapped("relative error of the recurrent state over rounds", QUIET, width)
    for number, line in enumerate(lines):
        label = labels[0] if number == 0 else labels[1] if number == len(lines) - 1 else ""
        yield Row(f"{label:>{margin}} {line[len(ahead) :]}".rstrip(), PLOT)
    first, last = (str(checked.drift[place][0] + 1) for place in (0, -1))
    yield Row(" " * (margin + 1) + first + last.rjust(across - len(first)), QUIET)


def _spread(values: list[float], cells: int) -> list[float]:
    """A value for every cell."""
    return [values[round(cell * (len(values) - 1) / max(1, cells - 1))] for cell in range(cells)]
