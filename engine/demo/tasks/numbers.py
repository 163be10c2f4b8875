"""Small questions about numbers: even or odd, larger, double, half, squares, percent, sequences, primes."""

from __future__ import annotations

import random

from engine.demo.answers import last_number_is, yes_or_no_is
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.wording import cap, casual, join, pick, say

_SO = "[So|Then|Thus|Hence|Therefore]"


def _make(
    rng: random.Random,
    kind: str,
    key: str,
    ask: str,
    think: str,
    answer: str,
    truth: int | str,
    **values: object,
) -> Example:
    prompt = casual(rng, say(rng, ask, **values))
    thinking = cap(say(rng, think, **values))
    return Example(
        "numbers",
        kind,
        key,
        prompt,
        thinking,
        cap(say(rng, answer, **values)),
        cap(say(rng, answer, **values)),
        truth,
    )


def _parity(rng: random.Random) -> Example:
    n = rng.randint(1, 20) if rng.random() < 0.3 else rng.randint(21, 9999)
    wanted = pick(rng, ("even", "odd"))
    actual = "odd" if n % 2 else "even"
    truth = "yes" if wanted == actual else "no"
    last = n % 10
    return _make(
        rng,
        "parity",
        f"parity {n} {wanted}",
        "[Is {n} {w}?|Is {n} an {w} number?|Is the number {n} {w}?|Tell me if {n} is {w}.|{n}: is it {w}?]",
        "[I check whether {n} is {w}|The question is whether {n} is {w}|Even or odd, {n}|"
        "Look at {n}]. [The last digit is {d}|It ends in {d}|Its ones digit is {d}], "
        "[and {d} is|which is|that is] {a}. " + _SO + " {n} is {a}[, and the answer is {t}|, so {t}|: {t}].",
        (
            "{T}, {n} is [{a}|an {a} number][.|, because it ends in {d}.|, as its last digit is "
            "{d}.|: the last digit, {d}, is {a}.|, since {d} is {a}.]"
        ),
        truth,
        n=n,
        w=wanted,
        a=actual,
        d=last,
        t=truth,
        T=cap(truth),
    )


def _compare(rng: random.Random) -> Example:
    size = pick(rng, (10, 100, 100, 1000, 10000))
    a, b = rng.sample(range(size), 2)
    word, _ = pick(
        rng,
        (
            ("larger", "smaller"),
            ("bigger", "smaller"),
            ("greater", "less"),
            ("smaller", "larger"),
            ("less", "greater"),
        ),
    )
    r = min(a, b) if word in ("smaller", "less") else max(a, b)
    other = a + b - r
    la, lb = len(str(a)), len(str(b))
    if la != lb:
        why = "[{r} and {o} differ in length|One of them has more digits|They have {la} and {lb} digits]"
    else:
        at = next(i for i in range(la) if str(a)[i] != str(b)[i])
        why = say(
            rng,
            (
                "[Both have the same length|They are equally long|Same number of digits]. [Digit by "
                "digit|From the left|The first difference]: {x} against {y}"
            ),
            x=str(a)[at],
            y=str(b)[at],
        )
    return _make(
        rng,
        "compare",
        f"compare {a} {b} {word}" if max(a, b) > 20 else "",
        (
            "[Which is {w}, {a} or {b}?|Which number is {w}: {a} or {b}?|What is {w}, {a} or "
            "{b}?|{a} or {b}, which is {w}?]"
        ),
        (
            "[I compare {a} and {b}|Two numbers, {a} and {b}|The question is which one is {w}|"
            "Let me compare {a} with {b}]. "
        )
        + why
        + ". "
        + _SO
        + " [the {w} one is {r}|{r} is {w}|it is {r}|the answer is {r}].",
        (
            "[The {w} number is {r}|The {w} one is {r}|Of the two, the {w} one is {r}|It is {r}|"
            "Compared with {o}, {w} is {r}]."
        ),
        r,
        a=a,
        b=b,
        w=word,
        r=r,
        o=other,
        la=la,
        lb=lb,
    )


def _double(rng: random.Random) -> Example:
    n = rng.randint(1, 99) if rng.random() < 0.7 else rng.randint(100, 499)
    return _make(
        rng,
        "double",
        f"double {n}" if n > 20 else "",
        (
            "[What is double {n}?|Double {n}.|What is twice {n}?|What is the double of {n}?|What "
            "is two times {n}?]"
        ),
        "[Double means {n} + {n}|Twice {n} is {n} + {n}|I add {n} to itself|Two times {n}, so {n} + {n}]. "
        + _parts(n, 2)
        + _SO
        + " [the double is|it is|I get|the answer is] {r}.",
        "[Double {n} is|Twice {n} is|The double of {n} is|{n} + {n} =|Two times {n} makes|That is] {r}.",
        2 * n,
        n=n,
        r=2 * n,
    )


