"""Second questions that lean on the first: go on with a result, turn a list round, another story."""

from __future__ import annotations

import random
from collections.abc import Callable

from engine.demo.answers import last_number_is, last_numbers_are
from engine.demo.columns import add_steps, subtract_steps
from engine.demo.example import Example
from engine.demo.split import is_heldout
from engine.demo.task import Task
from engine.demo.tasks import arithmetic, lists, stories
from engine.demo.wording import cap, casual, join, pick, say

_SO = "[So|Then|Thus|Hence|Therefore]"


def _first(rng: random.Random, task: Task, fits: Callable[[Example], bool]) -> Example:
    """A question to start from; never held-out content, which would show it in training."""
    while True:
        first = task.sample(rng)
        if not is_heldout(first.key) and fits(first):
            return first


def _go_on(rng: random.Random) -> Example:
    first = _first(
        rng, arithmetic.TASK, lambda example: isinstance(example.truth, int) and 0 <= example.truth < 900
    )
    assert isinstance(first.truth, int)
    base = first.truth
    n = rng.randint(1, 9) if rng.random() < 0.5 else rng.randint(10, 99)
    draw = rng.random()
    if draw < 0.45 or (draw < 0.8 and base < n):
        r, sign, work = base + n, "+", add_steps(rng, base, n)
        ask = "[Now add {n}.|Add {n} to that.|And plus {n}?|Plus {n}?|Add {n} more.|What if I add {n}?]"
    elif draw < 0.8:
        r, sign, work = base - n, "-", subtract_steps(rng, base, n)
        ask = (
            "[Now subtract {n}.|Take away {n}.|And minus {n}?|Minus {n}?|Subtract {n} from that.|"
            "What if I take {n} away?]"
        )
    else:
        n = 2
        r, sign, work = base * 2, "×", add_steps(rng, base, base)
        ask = "[Now double it.|Double that.|And twice that?|Times two?|What is the double of that?]"
    prompt = casual(rng, say(rng, ask, n=n))
    thinking = join(
        say(
            rng,
            (
                "[The last result was|Before that we had|I take the result|The result so far is] "
                "{b}[, now|; next|, and then] {s} {n}."
            ),
            b=base,
            s=sign,
            n=n,
        ),
        work,
        say(rng, _SO + " [it is|we get|I get|the answer is] {r}.", r=r),
    )
    say_it = (
        "[{b} {s} {n} [is|equals|makes] {r}|Then it is {b} {s} {n} = {r}|That makes {b} {s} "
        "{n} = {r}|Starting from {b}, we get {r}|{b} {s} {n} = {r}]."
    )
    return Example(
        "follow ups",
        "go on",
        f"{first.key} then {sign} {n}",
        prompt,
        thinking,
        cap(say(rng, say_it, b=base, s=sign, n=n, r=r)),
        cap(say(rng, say_it, b=base, s=sign, n=n, r=r)),
        r,
        (first,),
    )


def _turn_round(rng: random.Random) -> Example:
    first = _first(
        rng, lists.TASK, lambda example: isinstance(example.truth, tuple) and len(example.truth) > 2
    )
    assert isinstance(first.truth, tuple)
    values = [value for value in first.truth if isinstance(value, int)]
    shown = ", ".join(map(str, values))
    if rng.random() < 0.5:
        result = values[::-1]
        text = ", ".join(map(str, result))
        prompt = casual(
            rng,
            say(
                rng, "[Now reverse it.|And backwards?|Reverse that.|Now the other way round.|Turn it around.]"
            ),
        )
        thinking = say(
            rng,
            "[The last list was|We had|I take] {s}. [From the back|Backwards|Last one first]: {r}.",
            s=shown,
            r=text,
        )
        say_it = "[Reversed|Backwards|The other way round|Turned around|From back to front]: {r}."
        return Example(
            "follow ups",
            "turn round",
            f"{first.key} reversed",
            prompt,
            thinking,
            say(rng, say_it, r=text),
            say(rng, say_it, r=text),
            tuple(result),
            (first,),
        )
    best = max(values)
    prompt = casual(
        rng,
        say(
            rng,
            "[Which is the largest of them?|And the largest?|What is the maximum?|Which one is the biggest?]",
        ),
    )
    thinking = say(
        rng,
        "[The last list was|We had|I look at] {s}. [The largest is|The biggest is|At the top is] {r}.",
        s=shown,
        r=best,
    )
    say_it = "[The largest is|The largest of them is|The biggest one is|The maximum is|It is] {r}."
    return Example(
        "follow ups",
        "largest",
        f"{first.key} largest",
        prompt,
        thinking,
        say(rng, say_it, r=best),
        say(rng, say_it, r=best),
        best,
        (first,),
    )


def _another_story(rng: random.Random) -> Example:
    first, second = _first(rng, stories.TASK, lambda _: True), stories.sample(rng)
    prompt = casual(
        rng,
        say(
            rng,
            (
                "[Another one[, please|].|One more story[, please|].|Tell me another story.|Again, "
                "with another hero.|More!]"
            ),
        ),
    )
    return Example(
        "follow ups",
        "another story",
        "",
        prompt,
        second.thinking,
        second.answer,
        second.answer_direct,
        None,
        (first,),
    )


def sample(rng: random.Random) -> Example:
    return pick(rng, (_go_on, _go_on, _turn_round, _another_story))(rng)


def check(example: Example, text: str) -> bool:
    return (
        last_numbers_are(example, text) if isinstance(example.truth, tuple) else last_number_is(example, text)
    )


TASK = Task("follow ups", 0.03, sample, check)
