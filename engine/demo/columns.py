"""Written arithmetic, digit by digit from the ones place, in words that keep changing.

Every function returns the sentences of the work; the values in them are exact, the wording is drawn anew
for each step. ``running`` adds the part of the result found so far, which makes reading it off easy.
"""

from __future__ import annotations

import random

from engine.demo.wording import cap, join, pick, say

PLACES = ("ones", "tens", "hundreds", "thousands", "ten-thousands", "hundred-thousands", "millions")

_FIRST = "[Ones|The ones|First the ones|Starting with the ones|Beginning with the ones|Start with the ones]: "
_NEXT = (
    "[{place}|the {place}|then the {place}|next the {place}|now the {place}|then {place}|"
    "next {place}|now {place}]: "
)
_NO_CARRY = "[write {digit}|put down {digit}|note {digit}|keep {digit}|so {digit}|{digit} goes here]"
_CARRY = (
    "[write {digit}, carry {carry}|put down {digit}, carry {carry}|note {digit} and carry {carry}"
    "|keep {digit}, carry {carry}|{digit} stays and {carry} moves on|so {digit}, and {carry} moves on]"
)
_SO_FAR = "[so far|now we have|that gives|giving|we are at|result so far] {digits}"


def _lead(rng: random.Random, place: int) -> str:
    return say(rng, _FIRST if place == 0 else cap(say(rng, _NEXT, place=PLACES[place])))


def add_steps(rng: random.Random, a: int, b: int, running: bool = True) -> str:
    """Column addition of two natural numbers."""
    width = max(len(str(a)), len(str(b)))
    carry, result = 0, ""
    steps = []
    for place in range(width):
        x, y = a // 10**place % 10, b // 10**place % 10
        total = x + y + carry
        if carry:
            work = say(
                rng,
                "[{x}+{y}+{c}={t}|{x}+{y}+{c}={t}|{x}+{y}={s}, plus {c} [is|makes|gives] {t}]",
                x=x,
                y=y,
                c=carry,
                t=total,
                s=x + y,
            )
        else:
            work = say(rng, "{x}+{y}={t}", x=x, y=y, t=total)
        carry, digit = divmod(total, 10)
        result = f"{digit}{result}"
        tail = say(rng, _CARRY if carry else _NO_CARRY, digit=digit, carry=carry)
        so_far = say(rng, ", " + _SO_FAR, digits=result) if running and place else ""
        steps.append(f"{_lead(rng, place)}{work}, {tail}{so_far}.")
    if carry:
        steps.append(
            say(
                rng,
                (
                    "[The last 1 goes in front|The carried 1 comes first|The 1 we carried leads|A 1 is "
                    "left for the front]: {r}."
                ),
                r=f"1{result}",
            )
        )
    return " ".join(steps)


def subtract_steps(rng: random.Random, a: int, b: int, running: bool = True) -> str:
    """Column subtraction with borrowing, for ``a >= b >= 0``."""
    width = len(str(a))
    borrow, result = 0, ""
    steps = []
    for place in range(width):
        x, y = a // 10**place % 10, b // 10**place % 10
        top = x - borrow
        lent = (
            say(
                rng,
                "[{x}-1={t} after the borrow|{x} lent 1, so {t}|{x} becomes {t}|{x} is down to {t}], ",
                x=x,
                t=top,
            )
            if borrow
            else ""
        )
        if top < y:
            work = say(
                rng,
                (
                    "[{t}-{y} is too small, so borrow|{t} is less than {y}, so borrow|{t}-{y} does not "
                    "go, borrow|borrow, as {t} is below {y}]: {u}-{y}={d}"
                ),
                t=top,
                y=y,
                u=top + 10,
                d=top + 10 - y,
            )
        else:
            work = say(rng, "{t}-{y}={d}", t=top, y=y, d=top - y)
        borrow = int(top < y)
        result = f"{(top - y) % 10}{result}"
        so_far = say(rng, ", " + _SO_FAR, digits=result) if running and place else ""
        steps.append(f"{_lead(rng, place)}{lent}{work}{so_far}.")
    if width > 1 and result[0] == "0":
        steps.append(
            say(
                rng,
                (
                    "[Without the leading zeros that is|Dropping the zeros in front leaves|The zeros in "
                    "front go, leaving] {r}."
                ),
                r=int(result),
            )
        )
    return " ".join(steps)


