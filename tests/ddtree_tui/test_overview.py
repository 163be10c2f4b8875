"""Sums over stretches of rounds, and which round was worst."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddtree_tui.overview import Mark, Overview, next_worst, worst_first
from engine.events import Miss
from engine.packed import RoundSummary

ROUNDS = st.lists(st.tuples(st.integers(1, 16), st.sampled_from(("none", "near", "beyond"))), min_size=1)


def miss(kind: str) -> Miss | None:
    if kind == "none":
        return None
    return Miss(depth=1, id=7, rank=3, logprob=-1.0, beyond=kind == "beyond")


def overview_of(rounds: list[tuple[int, str]]) -> Overview:
    overview = Overview()
    for length, kind in rounds:
        overview.add(length, miss(kind))
    return overview


@given(ROUNDS, st.data())
def test_any_stretch_is_what_a_look_at_each_round_would_tell(
    rounds: list[tuple[int, str]], data: st.DataObject
) -> None:
    overview = overview_of(rounds)
    first = data.draw(st.integers(0, len(rounds) - 1))
    end = data.draw(st.integers(first + 1, len(rounds)))
    part = rounds[first:end]
    assert len(overview) == len(rounds)
    assert overview.longest == max(length for length, _ in rounds)
    assert overview.mean(first, end) == pytest.approx(sum(length for length, _ in part) / len(part))
    kinds = [kind for _, kind in part]
    expected = (
        Mark.BEYOND
        if 2 * kinds.count("beyond") >= len(part)
        else Mark.NEAR_MISS
        if 2 * kinds.count("near") >= len(part)
        else None
    )
    assert overview.mark(first, end) is expected
    where = data.draw(st.integers(0, len(rounds) - 1))
    overview.diverges(where)
    overview.diverges(where)
    assert overview.divergent == [where]
    assert (overview.mark(first, end) is Mark.DIVERGENCE) == (first <= where < end)


@given(ROUNDS)
def test_the_worst_come_first_and_every_round_has_its_turn(rounds: list[tuple[int, str]]) -> None:
    summaries = [RoundSummary(length, 4, 1.0, 0.0, miss(kind)) for length, kind in rounds]
    order = worst_first(summaries)
    assert sorted(order) == list(range(len(rounds)))
    lengths = [rounds[index][0] for index in order]
    assert lengths == sorted(lengths)
    seen, shown = [], None
    for _ in rounds:
        shown = next_worst(order, shown)
        seen.append(shown)
    assert seen == order
    assert next_worst(order, shown) == order[0]


def test_a_missed_round_is_worse_than_one_that_the_end_cut_short() -> None:
    rounds = [(4, "near"), (1, "none"), (1, "beyond"), (2, "near")]
    summaries = [RoundSummary(length, 4, 1.0, 0.0, miss(kind)) for length, kind in rounds]
    assert worst_first(summaries) == [2, 1, 3, 0]
    assert next_worst([], None) is None


def test_a_round_that_drafts_nothing_is_no_worst_one() -> None:
    drafting = (False, True, False, True)
    summaries = [RoundSummary(1 + number, 4, 1.0, 0.0, None, does) for number, does in enumerate(drafting)]
    assert worst_first(summaries) == [1, 3]
