"""Arrangements in turn, folds by hand, landmarks, the search."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from test_draft_shape import hand_made
from test_tree_folds import label, seeds, shape_of

from ddtree_tui.draft_shape import BONUS, NEAR_MISS, ROOT, DraftShape, fold_below
from ddtree_tui.glyphs import State
from ddtree_tui.tree_layout import ARRANGEMENTS, MOST_DETAIL, lay_out
from ddtree_tui.tree_look import TreeLook
from ddtree_tui.tree_spots import spots_of
from engine.events import Miss


def test_arrangements_in_turn_begin_and_end_with_what_suits_the_width() -> None:
    for columns, first in ((120, "horizontal"), (80, "indented"), (20, "dense")):
        look = TreeLook()
        seen = []
        for _ in range(3):
            seen.append(look.arranged(columns))
            look.next_arrangement(columns)
        assert seen[0] == first
        assert set(seen) == set(ARRANGEMENTS)
        assert look.arrangement is None


def test_an_arrangement_asked_for_stays_at_any_width() -> None:
    look = TreeLook()
    look.next_arrangement(120)
    assert look.arranged(120) == look.arranged(20) == "indented"
    look.next_arrangement(80)  # where that is what suits the width
    assert look.arranged(80) in ARRANGEMENTS


def test_levels_are_kept_in_bounds() -> None:
    look = TreeLook()
    for asked, got in ((3, 3), (9, MOST_DETAIL), (-1, 0)):
        look.set_level(asked)
        assert look.level == got


@settings(max_examples=50, deadline=None)
@given(seeds, st.data())
def test_folding_twice_changes_nothing(seed: int, data: st.DataObject) -> None:
    shape = shape_of(seed)
    node = data.draw(st.sampled_from([ROOT, *range(len(shape.states))]))
    look = TreeLook(unfolded=True)

    def shown() -> set[int]:
        return set(spots_of(lay_out(shape, label, 118, None, folds=look.folds())))

    before = shown()
    look.toggle_fold(shape, node, hides=False)
    closed = shown()
    losers = {n for n in shape.subtree(node) if n >= 0 and shape.states[n] is not State.ACCEPTED}
    assert not losers & closed
    assert {place for place in before if place >= BONUS} - closed == losers
    if losers:
        assert fold_below(node) in closed or fold_below(ROOT) in closed
        look.toggle_fold(shape, node, hides=True)
    assert shown() == before


def test_opening_a_branch_opens_what_was_closed_in_it() -> None:
    shape = DraftShape.of(hand_made(bonus=7, accepted=[1]))
    look = TreeLook()
    look.toggle_fold(shape, 2, hides=False)
    assert look.closed == {2}
    look.toggle_fold(shape, fold_below(0), hides=True)
    assert (look.opened, look.closed) == ({0}, set())


def test_leaves_and_the_bonus_token_do_not_fold() -> None:
    shape = DraftShape.of(hand_made(bonus=7, accepted=[1]))
    look = TreeLook()
    for place in (5, BONUS, NEAR_MISS):
        look.toggle_fold(shape, place, hides=False)
    assert not look.closed
    assert not look.opened


def test_another_round_has_other_folds() -> None:
    shape = DraftShape.of(hand_made(bonus=7, accepted=[1]))
    look = TreeLook(cursor=5, opened={0}, closed={2}, found=[1])
    look.enter_round(shape)
    assert look == TreeLook(cursor=1)
    look.enter_round(None)
    assert look.cursor == ROOT  # it comes back with the next round
    assert TreeLook().cursor is None


def test_landmarks() -> None:
    look = TreeLook()
    listed = Miss(depth=2, id=7, rank=9, logprob=-3.0, beyond=False)
    shape = DraftShape.of(hand_made(bonus=7, accepted=[0], miss=listed))
    assert look.landmark(shape, "leaf") == 0
    assert look.landmark(shape, "miss") == NEAR_MISS
    assert look.landmark(shape, "rejected") == 1  # .4 against .5 * .6 of node 2
    shape = DraftShape.of(hand_made(bonus=7, accepted=[1]))
    assert look.landmark(shape, "miss") == BONUS
    ended = DraftShape.of(hand_made(bonus=None, accepted=[0, 2, 5]))
    assert look.landmark(ended, "miss") is None


def test_the_search_goes_around() -> None:
    labels = {ROOT: "Once", 0: "␣Upon", 1: "␣a", 2: "␣up", BONUS: "x"}
    look = TreeLook(needle=" UP")
    look.find(labels)
    assert look.found == [0, 2]
    assert look.next_found(1) == 0
    look.cursor = 0
    assert look.next_found(1) == 2
    assert look.next_found(-1) == 2
    look.cursor = 2
    assert look.next_found(1) == 0
    look.needle = ""
    look.find(labels)
    assert look.next_found(1) is None