def _parts(n: int, factor: int) -> str:
    """The same multiple place by place, as template text."""
    if n < 10:
        return ""
    places = [int(d) * 10**i for i, d in enumerate(reversed(str(n))) if d != "0"][::-1]
    if len(places) == 1:
        return ""
    parts = " + ".join(str(p * factor) for p in places)
    return f"[In parts|Place by place|Piece by piece|By parts]: {parts} = {n * factor}. "


def _half(rng: random.Random) -> Example:
    r = rng.randint(1, 50) if rng.random() < 0.7 else rng.randint(51, 250)
    n = 2 * r
    return _make(
        rng,
        "half",
        f"half {n}" if n > 20 else "",
        "[What is half of {n}?|Half of {n}?|Halve {n}.|What is one half of {n}?|How much is half of {n}?]",
        (
            "[Half means {n} divided by 2|I split {n} into two equal parts|Half of {n} is {n} / "
            "2|Two equal parts of {n}]. [{r} + {r} = {n}|2 × {r} = {n}|Twice {r} is {n}]. "
        )
        + _SO
        + " [half is|it is|I get|the answer is] {r}.",
        "[Half of {n} is|{n} / 2 =|Half of it is|One half of {n} makes|That is] {r}.",
        r,
        n=n,
        r=r,
    )


def _square(rng: random.Random) -> Example:
    n = rng.randint(1, 12) if rng.random() < 0.6 else rng.randint(13, 30)
    if rng.random() < 0.3:
        n = rng.randint(1, 12)
        return _make(
            rng,
            "root",
            "",
            "[What is the square root of {s}?|Square root of {s}?|sqrt({s})|Find the square root of {s}.]",
            (
                "[Which number times itself is {s}|I look for x × x = {s}|A number whose square is "
                "{s}]? {n} × {n} = {s}. "
            )
            + _SO
            + " [the root is|it is|the answer is] {n}.",
            "[The square root of {s} is|It is|The root is|Because of the times table it is] {n}.",
            n,
            n=n,
            s=n * n,
        )
    tens, ones = divmod(n, 10)
    work = f"{n} × {tens * 10} = {n * tens * 10} and {n} × {ones} = {n * ones}. " if n > 12 and ones else ""
    return _make(
        rng,
        "square",
        "",
        "[What is {n} squared?|What is the square of {n}?|{n}^2|Square {n}.|{n} squared?|What is {n}^2?]",
        "[Squared means {n} × {n}|The square is {n} times {n}|I multiply {n} by itself]. "
        + work
        + "{n} × {n} = {r}. "
        + _SO
        + " [the square is|it is|the answer is] {r}.",
        "[{n} squared is|The square of {n} is|{n} × {n} =|That is|It is] {r}.",
        n * n,
        n=n,
        r=n * n,
    )


def _percent(rng: random.Random) -> Example:
    p, unit = pick(rng, ((10, 10), (50, 2), (25, 4), (20, 5), (100, 1), (5, 20), (1, 100)))
    r = rng.randint(1, 30)
    n = r * unit
    how = {
        10: "divide by 10",
        50: "take the half",
        25: "take a quarter",
        20: "take a fifth",
        100: "take all of it",
        5: "take a twentieth",
        1: "divide by 100",
    }[p]
    return _make(
        rng,
        "percent",
        f"percent {p} {n}",
        (
            "[What is {p}% of {n}?|{p}% of {n}|What is {p} percent of {n}?|How much is {p}% of "
            "{n}?|Calculate {p}% of {n}.]"
        ),
        (
            "[{p} percent means: {how}|For {p}% I {how}|{p}% is easy: {how}|To get {p}%, {how}]. "
            "[{n} / {u} = {r}|{n} divided by {u} is {r}]. "
        )
        + _SO
        + " [it is|the answer is|I get] {r}.",
        "[{p}% of {n} is|{p} percent of {n} [is|makes]|That is|{n} / {u} =|It comes to] {r}.",
        r,
        p=p,
        n=n,
        u=unit,
        r=r,
        how=how,
    )


