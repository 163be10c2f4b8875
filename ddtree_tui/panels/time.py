"""Where a round's time goes, how near it is to the floor, and what memory is in use."""

from __future__ import annotations

from ddtree_tui.byte_size import size
from ddtree_tui.graphics import Graphics
from ddtree_tui.panels.panel import NOT_SAID, NOTHING_YET, Line, Panel, numbers, wrapped
from ddtree_tui.statistics.report import Report

FLOOR_CELLS = 34
"""What the numbers beside the floor's bar take."""


def draw(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """One stacked bar, its parts by name; the floor on a scale of the round; memory."""
    lines: list[Line] = [NOT_SAID if report.rounds else NOTHING_YET]
    if report.round_ms and not report.stages:
        lines = [[*_round(report), ("  stages unknown", "quiet")]]
    if report.stages:
        lines = [_bar(report, graphics, width), *_legend(report, graphics, width)]
    if (floor := report.floor) is not None:
        before, mark, after = graphics.bar_with_mark(floor.share, 1.0, max(8, min(30, width - FLOOR_CELLS)))
        lines.append([("floor ", "label"), (before, "bar"), (mark, "mark"), (after, "bar")])
        lines[-1] += [
            (f" {floor.floor_ms:.2f} ms", "number"),
            (f" of {floor.round_ms:.2f}: ", "label"),
            (f"{floor.share:.0%}", "number"),
        ]
    if (memory := report.memory) is not None:
        pairs = [("memory: models", size(memory.loaded))]
        if memory.now is not None and memory.peak is not None:
            of = "GPU" if memory.of == "device" else "engine"
            pairs += [(f"{of} now", size(memory.now)), ("at most", size(memory.peak))]
        lines += wrapped([numbers([pair]) for pair in pairs], width)
    return lines


def _bar(report: Report, graphics: Graphics, width: int) -> Line:
    parts = graphics.stacked([stage.share for stage in report.stages], width)
    return [("".join(parts)[:width], "bar")]


def _legend(report: Report, graphics: Graphics, width: int) -> list[Line]:
    parts: list[Line] = [_round(report)]
    for number, stage in enumerate(report.stages):
        shade = graphics.shades[number % len(graphics.shades)]
        parts.append([(f"{shade} ", "bar"), (f"{stage.name} ", "label"), (f"{stage.ms:.1f}", "number")])
    return wrapped(parts, width)


def _round(report: Report) -> Line:
    return [("round ", "label"), (f"{report.round_ms or 0.0:.1f} ms", "number")]


PANEL = Panel(
    title="Where the time goes",
    how="the mean round, by stage, in milliseconds",
    help=(
        "A round drafts (one forward of the drafter), builds the tree, verifies it (one forward of the "
        "target over all nodes), walks it and commits the accepted path; 'rest' is what lies between. On a "
        "GPU the floor is the time that reading the weights once takes at the memory's measured bandwidth: "
        "no round can be faster, and the share says how near it comes. On a CPU only bench --floor measures "
        "it. Memory: of both models after loading; of the GPU or the engine's process after the last "
        "answer, and the most it was during that."
    ),
    draw=draw,
)
