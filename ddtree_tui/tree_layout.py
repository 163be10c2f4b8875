"""A draft tree as lines of styled parts. Pure: a round goes in, text comes out; widgets only paint it."""

from __future__ import annotations

from typing import Literal, get_args

from ddtree_tui.dense_layout import dense
from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.horizontal_layout import LEVELS, horizontal
from ddtree_tui.indented_layout import indented
from ddtree_tui.tree_folds import NO_FOLDS, Folds
from ddtree_tui.tree_parts import Label, TreeLayout

Arrangement = Literal["horizontal", "indented", "dense"]
ARRANGEMENTS: tuple[Arrangement, ...] = get_args(Arrangement)
MOST_DETAIL = len(LEVELS)
"""Levels of detail go from 1 to here; 0 is what fits."""
HORIZONTAL_FROM = 100
INDENTED_FROM = 28
"""Columns of the terminal from which on an arrangement is used; below them all it is ``dense``."""


def arrangement_for(columns: int) -> Arrangement:
    """What suits a terminal of so many columns."""
    return "horizontal" if columns >= HORIZONTAL_FROM else "indented" if columns >= INDENTED_FROM else "dense"


def lay_out(
    shape: DraftShape,
    label: Label,
    width: int,
    rows: int | None,
    *,
    arrangement: Arrangement = "horizontal",
    level: int = 0,
    folds: Folds = NO_FOLDS,
) -> TreeLayout:
    """Draw a round into ``width`` columns and, folding what it must, ``rows`` rows.

    Args:
        rows: None draws every node, however many rows and columns that takes. ``dense`` always does.
        level: of detail, 1 to ``MOST_DETAIL`` even if it does not fit; 0 is the richest that fits.
        folds: what is to be shown or hidden first of all.
    """
    if arrangement == "dense":
        return dense(shape, width)
    draw = horizontal if arrangement == "horizontal" else indented
    return draw(shape, label, width, rows, level, folds)
