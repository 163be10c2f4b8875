"""Sums, differences, products, quotients and small expressions."""

from __future__ import annotations

import random
from collections.abc import Callable

from engine.demo.answers import last_number_is, last_numbers_are
from engine.demo.columns import add_steps, divide_steps, multiply_steps, subtract_steps
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.tasks.sums import QUESTIONS
from engine.demo.wording import cap, casual, join, pick, say

_RESTATE = {
    "add": (
        "[I need the sum of {a} and {b}|The task is {a} plus {b}|We want {a} + {b}|Two "
        "numbers to add, {a} and {b}|Let me add {a} and {b}|So {a} and {b} should be added]."
    ),
    "subtract": (
        "[I need {a} minus {b}|We want {a} - {b}|Take {b} from {a}|The task is {a} minus {b}|"
        "Let me subtract {b} from {a}|So {b} comes off {a}]."
    ),
    "multiply": (
        "[I need {a} times {b}|We want {a} × {b}|The task is a product, {a} times {b}|Let me "
        "multiply {a} by {b}|So {a} taken {b} times]."
    ),
    "divide": (
        "[I need {a} divided by {b}|We want {a} / {b}|The task is to split {a} by {b}|Let me "
        "divide {a} by {b}|So {b} has to go into {a}]."
    ),
}

_RESULT = "[So|Then|Thus|Hence|Therefore] [the [result|answer|total] is|we get|I get|it comes to|it is] {r}."
_CHECK = "[A quick check|Checking|Let me check|To be sure|Rough check]: "

_WORDED = {
    "add": (
        "[{a} plus {b} [is|makes|equals|gives]|the sum is|together they [make|give]|the sum "
        "of {a} and {b} is|adding {a} and {b} [gives|makes]|{a} + {b} =|the total is|that "
        "makes|the answer is|it comes to] {r}."
    ),
    "subtract": (
        "[{a} minus {b} [is|makes|equals|leaves]|the difference is|subtracting {b} from {a} "
        "[gives|leaves]|taking {b} from {a} leaves|{a} - {b} =|that leaves|the answer is|it "
        "comes to] {r}."
    ),
    "multiply": (
        "[{a} times {b} [is|makes|equals|gives]|the product is|the product of {a} and {b} is|"
        "multiplying {a} by {b} [gives|makes]|{a} × {b} =|that makes|the answer is|it comes "
        "to] {r}."
    ),
    "divide": (
        "[{a} divided by {b} [is|makes|equals|gives]|the quotient is|dividing {a} by {b} "
        "[gives|makes]|{a} / {b} =|that makes|the answer is|it comes to] {r}."
    ),
}
_SYMBOL = {"add": "+", "subtract": "-", "multiply": "×", "divide": "/"}


def _natural(rng: random.Random, digits: int) -> int:
    return rng.randrange(10 ** (digits - 1) if digits > 1 else 0, 10**digits)


def _sized_pair(rng: random.Random, weights: tuple[float, ...]) -> tuple[int, int]:
    """Two naturals whose longer one has 1, 2, ... digits with the given weights."""
    longer = rng.choices(range(1, len(weights) + 1), weights)[0]
    shorter = longer if rng.random() < 0.6 else rng.randint(1, longer)
    pair = _natural(rng, longer), _natural(rng, shorter)
    return pair if rng.random() < 0.7 else pair[::-1]


def short_answer(rng: random.Random, kind: str, a: int, b: int, r: object) -> str:
    """A sentence or two that end in the result."""
    text = cap(say(rng, _WORDED[kind], a=a, b=b, r=r))
    if rng.random() < 0.3:
        symbol = _SYMBOL[kind]
        text = (
            f"{text[:-1]}: {a} {symbol} {b} = {r}."
            if " = " not in text
            else f"{pick(rng, ('Sure.', 'Here it is.', 'That is easy.', 'Of course.'))} {text}"
        )
    return text


