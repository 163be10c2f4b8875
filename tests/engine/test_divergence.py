from __future__ import annotations

import pytest
from tiny_models import tiny_pair

from engine.decode import generate
from engine.divergence import ROOT, Choice, Divergence, choices, first_difference, first_divergence
from engine.events import Round

AR = [Choice(1), Choice(2, 0, ROOT, 0.5), Choice(3, 1, ROOT, 0.1)]


def test_choices_tell_at_which_row_each_token_was_chosen() -> None:
    pair = tiny_pair("qwen3_5")
    events = list(generate(pair, "abc", mode="tree", budget=16, max_new_tokens=40))
    prompt, found = choices(events)
    assert prompt == 3
    rounds = [event for event in events if isinstance(event, Round)]
    assert len(found) == 1 + sum(event.acceptance_length for event in rounds)
    assert any(choice.node != ROOT for choice in found)
    for choice in found[1:]:
        assert choice.round is not None
        target = rounds[choice.round].target
        assert target.ids[choice.node + 1] == choice.id
        assert target.gaps[choice.node + 1] == choice.gap


def test_first_difference() -> None:
    assert first_difference([1, 2, 3], [1, 2, 3]) is None
    assert first_difference([1, 2, 3], [1, 9, 3]) == 1
    assert first_difference([1, 2, 3], [1, 2]) == 2
    assert first_difference([1], [1, 2]) == 1


def test_equal_texts_do_not_part() -> None:
    other = [Choice(1), Choice(2, 0, ROOT, 0.4), Choice(3, 0, 5, 0.2)]
    assert first_divergence(10, AR, other) is None


def test_the_first_token_that_differs() -> None:
    other = [Choice(1), Choice(2, 0, ROOT, 0.4), Choice(4, 0, 5, 0.25), Choice(9, 1, ROOT, 3.0)]
    found = first_divergence(10, AR, other)
    assert found == Divergence(2, 12, 0, 5, 3, 4, 0.1, 0.25)
    assert found.change == pytest.approx(0.35)
    assert found.verdict(0.36) == "tie"
    assert found.verdict(0.34) == "defect"


@pytest.mark.parametrize(("ours", "theirs"), [(AR, AR[:2]), (AR[:2], AR)])
def test_a_text_that_ends_early_is_no_tie(ours: list[Choice], theirs: list[Choice]) -> None:
    found = first_divergence(10, theirs, ours)
    assert found is not None
    assert found.index == 2
    assert found.verdict(1e9) == "defect"


def test_another_first_token_is_no_tie() -> None:
    """The prefill is the same in every mode."""
    found = first_divergence(10, AR, [Choice(7)])
    assert found is not None
    assert found.verdict(1e9) == "defect"
