"""Which rounds each column of the timeline stands for. Pure, and as quick for many rounds as for few."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

WIDE = 3
"""Cells of a bar and the gap behind it while all rounds have room for that; else a cell each."""


class Column(NamedTuple):
    """Rounds ``first`` to ``end - 1``; none where one answer borders on the next."""

    first: int
    end: int


@dataclass(frozen=True)
class Columns:
    """What fits the width.

    Attributes:
        columns: from left to right.
        at: which of them has the shown round.
        cells: how wide each is.
        each: rounds of a column.
    """

    columns: list[Column]
    at: int
    cells: int
    each: int

    def round_at(self, cell: int) -> int | None:
        """The round under a cell, the first of its column; None on a border or beside all."""
        place = cell // self.cells
        if not 0 <= place < len(self.columns):
            return None
        column = self.columns[place]
        return column.first if column.end > column.first else None


def arrange(count: int, starts: Sequence[int], shown: int, width: int, *, close_up: bool = False) -> Columns:
    """Columns for ``count`` rounds on ``width`` cells.

    While there is room, a round has ``WIDE`` cells, then one. More rounds than cells share columns, as many
    to each; in a ``close_up`` they keep a cell each, and the part around the shown round is seen.

    Args:
        count: at least 1.
        starts: the first round of each answer that has rounds, ascending, from 0.
        shown: the shown round.
    """
    columns = count + len(starts) - 1
    if columns <= width or close_up:
        cells = WIDE if columns * WIDE <= width else 1
        fitting = max(1, width // cells)
        marked = shown + bisect_right(starts, shown) - 1
        first = min(max(0, marked - fitting // 2), max(0, columns - fitting))
        window = [_column(starts, place) for place in range(first, min(columns, first + fitting))]
        return Columns(window, marked - first, cells, 1)
    each = -(-count // max(1, width))
    shared = [Column(first, min(count, first + each)) for first in range(0, count, each)]
    return Columns(shared, shown // each, 1, each)


def _column(starts: Sequence[int], place: int) -> Column:
    """Column ``place`` where every round has one, and every border between two answers.

    Answer j's rounds come after j borders, so its first one has column ``starts[j] + j``."""
    answer = bisect_right(range(len(starts)), place, key=lambda j: starts[j] + j) - 1
    round_ = place - answer
    border = answer + 1 < len(starts) and round_ == starts[answer + 1]
    return Column(round_, round_ if border else round_ + 1)
