"""Which rounds a column of the timeline stands for."""

from __future__ import annotations

import timeit

from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.timeline_columns import Column, Columns, arrange

ANSWERS = st.lists(st.integers(1, 60), min_size=1, max_size=6)


def arranged(answers: list[int], shown: int, width: int, close_up: bool) -> Columns:
    starts = [sum(answers[:number]) for number in range(len(answers))]
    return arrange(sum(answers), starts, shown, width, close_up=close_up)


def rounds_of(columns: list[Column]) -> list[int]:
    return [index for first, end in columns for index in range(first, end)]


@given(ANSWERS, st.data(), st.integers(1, 150), st.booleans())
def test_columns_are_in_order_and_fit_and_have_the_shown_round(
    answers: list[int], data: st.DataObject, width: int, close_up: bool
) -> None:
    count = sum(answers)
    shown = data.draw(st.integers(0, count - 1))
    made = arranged(answers, shown, width, close_up)
    assert len(made.columns) * made.cells - (made.cells - 1) <= width
    first, end = made.columns[made.at]
    assert first <= shown < end
    rounds = rounds_of(made.columns)
    assert rounds == list(range(rounds[0], rounds[-1] + 1))
    if not close_up:
        assert len(rounds) == count
    assert all(end - first <= made.each for first, end in made.columns)
    for cell in range(len(made.columns) * made.cells):
        column = made.columns[cell // made.cells]
        assert made.round_at(cell) == (column.first if column.end > column.first else None)
    assert made.round_at(-1) is None
    assert made.round_at(len(made.columns) * made.cells) is None


@given(ANSWERS, st.booleans())
def test_a_border_stands_between_any_two_answers_while_each_round_has_a_column(
    answers: list[int], close_up: bool
) -> None:
    made = arranged(answers, 0, 1000, close_up)
    borders = [column.first for column in made.columns if column.end == column.first]
    assert borders == [sum(answers[:number]) for number in range(1, len(answers))]


def test_a_close_up_keeps_a_column_for_each_round() -> None:
    assert arranged([10_000], 5_000, 118, close_up=True).columns[59] == Column(5_000, 5_001)
    shared = arranged([10_000], 5_000, 118, close_up=False)
    assert shared.each == 85
    assert shared.columns[-1] == Column(9_945, 10_000)


def test_many_rounds_cost_no_more_than_few() -> None:
    def seconds(rounds: int) -> float:
        starts = list(range(0, rounds, 50))

        def both() -> None:
            arrange(rounds, starts, rounds // 2, 118, close_up=True)
            arrange(rounds, starts, rounds // 2, 118)

        return min(timeit.timeit(both, number=20) for _ in range(5))

    assert seconds(1_000_000) < 10 * seconds(1_000)
