"""A panel: a title, a line on how to read it, what it draws, and what F1 says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ddtree_tui.graphics import Graphics
from ddtree_tui.statistics.report import Report

Span = tuple[str, str]
"""Text, and the role that styles it."""
Line = list[Span]
ROLES = (
    "title",
    "how",
    "label",
    "number",
    "quiet",
    "bar",
    "shown",
    "mark",
    *(f"heat-{level}" for level in range(5)),
)
NOTHING_YET: Line = [("nothing yet", "quiet")]
NOT_SAID: Line = [("unknown: whoever wrote it does not say", "quiet")]


def nothing(report: Report) -> Line:
    """Where there is nothing to draw of what the drafter thought: none yet, or an import is silent."""
    return NOT_SAID if report.unweighed else NOTHING_YET


@dataclass(frozen=True)
class Panel:
    """``draw`` gets the report and the width; it draws ``NOTHING_YET`` where nothing is known."""

    title: str
    how: str
    help: str
    draw: Callable[[Report, Graphics, int], list[Line]]

    def lines(self, report: Report, graphics: Graphics, width: int) -> list[Line]:
        """Title, how to read it, and the graphic."""
        head: list[Line] = [[(self.title, "title")], [(graphics.words(self.how)[:width], "how")]]
        return [*head, *self.draw(report, graphics, width)]


def numbers(pairs: Iterable[tuple[str, str]]) -> Line:
    """Labels with their numbers in one line."""
    line: Line = []
    for label, number in pairs:
        line += [("  " if line else "", ""), (f"{label} ", "label"), (number, "number")]
    return line


def wrapped(parts: Iterable[Line], width: int) -> list[Line]:
    """Parts in as many lines as they take, two blanks between them."""
    lines: list[Line] = []
    used = width
    for part in parts:
        cells = sum(len(text) for text, _ in part)
        if used + 2 + cells > width:
            lines.append(list(part))
            used = cells
        else:
            lines[-1] += [("  ", ""), *part]
            used += 2 + cells
    return lines


def compact(count: int) -> str:
    """A count in three cells: ``999``, ``12k``, ``3M``."""
    if count < 1000:
        return str(count)
    return f"{count // 1000}k" if count < 100_000 else f"{max(1, count // 1_000_000)}M"