def digit_product_steps(rng: random.Random, a: int, digit: int, running: bool = True) -> str:
    """``a`` times one digit, place by place."""
    if len(str(a)) == 1:
        return say(rng, "{a}×{d}={p}.", a=a, d=digit, p=a * digit)
    carry, result = 0, ""
    steps = []
    width = len(str(a))
    for place in range(width):
        x = a // 10**place % 10
        total = x * digit + carry
        work = f"{x}×{digit}+{carry}={total}" if carry else f"{x}×{digit}={total}"
        if place == width - 1:
            result = f"{total}{result}"
            steps.append(
                say(rng, "{work}[, so|, which gives|, that makes|, together] {r}.", work=work, r=result)
            )
            break
        carry, digit_here = divmod(total, 10)
        result = f"{digit_here}{result}"
        tail = say(rng, _CARRY if carry else _NO_CARRY, digit=digit_here, carry=carry)
        steps.append(f"{work}, {tail}.")
    return cap(" ".join(steps))


def multiply_steps(rng: random.Random, a: int, b: int) -> str:
    """``a`` times ``b`` (at most two digits) by partial products and one column addition."""
    if b < 10:
        return digit_product_steps(rng, a, b)
    tens, ones = divmod(b, 10)
    tens_part = a * tens * 10
    shift = say(
        rng,
        (
            "[Times|Now times|Then times|Next, times] {n}: {work} [With the zero|Adding a zero|"
            "Tens add a zero|And a zero]: {p}."
        ),
        n=tens * 10 if rng.random() < 0.5 else f"{tens} tens",
        work=digit_product_steps(rng, a, tens),
        p=tens_part,
    )
    if ones == 0:
        return shift
    first = say(
        rng,
        "[Times|First times|Start with times|To begin, times] {n}: {work}",
        n=ones,
        work=digit_product_steps(rng, a, ones),
    )
    total = say(
        rng,
        "[Add|Now add|Then add|Sum] {x} [and|to|plus] {y}. {work}",
        x=a * ones,
        y=tens_part,
        work=add_steps(rng, tens_part, a * ones, running=True),
    )
    return join(first, shift, total)


def divide_steps(rng: random.Random, a: int, b: int) -> str:
    """Long division of ``a`` by ``b`` (1 to 12), digit by digit from the left."""
    rest, quotient = 0, ""
    steps: list[str] = []
    for digit in str(a):
        part = rest * 10 + int(digit)
        times, left = divmod(part, b)
        if not quotient and times == 0 and len(steps) + 1 < len(str(a)):
            rest = part
            continue
        quotient = f"{quotient}{times}" if quotient else str(times)
        lead = (
            pick(rng, ("Next", "Then", "Now", "After that"))
            if steps
            else pick(rng, ("First", "Start", "Look", "To begin"))
        )
        steps.append(
            say(
                rng,
                (
                    "{lead}: {b} goes into {part} {t} [time|time]{s}, {b}×{t}={p}, [{left} left|"
                    "remainder {left}|rest {left}|leaving {left}]."
                ),
                lead=lead,
                b=b,
                part=part,
                t=times,
                s="" if times == 1 else "s",
                p=b * times,
                left=left,
            )
        )
        rest = left
    digits = (
        say(rng, "[The digits make|Written together|The quotient is|Side by side] {q}.", q=quotient)
        if len(quotient) > 1
        else ""
    )
    return join(*steps, digits)
