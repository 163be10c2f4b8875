"""Whether the drafter's probabilities are true, as reliability bins."""

from __future__ import annotations

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import Line, Panel, nothing
from ddtree_tui.statistics.report import BinPart, Report

RANGE_CELLS, COUNT_CELLS, SHARE_CELLS = 11, 9, 12


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """A bar per bin, from the most probable nodes down."""
    if not report.calibration:
        return [nothing(report)]
    bar = max(8, width - RANGE_CELLS - COUNT_CELLS - SHARE_CELLS - 2)
    head = "probability".ljust(RANGE_CELLS) + "nodes".rjust(COUNT_CELLS) + "  " + " " * bar
    lines: list[Line] = [[(head + " got".rjust(6) + " said".rjust(6), "label")]]
    return [*lines, *(_bin(part, graphics, bar) for part in reversed(report.calibration))]


def _bin(part: BinPart, graphics: Graphics, bar: int) -> Line:
    name = f"{_edge(part.low)}{graphics.dash}{_edge(part.high)}"
    line: Line = [
        (name.ljust(RANGE_CELLS), "label"),
        (f"{part.nodes:,}".rjust(COUNT_CELLS) + "  ", "quiet"),
    ]
    if part.accepted is None or part.probability is None:
        return line
    before, mark, after = graphics.bar_with_mark(part.accepted, part.probability, bar)
    line += [(before, "bar"), (mark, "mark"), (after, "bar")]
    return [*line, (_share(part.accepted).rjust(6), "number"), (_share(part.probability).rjust(6), "label")]


def _edge(p: float) -> str:
    return f"{p:g}".removeprefix("0") if 0 < p < 1 else f"{p:g}"


def _share(p: float) -> str:
    return f"{p:.0%}" if p >= 0.0995 else f"{p:.1%}"


PANEL = Panel(
    title="Are the drafter's probabilities true?",
    how="bar: the share accepted; ┃ what the drafter said",
    help=(
        "Every node has a path probability: the product of the drafter's probabilities from the root to it. "
        "The rows sort all verified nodes by it. 'Said' is the mean of these probabilities, 'got' the share "
        "of nodes that were accepted. Where the bar ends at the mark, the drafter knows what it knows; a "
        "bar short of the mark means it is too sure. Few nodes make a rough bar. Rounds that the end of the "
        "text cut short do not count."
    ),
    draw=draw,
)
