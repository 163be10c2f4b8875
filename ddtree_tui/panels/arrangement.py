"""Which panels stand beside one another, by the width of the screen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from ddtree_tui.graphics import Graphics
from ddtree_tui.panels import acceptance, calibration, hits, marginal, speed, time
from ddtree_tui.panels.panel import Line, Panel
from ddtree_tui.statistics.report import Report

COLUMN_CELLS = 56
"""The narrowest column: the heat map of a block of 16 takes 52."""
GAP = 3
COLUMNS: tuple[tuple[tuple[Panel, ...], ...], ...] = (
    ((acceptance.PANEL, speed.PANEL, time.PANEL, hits.PANEL, calibration.PANEL, marginal.PANEL),),
    ((acceptance.PANEL, speed.PANEL, time.PANEL, marginal.PANEL), (hits.PANEL, calibration.PANEL)),
    (
        (acceptance.PANEL, speed.PANEL, time.PANEL),
        (hits.PANEL,),
        (calibration.PANEL, marginal.PANEL),
    ),
)
"""For one, two and three columns. The first holds all panels in the order they are told about."""
PANELS = COLUMNS[0][0]


def arrange(report: Report, graphics: Graphics, width: int) -> list[Line]:
    """All panels, in as many columns as fit, a blank line between those of a column."""
    count = max(1, min(len(COLUMNS), (width + GAP) // (COLUMN_CELLS + GAP)))
    cells = (width - GAP * (count - 1)) // count
    columns = [_stacked(panels, report, graphics, cells) for panels in COLUMNS[count - 1]]
    lines: list[Line] = []
    for row in zip_longest(*columns, fillvalue=[]):
        line: Line = []
        for number, part in enumerate(row):
            line += _fitted(part, cells if number == count - 1 else cells + GAP, cells)
        lines.append(line)
    return lines


def _stacked(panels: Sequence[Panel], report: Report, graphics: Graphics, cells: int) -> list[Line]:
    lines: list[Line] = []
    for panel in panels:
        lines += (
            [[], *panel.lines(report, graphics, cells)] if lines else panel.lines(report, graphics, cells)
        )
    return lines


def _fitted(line: Line, cells: int, most: int) -> Line:
    """The line cut to ``most`` cells and filled up to ``cells``."""
    fitted: Line = []
    used = 0
    for text, role in line:
        text = text[: most - used]
        if text:
            fitted.append((text, role))
            used += len(text)
    return [*fitted, (" " * (cells - used), "")]