def _key(kind: str, a: int, b: int) -> str:
    """Nothing is held out of the tables: sums to 20, products and quotients to 12 × 12."""
    if kind in ("add", "subtract"):
        in_table = max(a, b) <= 20
    elif kind == "multiply":
        in_table = max(a, b) <= 12
    else:
        in_table = a <= 12 * b and a % b == 0
    return "" if in_table else f"{kind} {a} {b}"


def _example(
    rng: random.Random, kind: str, a: int, b: int, r: int, work: str, easy: bool, check: str = ""
) -> Example:
    prompt = casual(rng, say(rng, pick(rng, QUESTIONS[kind]), a=a, b=b))
    restate = say(rng, _RESTATE[kind], a=a, b=b)
    thinking = join(restate, work, check, say(rng, _RESULT, r=r))
    answer = short_answer(rng, kind, a, b, r)
    direct = (
        answer
        if easy
        else join(
            say(rng, "[Step by step|Let me work it out|In columns|Working it out|Here are the steps]. "), work
        ).replace("  ", " ")
    )
    if not easy:
        direct = join(
            direct, say(rng, "[So|Thus|Therefore|Hence|All in all,] ") + answer[0].lower() + answer[1:]
        ).replace("  ", " ")
    return Example("arithmetic", kind, _key(kind, a, b), prompt, thinking, answer, direct, r)


def _add(rng: random.Random) -> Example:
    a, b = _sized_pair(rng, (0.15, 0.35, 0.28, 0.14, 0.08))
    big = max(a, b)
    easy = big < 100
    work = (
        say(rng, "{a} + {b} [is|makes|gives] {r}.", a=a, b=b, r=a + b) if big < 10 else add_steps(rng, a, b)
    )
    check = ""
    if big >= 100 and rng.random() < 0.25:
        x, y = _rounded(a), _rounded(b)
        check = say(
            rng,
            _CHECK + "{x} + {y} is about {s}[, that fits|, fine|, close enough|, so it fits].",
            x=x,
            y=y,
            s=x + y,
        )
    return _example(rng, "add", a, b, a + b, work, easy, check)


