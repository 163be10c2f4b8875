"""Text graphics: as wide as asked, and true to their values, in blocks and in ASCII."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.glyphs import BARS
from ddtree_tui.graphics import Graphics, squeezed, stretched

GRAPHICS = [Graphics(), Graphics(plain=True)]
values = st.lists(st.floats(0, 1000), min_size=1, max_size=200)


@given(values, st.integers(1, 80), st.sampled_from(GRAPHICS))
def test_a_sparkline_is_no_wider_than_there_is_room(numbers, width, graphics):
    line = graphics.sparkline(numbers, width)
    assert len(line) == min(len(numbers), width)
    assert graphics.plain is False or line.isascii()
    if len(numbers) <= width and max(numbers) > 0:
        assert line[numbers.index(max(numbers))] in "█@"
        assert [cell == " " for cell in line] == [number == 0 for number in numbers]


@given(values, st.integers(1, 6), st.sampled_from((False, True)))
def test_columns_are_as_high_as_their_values(numbers, rows, plain):
    lines = Graphics(plain=plain, rows=rows).columns(numbers, 3)
    assert [len(line) for line in lines] == [3 * len(numbers)] * rows
    highest = max(numbers)
    for place, number in enumerate(numbers):
        column = "".join(line[3 * place] for line in reversed(lines))
        filled = sum((BARS if not plain else " .:-=+*#@").index(cell) for cell in column)
        assert filled == (max(1, round(8 * rows * number / highest)) if number else 0)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 60), st.sampled_from(GRAPHICS))
def test_bars(share, at, width, graphics):
    bar = graphics.bar(share, width)
    assert len(bar) == width
    assert len(bar.rstrip()) == pytest.approx(share * width, abs=1)
    before, mark, after = graphics.bar_with_mark(share, at, width)
    assert len(before + mark + after) == width
    assert len(before) == min(width - 1, int(at * width))


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.integers(6, 80), st.sampled_from(GRAPHICS))
def test_a_stacked_bar_is_full(parts, width, graphics):
    total = sum(parts)
    pieces = graphics.stacked([part / total for part in parts], width)
    assert len("".join(pieces)) == width
    for piece, part in zip(pieces, parts, strict=True):
        assert len(piece) == pytest.approx(part / total * width, abs=1)
        assert len(set(piece)) <= 1


@given(values, st.integers(2, 60), st.integers(1, 8), st.sampled_from((False, True)))
def test_a_curve_goes_from_lowest_to_highest(numbers, width, rows, plain):
    lines = Graphics(plain=plain, rows=rows).curve(numbers, width)
    assert [len(line) for line in lines] == [width] * rows
    assert all(any(line[x] != " " for line in lines) for x in range(width))
    assert not plain or "".join(lines).isascii()


def test_a_rising_curve_rises():
    assert Graphics(plain=True, rows=3).curve([0, 1, 2], 3) == ["  *", " * ", "*  "]
    assert Graphics(rows=1).curve([0, 1, 2, 3], 2) == ["⡠⠊"]
    assert Graphics(plain=True, rows=2).curve([], 3) == ["   ", "   "]


def test_squeezing_keeps_the_mean_and_stretching_the_ends():
    assert squeezed([1, 3, 5, 7], 2) == [2, 6]
    assert squeezed([1, 2], 5) == [1, 2]
    assert stretched([1, 2, 3], 5) == [1, 1, 2, 3, 3]
    assert stretched([4], 3) == [4, 4, 4]
