"""Graphics of text: bars, columns, curves; in blocks and braille, or in ASCII for terminals without them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from ddtree_tui.glyphs import BARS

LEVELS = " .:-=+*#@"
"""The nine heights of a cell in ASCII."""
EIGHTHS = " ▏▎▍▌▋▊▉█"
SHADES = "▓▒█░▚▞"
ASCII_SHADES = "%:#.&/"
"""One per part of a stacked bar, so that it can be read without colours. Most of it is of the third,
a round's verifying."""
_BRAILLE = 0x2800
_DOTS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Of a braille cell: per column the bits of its dots, lowest first."""


class Graphics:
    """``plain``: ASCII only. ``rows``: how high columns and curves are."""

    def __init__(self, *, plain: bool = False, rows: int = 4) -> None:
        self.plain = plain
        self.rows = rows
        self.shades = ASCII_SHADES if plain else SHADES
        self.mark = "|" if plain else "┃"
        self.none = "." if plain else "·"
        self.always = "#" if plain else "■"
        self.dash = "-" if plain else "–"
        self.times = "x" if plain else "×"

    def words(self, text: str) -> str:
        """Words that the panels use, without signs that ASCII lacks."""
        return text.translate(_WORDS) if self.plain else text

    def sparkline(self, values: Sequence[float], width: int) -> str:
        """One row of columns from 0 to the highest value; more values than cells are averaged."""
        values = squeezed(values, width)
        highest = max(values, default=0.0)
        levels = LEVELS if self.plain else BARS
        if highest <= 0:
            return levels[0] * len(values)
        return "".join(levels[max(1, round(8 * value / highest)) if value > 0 else 0] for value in values)

    def columns(self, values: Sequence[float], cells: int) -> list[str]:
        """Columns ``cells`` wide with a gap; top row first. What is above 0 shows."""
        rows = self.rows
        highest = max(values, default=0.0) or 1.0
        lines = []
        for row in range(rows - 1, -1, -1):
            line = ""
            for value in values:
                eighths = max(1, round(value * 8 * rows / highest)) if value > 0 else 0
                level = max(0, min(8, eighths - 8 * row))
                bar = (LEVELS if self.plain else BARS)[level]
                line += (bar * (cells - 1)).ljust(cells)
            lines.append(line)
        return lines

    def bar(self, share: float, width: int) -> str:
        """A bar to the right, ``share`` of ``width`` cells long, filled up with blanks."""
        share = max(0.0, min(1.0, share))
        if self.plain:
            return ("#" * round(share * width)).ljust(width)
        eighths = round(share * width * 8)
        full, rest = divmod(eighths, 8)
        return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)

    def bar_with_mark(self, share: float, at: float, width: int) -> tuple[str, str, str]:
        """A bar, and a mark at ``at`` (0 to 1): what is before the mark, the mark, what is behind it."""
        bar = self.bar(share, width)
        place = min(width - 1, int(max(0.0, min(1.0, at)) * width))
        return bar[:place], self.mark, bar[place + 1 :]

    def stacked(self, shares: Sequence[float], width: int) -> list[str]:
        """The parts of one bar, each in its shade; shares that sum to 1 fill ``width``."""
        borders = [round(min(1.0, border) * width) for border in accumulate(shares, initial=0.0)]
        return [
            self.shades[number % len(self.shades)] * (end - start)
            for number, (start, end) in enumerate(pairwise(borders))
        ]

    def curve(self, values: Sequence[float], width: int) -> list[str]:
        """A line through the values, lowest at the bottom, top row first. In braille 2 × 4 dots a cell."""
        rows = self.rows
        across, down = (1, 1) if self.plain else (2, 4)
        points = stretched(values, width * across)
        low, high = min(points, default=0.0), max(points, default=0.0)
        height = rows * down - 1
        cells = [[0] * width for _ in range(rows)]
        before: int | None = None
        for x, value in enumerate(points):
            y = round(height * (value - low) / (high - low)) if high > low else 0
            start = y if before is None or before == y else before + (1 if y > before else -1)
            for dot in range(min(start, y), max(start, y) + 1):
                row, inside = divmod(dot, down)
                cells[rows - 1 - row][x // across] |= 1 if self.plain else _DOTS[x % 2][inside]
            before = y
        return ["".join(self._dots(bits) for bits in line) for line in cells]

    def _dots(self, bits: int) -> str:
        """One cell of a curve."""
        if not bits:
            return " "
        return "*" if self.plain else chr(_BRAILLE + bits)


_WORDS = str.maketrans({"×": "x", "–": "-", "−": "-", "·": "|", "┃": "|", "│": "|", "→": ">", "…": "~"})


def squeezed(values: Sequence[float], width: int) -> list[float]:
    """At most ``width`` values, each the mean of its neighbours."""
    count = len(values)
    if count <= width or width <= 0:
        return list(values)[: max(0, width)]
    borders = [cell * count // width for cell in range(width + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(borders)]


def stretched(values: Sequence[float], width: int) -> list[float]:
    """Exactly ``width`` values: the nearest of ``values`` at even places; nothing of nothing."""
    last = len(values) - 1
    if last < 0:
        return []
    return [values[round(x * last / max(1, width - 1))] for x in range(width)]