def _rounded(number: int) -> int:
    """To one leading digit."""
    unit: int = 10 ** (len(str(number)) - 1)
    return (number + unit // 2) // unit * unit


def _subtract(rng: random.Random) -> Example:
    a, b = _sized_pair(rng, (0.15, 0.35, 0.3, 0.15, 0.05))
    if a < b and (rng.random() < 0.8 or b > 999):
        a, b = b, a
    easy = max(a, b) < 100
    big, small = max(a, b), min(a, b)
    work = (
        say(rng, "{a} - {b} [is|makes|leaves] {r}.", a=big, b=small, r=big - small)
        if big < 10
        else subtract_steps(rng, big, small)
    )
    if a < b:
        note = say(
            rng,
            (
                "[{a} is smaller than {b}, so the result is below zero|{b} is larger, so it will be "
                "negative|The result is negative, as {b} is larger]."
            ),
            a=a,
            b=b,
        )
        flip = say(rng, "[I turn it round|Swap them|The other way round|Reversed]: {b} - {a}. ", a=a, b=b)
        work = join(
            note,
            flip + work,
            say(rng, "[With the minus|Add the minus sign|Now the minus sign|Negative]: -{r}.", r=b - a),
        )
    check = ""
    if a > b and rng.random() < 0.2:
        check = say(rng, _CHECK + "{r} + {b} = {a}[, right|, good|, that fits|, correct].", r=a - b, b=b, a=a)
    return _example(rng, "subtract", a, b, a - b, work, easy, check)


def _multiply(rng: random.Random) -> Example:
    shape = rng.random()
    if shape < 0.3:
        a, b = rng.randint(0, 12), rng.randint(0, 12)
        work = say(
            rng,
            "[From the table|From memory|I know that one|Times table]: {a} × {b} = {r}.",
            a=a,
            b=b,
            r=a * b,
        )
        return _example(rng, "multiply", a, b, a * b, work, easy=True)
    if shape < 0.4:
        a, b = rng.randint(2, 999), pick(rng, (10, 100, 1000))
        zeros = len(str(b)) - 1
        work = say(
            rng,
            "[Times|Multiplying by] {b} [adds|just adds|appends|puts] {z} zero{s}[ at the end|]: {r}.",
            b=b,
            z=zeros,
            s="" if zeros == 1 else "s",
            r=a * b,
        )
        return _example(rng, "multiply", a, b, a * b, work, easy=False)
    a = rng.randint(11, 99) if shape < 0.75 else rng.randint(100, 999)
    b = rng.randint(2, 9) if rng.random() < 0.5 else rng.randint(11, 99)
    work = multiply_steps(rng, a, b)
    if rng.random() < 0.2 and b < 10:
        a, b = b, a
    return _example(rng, "multiply", a, b, a * b, work, easy=False)


def _divide(rng: random.Random) -> Example:
    b = rng.randint(2, 9) if rng.random() < 0.8 else rng.randint(10, 12)
    shape = rng.random()
    if shape < 0.03:
        return _by_zero(rng)
    if shape < 0.4:
        r = rng.randint(1, 12)
        work = say(
            rng,
            "[{b} × {r} = {a}, so it goes {r} times|{r} times {b} [is|makes] {a}|{a} is {r} × {b}].",
            a=b * r,
            b=b,
            r=r,
        )
        return _example(rng, "divide", b * r, b, r, work, easy=True)
    if shape < 0.85:
        r = rng.randint(13, 99) if shape < 0.65 else rng.randint(100, 500)
        return _example(rng, "divide", b * r, b, r, divide_steps(rng, b * r, b), easy=False)
    a = rng.randint(b + 1, 99)
    return _with_remainder(rng, a if a % b else a + 1, b)


def _by_zero(rng: random.Random) -> Example:
    a = rng.randint(1, 99)
    prompt = casual(rng, say(rng, pick(rng, QUESTIONS["divide"]), a=a, b=0))
    thinking = say(
        rng,
        (
            "[The divisor is 0|Someone divides by 0|{a} by zero]. [No number times 0 makes {a}|"
            "There is no such number|That has no value], so [I have to say so|there is no result|"
            "it cannot be done]."
        ),
        a=a,
    )
    answer = say(
        rng,
        (
            "[Dividing by zero is not possible|Nothing can be divided by zero|Division by zero "
            "has no result], [so {a} / 0 has no answer|because no number times 0 gives {a}]."
        ),
        a=a,
    )
    return Example("arithmetic", "by zero", "", prompt, thinking, answer, answer, None)


def _with_remainder(rng: random.Random, a: int, b: int) -> Example:
    q, left = divmod(a, b)
    prompt = casual(rng, say(rng, pick(rng, QUESTIONS["divide"]), a=a, b=b))
    work = say(
        rng,
        (
            "{restate} [{b} × {q} = {p}|{q} times {b} is {p}|The nearest multiple is {p}, {q} "
            "times {b}]. [From {p} to {a} there is|Left over:|That leaves|{a} - {p} =] {left}."
        ),
        restate=say(rng, _RESTATE["divide"], a=a, b=b),
        a=a,
        b=b,
        q=q,
        p=b * q,
        left=left,
    )
    answer = say(
        rng,
        (
            "[{a} / {b} is|{a} divided by {b} [is|gives|makes]|{b} goes into {a}|It does not "
            "come out even:|The result is|That gives] {q} remainder {left}."
        ),
        a=a,
        b=b,
        q=q,
        left=left,
    )
    answer = answer.replace(f"goes into {a} {q} remainder", f"goes into {a} {q} times, remainder")
    return Example("arithmetic", "remainder", _key("divide", a, b), prompt, work, answer, answer, (q, left))


def _expression(rng: random.Random) -> Example:
    shape = rng.randrange(5)
    x, y, z = rng.randint(1, 30), rng.randint(2, 12), rng.randint(2, 12)
    times = pick(rng, ("*", "*", "×", "x"))
    first_note, steps = "", ("", "")
    if shape == 0:
        text, first, r = f"{x} + {y} {times} {z}", f"{y} × {z} = {y * z}", x + y * z
        first_note, steps = "product", (first, f"{x} + {y * z} = {r}")
    elif shape == 1:
        r = y * z - min(x, y * z)
        x = min(x, y * z)
        text, first_note, steps = (
            f"{y} {times} {z} - {x}",
            "product",
            (f"{y} × {z} = {y * z}", f"{y * z} - {x} = {r}"),
        )
    elif shape == 2:
        x = rng.randint(1, 10)
        r = (x + y) * z
        text, first_note, steps = (
            f"({x} + {y}) {times} {z}",
            "brackets",
            (f"{x} + {y} = {x + y}", f"{x + y} × {z} = {r}"),
        )
    elif shape == 3:
        x, y, z = rng.randint(10, 60), rng.randint(1, 30), rng.randint(1, 30)
        r = x + y - min(z, x + y)
        z = min(z, x + y)
        text, first_note, steps = f"{x} + {y} - {z}", "left", (f"{x} + {y} = {x + y}", f"{x + y} - {z} = {r}")
    else:
        x, y, z = rng.randint(1, 50), rng.randint(1, 50), rng.randint(1, 50)
        r = x + y + z
        text, first_note, steps = f"{x} + {y} + {z}", "left", (f"{x} + {y} = {x + y}", f"{x + y} + {z} = {r}")
    rule = {
        "product": (
            "[The product comes first|Multiplication goes before plus and minus|First the "
            "multiplication|Times binds more tightly]"
        ),
        "brackets": (
            "[The brackets come first|First what is in the brackets|Brackets before anything "
            "else|Start inside the brackets]"
        ),
        "left": "[From left to right|I go from the left|Left to right|In order from the left]",
    }[first_note]
    key = f"expression {text.replace('×', '*').replace('x', '*')}"
    if rng.random() < 0.3:
        text = text.replace(" ", "") if "x" not in text else text
    prompt = casual(rng, say(rng, pick(rng, QUESTIONS["expression"]), e=text))
    work = say(rng, rule + ": {s}. [Then|Next|After that|Now]: {t}.", s=steps[0], t=steps[1])
    thinking = join(
        say(rng, "[The expression is {e}|I look at {e}|We have {e}|Two steps here, {e}].", e=text),
        work,
        say(rng, _RESULT, r=r),
    )
    close = say(
        rng,
        "[The answer is|So the result is|That makes|Altogether that is|The value is|So it comes to] {r}.",
        r=r,
    )
    direct = join(work, close)
    answer = cap(
        say(
            rng,
            (
                "[{e} [is|equals|makes|gives]|the answer is|the result is|the value is|it comes to|"
                "that makes] {r}."
            ),
            e=text,
            r=r,
        )
    )
    return Example("arithmetic", "expression", key, prompt, thinking, answer, direct, r)


_KINDS: tuple[tuple[Callable[[random.Random], Example], float], ...] = (
    (_add, 0.32), (_subtract, 0.23), (_multiply, 0.22), (_divide, 0.13), (_expression, 0.10),
)  # fmt: skip
_SAMPLERS = [kind for kind, _ in _KINDS]
_WEIGHTS = [weight for _, weight in _KINDS]


def sample(rng: random.Random) -> Example:
    return rng.choices(_SAMPLERS, _WEIGHTS)[0](rng)


def check(example: Example, text: str) -> bool:
    if example.kind == "remainder":
        return last_numbers_are(
            example, text.replace(" times, remainder ", ", ").replace(" remainder ", ", ")
        )
    return last_number_is(example, text)


TASK = Task("arithmetic", 0.24, sample, check)
