from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from engine.demo.columns import add_steps, divide_steps, multiply_steps, subtract_steps


def _last_number(text: str) -> int:
    return int(re.findall(r"\d+", text)[-1])


def _columns_read_off(text: str, digits: int, carried: bool) -> int:
    """The result of a column addition or subtraction, from the words of each place alone."""
    places = re.findall(r"[Oo]nes: |[Tt]ens: |[Hh]undreds: |[Tt]housands: |[Tt]en-thousands: ", text)
    assert len(places) == digits
    return int("1" + text.rstrip(".").split(": ")[-1][1:]) if carried else _last_number(text)


@given(st.integers(0, 99_999), st.integers(0, 99_999), st.integers())
def test_addition_ends_in_the_sum(a: int, b: int, seed: int) -> None:
    text = add_steps(random.Random(seed), a, b)
    width = max(len(str(a)), len(str(b)))
    if a + b >= 10**width:
        assert _columns_read_off(text, width, carried=True) == a + b
    elif width > 1:
        assert _columns_read_off(text, width, carried=False) == a + b


@given(st.integers(10, 99_999), st.integers(0, 99_999), st.integers())
def test_subtraction_ends_in_the_difference(a: int, b: int, seed: int) -> None:
    a, b = max(a, b), min(a, b)
    text = subtract_steps(random.Random(seed), a, b)
    assert _last_number(text) == a - b


@given(st.integers(11, 999), st.integers(2, 99), st.integers())
def test_multiplication_ends_in_the_product(a: int, b: int, seed: int) -> None:
    assert _last_number(multiply_steps(random.Random(seed), a, b)) == a * b


@given(st.integers(2, 12), st.integers(10, 500), st.integers())
def test_long_division_ends_in_the_quotient(b: int, quotient: int, seed: int) -> None:
    text = divide_steps(random.Random(seed), b * quotient, b)
    assert _last_number(text) == quotient


def test_the_same_sum_is_worked_in_many_wordings() -> None:
    texts = {add_steps(random.Random(seed), 47, 85) for seed in range(200)}
    assert len(texts) > 150