def _sequence(rng: random.Random) -> Example:
    start, step = rng.randint(1, 30), rng.randint(1, 12)
    if rng.random() < 0.2:
        start = rng.randint(1, 6)
        terms = [start * 2**i for i in range(5)]
        rule, work = "[doubles|is twice the one before]", f"{terms[3]} × 2 = {terms[4]}"
    elif rng.random() < 0.25:
        terms = [start + 4 * step - i * step for i in range(5)]
        rule, work = f"[goes down by {step}|is {step} less]", f"{terms[3]} - {step} = {terms[4]}"
    else:
        terms = [start + i * step for i in range(5)]
        rule, work = f"[goes up by {step}|is {step} more]", f"{terms[3]} + {step} = {terms[4]}"
    shown = ", ".join(map(str, terms[:4]))
    return _make(
        rng,
        "sequence",
        f"sequence {shown}",
        (
            "[What comes next: {s}?|What is the next number: {s}, ...?|Continue the sequence "
            "{s}.|{s}, what comes next?|Next number in {s}?]"
        ),
        (
            "[I look at the steps|The numbers are {s}|Compare the neighbours|Look at the "
            "differences]. [Each one|Every number|Each term] "
        )
        + rule
        + ". "
        + _SO
        + " [next is|we get|the next one is] {w}.",
        "[The next number is|Next comes|After that comes|Each one "
        + rule.replace("[", "[")
        + ", so next is|It goes on with] {r}.",
        terms[4],
        s=shown,
        w=work,
        r=terms[4],
    )


def _prime(rng: random.Random) -> Example:
    n = rng.randint(2, 60)
    divisor = next((d for d in range(2, n) if n % d == 0), None)
    truth = "no" if divisor else "yes"
    ask = "[Is {n} a prime number?|Is {n} prime?|Is {n} a prime?|Tell me if {n} is prime.]"
    if divisor:
        return _make(
            rng,
            "prime",
            "",
            ask,
            (
                "[I look for a divisor of {n}|A prime has no divisor but 1 and itself|Try small "
                "divisors of {n}]. {d} × {q} = {n}[, so {d} divides it|, there is one|]. "
            )
            + _SO
            + " [it is not prime|{n} is no prime].",
            (
                "No, {n} is [not prime|not a prime number|no prime][: {d} × {q} = {n}|, because it "
                "is {d} × {q}|, as {d} divides it]."
            ),
            truth,
            n=n,
            d=divisor,
            q=n // divisor,
        )
    return _make(
        rng,
        "prime",
        "",
        ask,
        (
            "[I look for a divisor of {n}|A prime has no divisor but 1 and itself|Try small "
            "divisors of {n}]. [None of 2, 3, 5 and 7 helps|No smaller number from 2 on divides "
            "it|Nothing but 1 and {n} works]. "
        )
        + _SO
        + " [it is prime|{n} is a prime].",
        (
            "Yes, {n} is [prime|a prime number|a prime][.|: only 1 and {n} divide it.|, nothing "
            "else divides it.]"
        ),
        truth,
        n=n,
    )


def _count_to(rng: random.Random) -> Example:
    n = rng.randint(3, 15)
    down = rng.random() < 0.3
    values = list(range(n, 0, -1)) if down else list(range(1, n + 1))
    text = ", ".join(map(str, values))
    prompt = casual(
        rng,
        say(
            rng,
            "[Count down from {n}.|Count from {n} down to 1.|Count backwards from {n}.]"
            if down
            else "[Count to {n}.|Count from 1 to {n}.|Can you count to {n}?]",
            n=n,
        ),
    )
    thinking = say(
        rng,
        "[I count|Counting|One by one] "
        + ("[down from {n}|from {n} to 1]" if down else "[up to {n}|from 1 to {n}]")
        + ", [one step at a time|without leaving any out|step by step].",
        n=n,
    )
    answer = join(pick(rng, ("Sure:", "Of course:", "Here we go:", "Gladly:")), text + ".")
    return Example("numbers", "count", "", prompt, thinking, answer, answer, values[-1])


_SAMPLERS = (_parity, _compare, _double, _half, _square, _percent, _sequence, _prime, _count_to)
_WEIGHTS = (0.15, 0.15, 0.12, 0.1, 0.12, 0.12, 0.12, 0.07, 0.05)


def sample(rng: random.Random) -> Example:
    return rng.choices(_SAMPLERS, _WEIGHTS)[0](rng)


def check(example: Example, text: str) -> bool:
    return yes_or_no_is(example, text) if isinstance(example.truth, str) else last_number_is(example, text)


TASK = Task("numbers", 0.06, sample, check)
