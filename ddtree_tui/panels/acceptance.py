"""How many tokens rounds committed, and how many the drafter expected."""

from __future__ import annotations

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import NOT_SAID, NOTHING_YET, Line, Panel, numbers, wrapped
from ddtree_tui.plural import counted
from ddtree_tui.statistics.report import Report
from ddtree_tui.unknown import UNKNOWN

BIN_CELLS = 3
LEAST_BINS = 8


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """Numbers, then a column per acceptance length; the newest round's length is marked."""
    part = report.acceptance
    if not report.rounds:
        return [NOTHING_YET]
    last = UNKNOWN if part.last is None else str(part.last)
    first = numbers([("last", last), (f"mean of {counted(report.rounds, 'round')}", f"{part.mean:.2f}")])
    lines = [first]
    if report.expected is not None:
        ratio = report.expected.realised / report.expected.expected
        expected = [
            ("drafter expected", f"{report.expected.expected:.2f}"),
            ("got", f"{report.expected.realised:.2f} ({ratio:.0%})"),
        ]
        of = f" in {counted(report.expected.rounds, 'round')}", "label"
        lines = wrapped([first, [*numbers(expected), of]], width)
    bins = min(max(LEAST_BINS, len(part.histogram) - 1), max(1, width // BIN_CELLS))
    counts = [float(n) for n in part.histogram[1 : bins + 1]]
    counts += [0.0] * (bins - len(counts))
    if not any(part.histogram):
        return [*lines, NOT_SAID]
    lines += [_marked(row, part.last, "bar") for row in graphics.columns(counts, BIN_CELLS)]
    axis = "".join(str(length).ljust(BIN_CELLS) for length in range(1, bins + 1))
    return [*lines, _marked(axis, part.last, "quiet")]


def _marked(text: str, length: int | None, role: str) -> Line:
    if length is None:
        return [(text, role)]
    start = (length - 1) * BIN_CELLS
    return [
        (text[:start], role),
        (text[start : start + BIN_CELLS], "shown"),
        (text[start + BIN_CELLS :], role),
    ]


PANEL = Panel(
    title="Tokens a round",
    how="rounds that committed 1, 2, 3 … tokens; last one marked",
    help=(
        "The acceptance length of a round is the number of tokens it added to the text: the accepted draft "
        "nodes and the target's own token after them. The first token of an answer comes with the prompt and "
        "counts in no round. 'Drafter expected' is the sum of the path probabilities of all nodes of the "
        "tree, plus one: what the mean would be if the drafter's probabilities were true. Got less: the "
        "drafter is too sure of itself. Both are means of the same rounds: those that the end of the "
        "text cut short do not count."
    ),
    draw=draw,
)
