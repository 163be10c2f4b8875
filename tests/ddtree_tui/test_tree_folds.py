"""What the user opens, closes and keeps shows, whatever the room; a fold is never dearer than its node."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from make_recording import VOCABULARY, Recording
from rich.cells import cell_len

from ddtree_tui.draft_shape import FOLD, ROOT, DraftShape, fold_below, folded_node
from ddtree_tui.escape import decode_bytes, token_label
from ddtree_tui.glyphs import State
from ddtree_tui.tree_folds import DECISIVE, Folds, prune
from ddtree_tui.tree_layout import lay_out
from ddtree_tui.tree_parts import fold_text
from engine.settings import DecodeSettings

seeds = st.integers(0, 10**6)
budgets = st.sampled_from((1, 5, 16, 64, 200))


def label(token: int) -> tuple[str, int]:
    text = token_label(decode_bytes(VOCABULARY[token]))
    return text, cell_len(text)


def shape_of(seed: int, budget: int = 64) -> DraftShape:
    return DraftShape.of(Recording(seed).round(DecodeSettings(budget=budget), 0, 50, 7))


@settings(max_examples=60, deadline=None)
@given(seeds, budgets, st.integers(1, 30), st.data())
def test_what_is_opened_is_shown_and_what_is_closed_is_not(
    seed: int, budget: int, rows: int, data: st.DataObject
) -> None:
    shape = shape_of(seed, budget)
    nodes = range(len(shape.states))
    opened = data.draw(st.sets(st.sampled_from([ROOT, *nodes]), max_size=3))
    closed = data.draw(st.sets(st.sampled_from([ROOT, *nodes]), max_size=3)) - opened
    kept = data.draw(st.sets(st.sampled_from(nodes), max_size=3))
    pruned = prune(shape, rows, folds=Folds(opened, closed, kept))
    plain = prune(shape, rows)
    everything = {step for node in kept for step in shape.path(node)}
    for node in nodes:
        marked = [mark for mark in shape.path(node)[:-1] if mark in opened or mark in closed]
        wanted = node in everything or (marked and all(mark in opened for mark in marked))
        if wanted or shape.states[node] is State.ACCEPTED:
            assert pruned.shown[node]
        elif marked and marked[-1] in closed:
            assert not pruned.shown[node]
        if not closed:
            assert pruned.shown[node] >= plain.shown[node]  # to open a branch folds no other
        parent = shape.round.nodes.parents[node]
        assert not pruned.shown[node] or parent == ROOT or pruned.shown[parent]
    layout = lay_out(shape, label, 10_000, rows, folds=Folds(opened, closed, kept))
    assert len(layout.lines) == pruned.rows


@settings(max_examples=60, deadline=None)
@given(seeds, budgets, st.integers(3, 25), st.booleans())
def test_a_single_node_folds_only_where_it_takes_more_room(
    seed: int, budget: int, rows: int, horizontal: bool
) -> None:
    shape = shape_of(seed, budget)
    layout = lay_out(shape, label, 118, rows, arrangement="horizontal" if horizontal else "indented")
    for line in layout.lines:
        for part in line:
            if part.place is None or part.place > FOLD:
                continue
            below = shape.subtree(folded_node(part.place))
            if len(below) == 1:
                cells = label(shape.round.nodes.ids[below[0]])[1]
                assert cells > len(fold_text(1, 0.01)) - 1


def test_the_gathered_row_never_stands_for_one_node_that_would_take_its_place() -> None:
    lines = 0
    for seed in range(60):
        shape = shape_of(seed)
        for rows in range(3, 25):
            pruned = prune(shape, rows)
            assert pruned.gathered[0] != 1
            lines += pruned.gathered[0] > 1
    assert lines


def test_folds_name_the_node_they_hang_below() -> None:
    for node in (ROOT, 0, 1, 17):
        assert fold_below(node) <= FOLD
        assert folded_node(fold_below(node)) == node
        assert DraftShape.state(shape_of(1), fold_below(node)) is State.FOLDED


def test_what_was_refused_where_the_path_ended_is_folded_last() -> None:
    told = 0
    for seed in range(60):
        shape = shape_of(seed)
        refused = [node for node in shape.children[shape.end] if shape.states[node] is State.REJECTED]
        for rows in (9, 12, 19):
            pruned = prune(shape, rows)
            best = refused[: rows // DECISIVE]
            assert all(pruned.shown[node] for node in best)
            assert pruned.rows <= rows
            told += len(best)
    assert told
