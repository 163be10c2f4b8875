"""The numbers of real runs: the demo pair decodes, and its own totals and smaller trees are the check."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ddtree_tui.session import Session
from ddtree_tui.statistics.scope import Scope
from engine import generate, load_pair
from engine.events import Finished, Round
from engine.pair import Pair

PROMPTS = ("What is 47 + 85?", "Tell me a short story about a fox.", "Sort 9, 4, 17, 2, 11.")


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("demo", device="cpu")


def run(pair: Pair, prompt: str, **settings: object) -> Iterator[object]:
    pair.session.reset()
    return generate(pair, prompt, max_new_tokens=60, **settings)


def test_the_numbers_are_the_engines_own(pair):
    session = Session()
    session.apply(pair.info)
    done: list[Finished] = []
    for mode in ("ar", "chain", "tree"):
        for event in run(pair, PROMPTS[0], mode=mode):
            session.apply(event)
            if isinstance(event, Finished):
                done.append(event)
    for answer, finished in zip(session.answers, done, strict=True):
        report = session.statistics.report(Scope.ANSWER, answer.statistics)
        assert report.acceptance.histogram == finished.acceptance_histogram
        assert report.acceptance.mean == pytest.approx(finished.mean_acceptance_length)
        assert report.speed.mean == pytest.approx(finished.tokens_per_second)
        assert sum(stage.share for stage in report.stages) == pytest.approx(1)
    assert [way.name for way in report.ways] == ["ar", "chain", "tree 64"]
    assert report.ways[2].over_ar == pytest.approx(done[2].tokens_per_second / done[0].tokens_per_second)
    tree = session.answers[-1]
    assert sum(report.hits.spine.tries) + sum(report.hits.branches.tries) == sum(
        len(round_.accepted) + (round_.miss is not None) for round_ in tree.rounds
    )
    assert sum(part.nodes for part in report.calibration) == sum(
        len(round_.nodes.ids) for round_ in tree.rounds if round_.bonus_id is not None
    )


def test_smaller_budgets_do_what_the_larger_tree_says(pair):
    """The first round of a run begins at the same place whatever the budget: decode it with each."""
    for prompt in PROMPTS:
        first: dict[int, Round] = {}
        for budget in (64, 48, 16, 4, 1):
            first[budget] = next(
                event for event in run(pair, prompt, budget=budget) if isinstance(event, Round)
            )
        session = Session()
        for event in run(pair, prompt, budget=64):
            session.apply(event)
            if isinstance(event, Round):
                break
        marginal = session.statistics.report(Scope.ALL, None).marginal
        assert marginal is not None
        for budget, round_ in first.items():
            assert marginal.curve[budget] == round_.acceptance_length, (prompt, budget)
