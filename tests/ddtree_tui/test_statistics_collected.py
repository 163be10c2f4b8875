"""The sums kept up round by round, against counting over all rounds at the end."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rounds import RandomRound

from ddtree_tui.statistics.collected import Collected
from ddtree_tui.statistics.hits import RANK_STARTS
from ddtree_tui.statistics.observation import EDGES, Observation
from ddtree_tui.statistics.report import smaller_budgets
from engine.ddtree import build_ddtree_tree_from_logits
from engine.events import Round

round_kinds = st.tuples(
    st.integers(0, 10**6),
    st.sampled_from(("ar", "chain", "tree", "tree")),
    st.integers(1, 40),
    st.sampled_from((None, None, 1, 2)),
)
runs = st.lists(round_kinds, min_size=1, max_size=12)


def rounds_of(run: list[tuple]) -> list[Round]:
    return [RandomRound.make(seed).event(mode, budget, cut=cut) for seed, mode, budget, cut in run]


def collected(rounds: list[Round]) -> Collected:
    sums = Collected()
    for round_ in rounds:
        sums.add(Observation.of(round_))
    return sums


def path(round_: Round, node: int) -> list[int]:
    nodes = []
    while node >= 0:
        nodes.append(node)
        node = round_.nodes.parents[node]
    return nodes[::-1]


def path_probability(round_: Round, node: int) -> float:
    return math.prod(math.exp(round_.nodes.logprobs[step]) for step in path(round_, node))


@settings(max_examples=60, deadline=None)
@given(runs)
def test_lengths_speed_and_stages(run):
    rounds = rounds_of(run)
    sums = collected(rounds)
    lengths = [len(round_.committed_ids) for round_ in rounds]
    assert sums.acceptance.mean == pytest.approx(sum(lengths) / len(lengths))
    assert sums.acceptance.last == lengths[-1]
    assert {n: c for n, c in enumerate(sums.acceptance.histogram) if c} == Counter(lengths)
    assert sums.speed.mean == pytest.approx(1000 * sum(lengths) / (10 * len(rounds)))
    assert sums.stages.ms["verify"] == pytest.approx(6 * len(rounds))
    assert sums.stages.ms["rest"] == pytest.approx(2 * len(rounds))
    assert sums.stages.plain == sum(not round_.nodes.ids for round_ in rounds)


@settings(max_examples=60, deadline=None)
@given(runs)
def test_hits_are_the_targets_ranks_where_the_path_came(run):
    expected: dict[tuple[bool, int, int], int] = Counter()
    rounds = rounds_of(run)
    for (seed, mode, _, _), round_ in zip(run, rounds, strict=True):
        truth = RandomRound.make(seed)
        if mode == "ar":
            continue
        tokens: tuple[int, ...] = ()
        for depth, chosen in enumerate(round_.committed_ids, 1):
            if depth > len(truth.logits):
                break
            order = truth.logits.argsort(dim=-1, descending=True)
            rank = order[depth - 1].tolist().index(chosen)
            on_spine = all(token == int(order[d, 0]) for d, token in enumerate(tokens))
            row = max(r for r, start in enumerate(RANK_STARTS) if start <= rank)
            expected[on_spine, depth, row] += 1
            tokens += (chosen,)
    hits = collected(rounds).hits
    found = Counter()
    for on_spine, counts in ((True, hits.spine), (False, hits.branches)):
        for depth, rows in enumerate(counts.taken, 1):
            for row, count in enumerate(rows):
                if count:
                    found[on_spine, depth, row] = count
    assert found == expected
    for counts in (hits.spine, hits.branches):
        right, tries = counts.first_choices
        assert tries == sum(counts.tries(depth) for depth in range(1, 20))
        assert right <= tries
    if (rate := hits.spine_at_same_depths()) is not None:
        assert 0 <= rate <= 1


def test_the_spine_is_compared_at_the_branches_depths():
    hits = Collected().hits
    for depth, rank in ((1, 0), (1, 0), (2, 0), (2, 3), (3, 5)):
        hits.spine.add(depth, rank)
    for depth, rank in ((2, 0), (2, 1), (2, 1), (3, 0), (4, 0)):
        hits.branches.add(depth, rank)
    assert hits.spine.first_choices == (3, 5)
    assert hits.branches.first_choices == (3, 5)
    # Depth 2: 3 tries at the spine's 1/2; depth 3: one at 0; depth 4 has no spine.
    assert hits.spine_at_same_depths() == pytest.approx((3 * 0.5 + 1 * 0.0) / 4)


@settings(max_examples=60, deadline=None)
@given(runs)
def test_calibration_counts_every_node_of_every_whole_round(run):
    rounds = rounds_of(run)
    edges = (0.0, *EDGES, math.inf)
    nodes, accepted, probability = Counter(), Counter(), Counter()
    expected = realised = counted = 0.0
    for round_ in rounds:
        if round_.bonus_id is None or not round_.nodes.ids:
            continue
        counted += 1
        for node in range(len(round_.nodes.ids)):
            p = min(path_probability(round_, node), 1.0)
            place = next(b for b in range(len(EDGES) + 1) if edges[b] <= p < edges[b + 1])
            nodes[place] += 1
            probability[place] += p
            expected += p
            accepted[place] += node in round_.accepted
            realised += node in round_.accepted
    calibration = collected(rounds).calibration
    assert calibration.rounds == counted
    assert calibration.expected == pytest.approx(expected)
    assert calibration.realised == realised
    # A probability right on an edge may fall to either side by rounding: the bins' sums may not.
    assert sum(calibration.nodes) == sum(nodes.values())
    assert calibration.probability == pytest.approx([probability[b] for b in range(len(EDGES) + 1)])
    assert calibration.accepted == [accepted[b] for b in range(len(EDGES) + 1)]


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 80), st.data())
def test_trees_of_smaller_budgets_are_the_first_nodes_of_larger(seed, budget, data):
    logits = RandomRound.make(seed).logits
    less = data.draw(st.integers(1, budget))
    large, small = build_ddtree_tree_from_logits(logits, budget), build_ddtree_tree_from_logits(logits, less)
    for name in ("token_ids", "parents", "depths", "ranks", "logprobs"):
        assert getattr(small, name).tolist() == getattr(large, name)[: len(small)].tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from((None, None, 1, 3))),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_marginal_nodes_against_building_and_walking_the_smaller_trees(run, data):
    rounds = [RandomRound.make(seed).event("tree", budget, cut=cut) for seed, budget, cut in run]
    marginal = collected(rounds).marginal
    top = max(budget for _, budget, _ in run)
    assert marginal.budget == top
    less = data.draw(st.integers(1, top))
    tokens = 0
    for (seed, budget, _), round_ in zip(run, rounds, strict=True):
        truth = RandomRound.make(seed)
        accepted, _ = truth.walk(truth.tree("tree", min(less, budget)))
        # The same text comes; where it ends it ends for the smaller tree too.
        tokens += min(len(accepted) + 1, round_.acceptance_length)
    assert marginal.tokens_per_round(less) == pytest.approx(tokens / len(run))
    assert marginal.curve()[less] == pytest.approx(tokens / len(run))
    assert len(marginal.curve()) == top + 1
    assert marginal.tokens_per_round(top) == pytest.approx(
        sum(round_.acceptance_length for round_ in rounds) / len(run)
    )


def test_budgets_to_compare_with():
    assert smaller_budgets(64) == [48, 32, 16, 8, 4, 2, 1]
    assert smaller_budgets(16) == [8, 4, 2, 1]
    assert smaller_budgets(20) == [10, 5, 4, 2, 1]
    assert smaller_budgets(1) == []


def test_what_a_file_may_hold_does_no_harm():
    import msgspec

    round_ = RandomRound.make(3).event("tree", 8)
    nodes = msgspec.structs.replace(
        round_.nodes, logprobs=[1e300] * len(round_.nodes.ids), ranks=[-5] * len(round_.nodes.ids)
    )
    miss = round_.miss and msgspec.structs.replace(round_.miss, depth=10**9)
    seen = Observation.of(msgspec.structs.replace(round_, nodes=nodes, miss=miss, budget=10**15))
    assert seen.expected == len(nodes.ids)
    assert seen.budget <= 1024
    assert all(step.depth < 100 and step.rank >= 0 for step in seen.steps)
