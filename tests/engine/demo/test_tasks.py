"""Truths are computed here a second time, from the prompt alone and in another way."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

from engine.demo.example import Example
from engine.demo.split import is_heldout, wording_key
from engine.demo.tasks import TASKS, check, heldout_examples, sample_example
from engine.demo.tasks.knowledge import CAPITALS

COUNT = 400
CHEAP = [name for name in TASKS if name != "code"]


def _drawn(task: str, count: int = COUNT, seed: int = 1) -> list[Example]:
    rng = random.Random(f"{task} {seed}")
    return [sample_example(rng, task) for _ in range(count)]


def _integers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"(?<![\d-])-?\d+", text)]


@pytest.mark.parametrize("task", TASKS)
def test_examples_are_the_same_for_a_seed_and_well_formed(task: str) -> None:
    assert _drawn(task, 40) == _drawn(task, 40)
    assert _drawn(task, 40) != _drawn(task, 40, seed=2)
    for example in _drawn(task):
        assert example.task == task
        for text in (example.prompt, example.thinking, example.answer, example.answer_direct):
            assert text
            assert text == text.strip()
            assert "  " not in re.sub(r"\n +", "\n", text)
            assert "<" not in text.replace(" < ", "").replace("<=", "") or "```" in text
        assert "[" not in example.thinking or task in ("code", "lists")


@pytest.mark.parametrize("task", CHEAP)
def test_checks_accept_the_written_answers(task: str) -> None:
    for example in _drawn(task):
        assert check(example, example.answer), example
        assert check(example, example.answer_direct), example
        assert not check(example, "")


@pytest.mark.parametrize("task", [name for name in CHEAP if TASKS[name].checkable])
def test_checks_refuse_the_answer_to_another_question(task: str) -> None:
    examples = [
        e for e in _drawn(task) if e.truth is not None and e.kind not in ("general", "about the demo")
    ]
    compared = 0
    for one, other in itertools.pairwise(sorted(examples, key=lambda e: e.kind)):
        if one.truth == other.truth or one.kind != other.kind:
            continue
        if isinstance(one.truth, str) and one.truth.lower() in other.answer.lower():
            continue
        assert not check(one, other.answer), (one, other.answer)
        compared += 1
    assert compared > COUNT // 3


_NUMBER = r"\d+(?:\.\d+)?"
_EQUATION = re.compile(rf"(?<![\w.×+/-])(?<![+×/-] )(-?{_NUMBER}(?: ?[-+×/] ?{_NUMBER})+) ?= ?(-?{_NUMBER})")


@pytest.mark.parametrize("task", ["arithmetic", "numbers", "word problems", "lists", "units", "follow ups"])
def test_every_equation_in_the_text_holds(task: str) -> None:
    found = 0
    for example in _drawn(task):
        for text in (example.thinking, example.answer, example.answer_direct):
            for left, right in _EQUATION.findall(text):
                terms = re.sub(rf"({_NUMBER})", r"Fraction('\1')", left.replace("×", "*"))
                assert eval(terms, {"Fraction": Fraction}) == Fraction(right), text  # noqa: S307
                found += 1
    assert found > COUNT // 8


def _sum_again(example: Example) -> object:
    prompt = example.prompt.lower()
    numbers = [int(n) for n in re.findall(r"\d+", prompt)]
    if example.kind == "expression":
        return eval(re.search(r"[\d(][\d ()+*×x-]*\d\)?", prompt)[0].replace("×", "*").replace("x", "*"))  # type: ignore[index]  # noqa: S307
    a, b = numbers
    if re.search(r"subtract \d+ from|take \d+ away|does \d+ go into", prompt):
        a, b = b, a
    return {
        "add": lambda: a + b,
        "subtract": lambda: a - b,
        "multiply": lambda: a * b,
        "divide": lambda: Fraction(a, b),
        "remainder": lambda: divmod(a, b),
        "by zero": lambda: None,
    }[example.kind]()


def test_arithmetic_is_right() -> None:
    for example in _drawn("arithmetic", 2000):
        assert _sum_again(example) == example.truth, example


def test_small_number_questions_are_right() -> None:
    again: dict[str, Callable[[list[int], str], object]] = {
        "parity": lambda n, p: "yes" if (n[0] % 2 == 0) == ("even" in p) else "no",
        "compare": lambda n, p: (min if re.search("smaller|less", p) else max)(n),
        "double": lambda n, p: n[0] + n[0],
        "half": lambda n, p: Fraction(n[0], 2),
        "square": lambda n, p: n[0] ** 2,
        "root": lambda n, p: round(n[0] ** 0.5),
        "percent": lambda n, p: Fraction(n[0] * n[1], 100),
        "prime": lambda n, p: "yes" if n[0] in PRIMES else "no",
    }
    for example in _drawn("numbers", 1500):
        numbers = [int(n) for n in re.findall(r"\d+", example.prompt)]
        if example.kind in again:
            assert again[example.kind](numbers, example.prompt.lower()) == example.truth, example
        elif example.kind == "sequence":
            a, b, c, d = numbers
            assert example.truth == (d * 2 if b == 2 * a and c == 2 * b and d == 2 * c else d + (d - c)), (
                example
            )


PRIMES = {n for n in range(2, 61) if all(n % d for d in range(2, n))}


def test_lists_are_right() -> None:
    again: dict[str, Callable[[list[int]], object]] = {
        "sort": lambda v: tuple(sorted(v)),
        "descending": lambda v: tuple(sorted(v, reverse=True)),
        "reverse": lambda v: tuple(reversed(v)),
        "largest": max,
        "smallest": min,
        "length": len,
        "sum": sum,
        "even": lambda v: tuple(x for x in v if not x & 1),
        "odd": lambda v: tuple(x for x in v if x & 1),
        "distinct": lambda v: tuple(dict.fromkeys(v)),
        "first": lambda v: v[0],
        "last": lambda v: v[-1],
    }
    seen = set()
    for example in _drawn("lists", 1500):
        if example.kind in again:
            seen.add(example.kind)
            assert again[example.kind](_integers(example.prompt)) == example.truth, example
    assert seen == set(again)


def test_words_are_right() -> None:
    again: dict[str, Callable[[str, str], object]] = {
        "reverse": lambda w, _: w[::-1],
        "upper": lambda w, _: w.upper(),
        "lower": lambda w, _: w.lower(),
        "length": lambda w, _: len(w),
        "first": lambda w, _: w[0],
        "last": lambda w, _: w[-1],
        "spell": lambda w, _: "-".join(w),
        "occurrences": lambda w, c: w.count(c),
        "vowels": lambda w, _: len(re.findall("[aeiou]", w)),
        "palindrome": lambda w, _: "yes" if list(w) == list(reversed(w)) else "no",
        "join": lambda w, v: w + v,
    }
    for example in _drawn("strings", 1500):
        kind, word, *rest = example.key.split(" ")
        assert word in example.prompt
        assert again[kind](word, rest[0] if rest else "") == example.truth, example


_SIZES = {
    "kilometer": ("m", 1000),
    "meter": ("m", 1),
    "centimeter": ("m", Fraction(1, 100)),
    "millimeter": ("m", Fraction(1, 1000)),
    "kilogram": ("g", 1000),
    "gram": ("g", 1),
    "ton": ("g", 1_000_000),
    "liter": ("l", 1),
    "milliliter": ("l", Fraction(1, 1000)),
    "week": ("t", 604_800),
    "day": ("t", 86_400),
    "hour": ("t", 3600),
    "minute": ("t", 60),
    "second": ("t", 1),
    "year": ("y", 12),
    "month": ("y", 1),
    "yard": ("f", 36),
    "foot": ("f", 12),
    "inch": ("f", 1),
    "dollar": ("d", 100),
    "cent": ("d", 1),
    "dozen": ("e", 12),
    "egg": ("e", 1),
}
_SHORT = {
    "km": "kilometer",
    "m": "meter",
    "cm": "centimeter",
    "mm": "millimeter",
    "kg": "kilogram",
    "g": "gram",
    "l": "liter",
    "ml": "milliliter",
    "min": "minute",
    "ft": "foot",
    "feet": "foot",
    "in": "inch",
    "inches": "inch",
    "t": "ton",
}


def _unit(word: str) -> str:
    return _SHORT.get(word, word if word in _SIZES else word.removesuffix("s"))


def test_conversions_are_right() -> None:
    for example in _drawn("units", 1000):
        prompt = example.prompt.lower()
        if example.kind == "temperature":
            value = int(re.findall(r"-?\d+", prompt)[0])
            after = prompt.split(str(value), 1)[1]
            from_celsius = re.match(r"\s*(degrees |°)?c", after) is not None
            assert example.truth == (value * 9 / 5 + 32 if from_celsius else (value - 32) * 5 / 9), example
            continue
        amount, word = re.search(r"([\d.]+) ([a-z]+)", prompt).groups()  # type: ignore[union-attr]
        source = _unit(word)
        rest = re.sub(rf"{amount} {word}", "", prompt, count=1)
        goals = [
            _unit(w)
            for w in re.findall(r"[a-z]+", rest)
            if w not in ("in", "to", "are") and _unit(w) in _SIZES
        ]
        if not goals:
            goals = ["inch"]
        assert _SIZES[source][0] == _SIZES[goals[-1]][0], example
        assert Fraction(amount) * _SIZES[source][1] / _SIZES[goals[-1]][1] == Fraction(str(example.truth)), (
            example
        )


def test_word_problems_use_the_numbers_of_their_story() -> None:
    kinds = set()
    for example in _drawn("word problems", 1000):
        kinds.add(example.kind)
        equations = re.findall(r"(\d+) [-+×/] (\d+) = (\d+)", example.thinking)
        assert int(equations[-1][2]) == example.truth
        known = {int(n) for n in re.findall(r"\d+", example.prompt)}
        implied = {"times_as_many": set(range(2, 7)), "legs": {2, 4, 6, 8}, "rectangle": {2}}.get(
            example.kind, set()
        )
        for a, b, result in equations:
            assert int(a) in known | implied, example
            assert int(b) in known | implied, example
            known.add(int(result))
    assert len(kinds) == 18


def test_json_answers_parse_and_say_what_was_asked() -> None:
    for example in _drawn("json", 600):
        for text in (example.answer, example.answer_direct):
            if isinstance(example.truth, dict):
                parsed = json.loads(text[text.index("{") : text.rindex("}") + 1])
                assert parsed == example.truth
                for value in parsed.values():
                    shown = (
                        {True: "", False: ""}.get(value, str(value))
                        if isinstance(value, bool)
                        else str(value)
                    )
                    assert shown.lower() in example.prompt.lower(), example
            else:
                assert str(example.truth) in text
    example = next(e for e in _drawn("json") if isinstance(e.truth, dict))
    assert not check(example, "{not json}")
    assert not check(example, json.dumps({**example.truth, "more": 1}))  # type: ignore[dict-item]


def test_facts_name_their_truth_and_no_other_capital_will_do() -> None:
    examples = [e for e in _drawn("facts", 1500) if e.kind == "capital"]
    assert len({e.truth for e in examples}) > 35
    assert not any(check(e, "It is Atlantis.") for e in examples)


def _asked(example: Example) -> tuple[str, ...]:
    earlier = [e.prompt for e in example.history]
    return (example.task, *(prompt.lower().rstrip(".?!") for prompt in (*earlier, example.prompt)))


def test_the_usual_wording_of_a_fact_is_always_trained_on() -> None:
    asked = {wording_key(e.prompt) for e in heldout_examples(600, seed=2, tasks=["facts"])}
    assert not asked & {wording_key(f"What is the capital of {k}?") for k in CAPITALS}
    assert "who are you" not in asked
    assert wording_key("What is DDTree?") not in asked


def test_training_and_held_out_content_are_disjoint() -> None:
    held = heldout_examples(1500, seed=5)
    assert all(is_heldout(example.key) for example in held)
    prompts = {_asked(e) for e in held}
    assert len({(e.task, e.key, e.prompt) for e in held}) == 1500
    rng = random.Random(9)
    for _ in range(30_000):
        example = sample_example(rng)
        assert not is_heldout(example.key)
        assert _asked(example) not in prompts, example
        assert not any(is_heldout(earlier.key) for earlier in example.history)


def test_held_out_examples_are_the_same_for_a_seed() -> None:
    assert heldout_examples(50, seed=1) == heldout_examples(50, seed=1)
    assert heldout_examples(50, seed=1) != heldout_examples(50, seed=2)
    assert {e.task for e in heldout_examples(20, seed=1, tasks=["units", "facts"])} == {"units", "facts"}


def test_the_split_does_not_depend_on_the_process() -> None:
    program = (
        "from engine.demo.split import is_heldout; print([n for n in range(200) if "
        "is_heldout(f'add {n} {n}')])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{[n for n in range(200) if is_heldout(f'add {n} {n}')]}\n"}
    assert not is_heldout("")


def test_wording_keys_ignore_how_a_prompt_is_typed() -> None:
    assert wording_key("What's the capital of Peru, please?") == wording_key("whats the capital of peru")
    assert wording_key("What is the capital of Peru?") == wording_key("what's the capital of Peru")
    assert wording_key("Capital of Peru?") != wording_key("Capital of Chile?")


def test_unknown_tasks_are_refused() -> None:
    with pytest.raises(KeyError):
        sample_example(random.Random(0), "cooking")


@pytest.mark.parametrize("task", TASKS)
def test_answers_vary(task: str) -> None:
    """What makes drafting hard: the same question is answered in many ways."""
    openings = {" ".join(e.answer_direct.split()[:3]) for e in _drawn(task)}
    assert len(openings) > 25
