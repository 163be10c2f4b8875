"""What the last nodes of the budget bought."""

from __future__ import annotations

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import Line, Panel, nothing, wrapped
from ddtree_tui.statistics.report import LAST_NODES, MarginalPart, Report

AXIS_CELLS = 6
NONE: Line = [("only rounds in mode tree have a budget", "quiet")]


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """Tokens a round over the budget, then what smaller budgets would have cost."""
    part = report.marginal
    if part is None:
        return [NONE if report.rounds and not report.unweighed else nothing(report)]
    lines = [_headline(part)] if part.smaller and part.smaller[0].budget == part.budget - LAST_NODES else []
    lines += _curve(part, graphics, width)
    changes: list[Line] = [
        [
            ("at " if place else "tokens a round at ", "label"),
            (str(less.budget), "number"),
            ("" if place else " nodes", "label"),
            (f" {_signed(less.change)}", "number"),
        ]
        for place, less in enumerate(part.smaller)
    ]
    return [*lines, *wrapped(changes, width)]


def _headline(part: MarginalPart) -> Line:
    bought = part.tokens_per_round - part.smaller[0].tokens_per_round
    return [
        (f"last {LAST_NODES} of {part.budget} nodes: ", "label"),
        (f"{bought:.2f}", "number"),
        (" tokens a round ", "label"),
        (f"({bought / part.tokens_per_round:.1%})", "label"),
    ]


def _curve(part: MarginalPart, graphics: Graphics, width: int) -> list[Line]:
    cells = max(8, width - AXIS_CELLS)
    lines: list[Line] = []
    for row, text in enumerate(graphics.curve(part.curve, cells)):
        edge = {0: f"{part.tokens_per_round:.2f}", graphics.rows - 1: f"{part.curve[0]:.2f}"}.get(row, "")
        lines.append([(edge.rjust(AXIS_CELLS - 1) + " ", "label"), (text, "bar")])
    middle, end = str(part.budget // 2), f"{part.budget} nodes"
    left = cells // 2 - len(middle)
    axis = "0".ljust(left) + middle
    return [*lines, [(" " * AXIS_CELLS + axis + end.rjust(cells - len(axis)), "quiet")]]


def _signed(change: float) -> str:
    text = f"{change:+.2f}"
    return text if float(text) else "0.00"


PANEL = Panel(
    title="What the last nodes bought",
    how="tokens a round, had no tree had more nodes than that",
    help=(
        "Nodes join the tree best-first, so the tree of a smaller budget is the first nodes of the larger "
        "one, and what each round would have committed with it is known exactly: the accepted path up to "
        "the first node beyond it, and the target's token there. 'At 48 nodes -0.08' means that with 48 "
        "nodes these same rounds would have committed 0.08 tokens less on average. Whether fewer nodes are "
        "faster depends on what verifying them costs; a run with that budget would also begin its rounds "
        "at other places of the text."
    ),
    draw=draw,
)
