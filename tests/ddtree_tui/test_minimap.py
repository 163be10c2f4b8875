"""The map of a tall drawing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from test_tree_folds import label, seeds, shape_of

from ddtree_tui.draft_shape import ROOT
from ddtree_tui.glyphs import MAP_CURSOR, MAP_FOUND, MAP_PATH
from ddtree_tui.minimap import line_of, minimap
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.tree_spots import spots_of


@settings(max_examples=40, deadline=None)
@given(seeds, st.integers(1, 40), st.data())
def test_it_shows_where_the_cursor_and_the_matches_are(seed: int, height: int, data: st.DataObject) -> None:
    shape = shape_of(seed, 200)
    layout = lay_out(shape, label, 118, None)
    nodes = [ROOT, *range(len(shape.states))]
    cursor = data.draw(st.sampled_from(nodes))
    found = data.draw(st.sets(st.sampled_from(nodes), max_size=4))
    cells = minimap(layout, shape, height, cursor=cursor, found=found)
    assert len(cells) == height
    count = len(layout.lines)
    spots = spots_of(layout)

    def rows(place: int) -> list[int]:
        line = spots[place].line
        shares = [
            (row * count // height, max(row * count // height + 1, (row + 1) * count // height))
            for row in range(height)
        ]
        return [row for row, (start, end) in enumerate(shares) if start <= line < end]

    assert all(cells[row].glyph == MAP_CURSOR for row in rows(cursor))
    for place in found:
        assert all(cells[row].glyph in (MAP_CURSOR, MAP_FOUND) for row in rows(place))
    assert rows(cursor)
    assert cells[0].glyph in (MAP_CURSOR, MAP_FOUND, MAP_PATH)
    assert all(len(cell.glyph) == 1 for cell in cells)


def test_its_rows_lead_to_lines() -> None:
    assert [line_of(row, 4, 100) for row in range(4)] == [0, 25, 50, 75]
    assert line_of(3, 4, 2) == 1
