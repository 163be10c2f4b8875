from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.demo.wording import casual, join, say


def test_every_option_is_about_equally_likely() -> None:
    rng = random.Random(0)
    seen = Counter(say(rng, "[a|b|c]") for _ in range(3000))
    assert set(seen) == {"a", "b", "c"}
    assert min(seen.values()) > 900


def test_choices_nest_and_may_be_empty() -> None:
    rng = random.Random(0)
    seen = {say(rng, "x[| and [y|z]]!") for _ in range(200)}
    assert seen == {"x!", "x and y!", "x and z!"}


@given(st.text())
def test_values_are_never_parsed(value: str) -> None:
    assert say(random.Random(0), "<{v}>", v=value) == f"<{value}>"


@pytest.mark.parametrize("template", ["[a|b", "a]", "a|b", "[a]]"])
def test_unbalanced_templates_are_refused(template: str) -> None:
    with pytest.raises(ValueError):
        say(random.Random(0), template)


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        say(random.Random(0), "{nobody}")


def test_casual_prompts_keep_their_words() -> None:
    rng = random.Random(0)
    seen = {casual(rng, "Sort 3, 1, 2.") for _ in range(500)}
    assert {"Sort 3, 1, 2.", "sort 3, 1, 2", "sort 3, 1, 2."} <= seen
    assert all("3, 1, 2" in prompt for prompt in seen)
    assert all(
        prompt[1:].startswith('et "Ab" in {"Ab": 1}')
        for prompt in (casual(rng, 'Get "Ab" in {"Ab": 1}', lower=False) for _ in range(200))
    )


def test_join_leaves_out_what_is_empty() -> None:
    assert join("a.", "", "b.") == "a. b."
