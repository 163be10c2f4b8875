"""The overview: every node once, a row per depth, nothing wider than it says."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from test_tree_folds import label, seeds, shape_of

from ddtree_tui.dense_layout import GUTTER
from ddtree_tui.draft_shape import ROOT
from ddtree_tui.glyphs import State
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.tree_spots import spots_of


@settings(max_examples=50, deadline=None)
@given(seeds, st.sampled_from((1, 16, 64, 300, 1024)), st.sampled_from((12, 30, 78, 118, 198)))
def test_every_node_is_one_cell_in_the_row_of_its_depth(seed: int, budget: int, width: int) -> None:
    shape = shape_of(seed, budget)
    layout = lay_out(shape, label, width, 10, arrangement="dense")
    drawn = [part for line in layout.lines for part in line if part.place is not None]
    places = [part.place for part in drawn]
    assert sorted(places) == sorted([ROOT, *shape.subtree(ROOT)])
    assert all(cell_len(part.text) == 1 for part in drawn)
    assert layout.hidden == 0
    widths = [sum(cell_len(part.text) for part in line) for line in layout.lines]
    assert max(widths) == layout.width <= max(width, GUTTER + 1)
    depth = -1
    for line in layout.lines:
        if number := line[0].text.strip():
            depth += 1
            assert int(number) == depth
        for part in line:
            if part.place is not None:
                assert shape.depth(part.place) == depth


@settings(max_examples=30, deadline=None)
@given(seeds, st.sampled_from((16, 64, 1024)))
def test_the_accepted_path_is_the_first_column(seed: int, budget: int) -> None:
    shape = shape_of(seed, budget)
    spots = spots_of(lay_out(shape, label, 118, None, arrangement="dense"))
    for node in [ROOT, *shape.round.accepted]:
        assert spots[node].x == GUTTER


def test_families_are_parted_where_there_is_room() -> None:
    shape = shape_of(2, 40)
    for line in lay_out(shape, label, 198, None, arrangement="dense").lines:
        nodes = [(number, part) for number, part in enumerate(line) if part.place is not None]
        for (number, part), (later, other) in pairwise(nodes):
            assert part.place is not None
            assert other.place is not None
            assert (shape.parent(part.place) == shape.parent(other.place)) == (later == number + 1)


def test_glyphs_tell_how_probable_what_was_not_reached_is() -> None:
    shape = shape_of(2, 300)
    layout = lay_out(shape, label, 118, None, arrangement="dense")
    weight = {
        glyph: [
            shape.weights[part.place]
            for line in layout.lines
            for part in line
            if part.text == glyph and part.role is State.NOT_REACHED and part.place is not None
        ]
        for glyph in "o•·"
    }
    assert min(weight["o"], default=0.0) >= max(weight["•"])
    assert min(weight["•"]) >= max(weight["·"])
