"""The cursor: it stays inside, parent and child undo each other, every row can be reached."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from test_tree_folds import label, seeds, shape_of

from ddtree_tui.draft_shape import FOLD, ROOT, DraftShape
from ddtree_tui.tree_layout import ARRANGEMENTS, Arrangement, lay_out
from ddtree_tui.tree_spots import Way, hit, is_stop, spots_of, step

budgets = st.sampled_from((1, 5, 16, 64, 200))
arrangements = st.sampled_from(ARRANGEMENTS)
ways = st.lists(st.sampled_from(("parent", "child", "up", "down")), max_size=30)


@settings(max_examples=80, deadline=None)
@given(seeds, budgets, arrangements, st.sampled_from((None, 5, 17)), ways)
def test_the_cursor_stays_inside(
    seed: int, budget: int, arrangement: Arrangement, rows: int | None, steps: list[Way]
) -> None:
    shape = shape_of(seed, budget)
    spots = spots_of(lay_out(shape, label, 118, rows, arrangement=arrangement))
    place = shape.end
    for way in steps:
        reached = step(spots, shape, place, way)
        assert reached in spots
        assert is_stop(shape, reached)
        if way == "parent" and place != ROOT:
            assert reached == shape.parent(place)
            assert place in shape.below(reached)
        if way == "child" and reached != place:
            assert shape.parent(reached) == place
            assert step(spots, shape, reached, "parent") == place
        if way == "up":
            assert spots[reached].line <= spots[place].line
        if way == "down":
            assert spots[reached].line >= spots[place].line
        place = reached


@settings(max_examples=40, deadline=None)
@given(seeds, budgets, arrangements, st.sampled_from((None, 9)))
def test_every_row_can_be_reached_and_siblings_come_first(
    seed: int, budget: int, arrangement: Arrangement, rows: int | None
) -> None:
    shape = shape_of(seed, budget)
    spots = spots_of(lay_out(shape, label, 118, rows, arrangement=arrangement))
    place, seen = ROOT, {spots[ROOT].line}
    for _ in range(5 * len(shape.states) + 10):
        reached = step(spots, shape, place, "down")
        if reached == place:
            break
        place = reached
        seen.add(spots[place].line)
    stops = {spot.line for place, spot in spots.items() if is_stop(shape, place)}
    assert max(stops) in seen
    if arrangement == "horizontal":
        for node in [ROOT, *range(len(shape.states))]:
            drawn = [below for below in shape.below(node) if below in spots]
            for one, other in pairwise(drawn):
                if shape.depth(one) == shape.depth(other):
                    assert step(spots, shape, one, "down") == other
                    assert step(spots, shape, other, "up") == one


@settings(max_examples=40, deadline=None)
@given(seeds, budgets, arrangements)
def test_a_click_hits_what_is_drawn_there(seed: int, budget: int, arrangement: Arrangement) -> None:
    layout = lay_out(shape_of(seed, budget), label, 78, 17, arrangement=arrangement)
    for place, spot in spots_of(layout).items():
        for x in (spot.x, spot.x + spot.cells - 1):
            assert hit(layout.lines[spot.line], x) == place
    for line in layout.lines:
        assert hit(line, sum(cell_len(part.text) for part in line)) is None


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from((64, 300)), st.sampled_from((30, 118)))
def test_in_the_overview_a_whole_depth_is_passed_in_reading_order(seed: int, budget: int, width: int) -> None:
    shape = shape_of(seed, budget)
    spots = spots_of(lay_out(shape, label, width, None, arrangement="dense"))
    depth = max(2, len(shape.round.accepted))
    row = [place for place in spots if shape.depth(place) == depth]
    for one, other in pairwise(row):
        assert step(spots, shape, one, "down") == other
        assert step(spots, shape, other, "up") == one


def test_folds_can_be_hit_but_not_stopped_at() -> None:
    shape: DraftShape = shape_of(3, 200)
    spots = spots_of(lay_out(shape, label, 118, 9))
    folds = [place for place in spots if place <= FOLD]
    assert folds
    assert not any(is_stop(shape, fold) for fold in folds)


@pytest.mark.parametrize("way", ["up", "parent"])
def test_nothing_is_above_the_root(way: Way) -> None:
    shape = shape_of(1)
    assert step(spots_of(lay_out(shape, label, 118, 17)), shape, ROOT, way) == ROOT
