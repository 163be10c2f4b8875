"""Converting units: lengths, weights, times, volumes, temperatures."""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.demo.answers import last_number_is
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.wording import cap, casual, join, pick, say

_SO = "[So|Then|Thus|Hence|Therefore]"


@dataclass(frozen=True, slots=True)
class _Pair:
    """``factor`` small units make one large unit; each unit as (singular, plural, spellings people type)."""

    large: tuple[str, str, tuple[str, ...]]
    small: tuple[str, str, tuple[str, ...]]
    factor: int
    top: int
    halves: bool = False


_KM = ("kilometer", "kilometers", ("km", "kilometers"))
_M = ("meter", "meters", ("m", "meters"))
_CM = ("centimeter", "centimeters", ("cm", "centimeters"))
_MM = ("millimeter", "millimeters", ("mm", "millimeters"))
_KG = ("kilogram", "kilograms", ("kg", "kilograms"))
_G = ("gram", "grams", ("g", "grams"))
_L = ("liter", "liters", ("l", "liters"))
_ML = ("milliliter", "milliliters", ("ml", "milliliters"))
_H = ("hour", "hours", ("hours",))
_MIN = ("minute", "minutes", ("minutes", "min"))
_S = ("second", "seconds", ("seconds",))

_PAIRS = (
    _Pair(_KM, _M, 1000, 99, True), _Pair(_M, _CM, 100, 99, True), _Pair(_CM, _MM, 10, 99, True),
    _Pair(_KG, _G, 1000, 99, True), _Pair(_L, _ML, 1000, 50, True), _Pair(_H, _MIN, 60, 24, True),
    _Pair(_MIN, _S, 60, 30), _Pair(("day", "days", ("days",)), _H, 24, 14),
    _Pair(("week", "weeks", ("weeks",)), ("day", "days", ("days",)), 7, 30),
    _Pair(("year", "years", ("years",)), ("month", "months", ("months",)), 12, 20),
    _Pair(("foot", "feet", ("feet", "ft")), ("inch", "inches", ("inches", "in")), 12, 20),
    _Pair(("ton", "tons", ("tons", "t")), _KG, 1000, 60),
    _Pair(("dollar", "dollars", ("dollars",)), ("cent", "cents", ("cents",)), 100, 80),
    _Pair(("yard", "yards", ("yards",)), ("foot", "feet", ("feet",)), 3, 40),
    _Pair(("dozen", "dozen", ("dozen",)), ("egg", "eggs", ("eggs",)), 12, 12),
)  # fmt: skip

_ASK = (
    "[Convert {a} {u} to {v}.|How many {v} are {a} {u}?|How many {v} are in {a} {u}?|"
    "What is {a} {u} in {v}?|{a} {u} to {v}|{a} {u} in {v}"
    "|Change {a} {u} into {v}.|Express {a} {u} in {v}.|How much is {a} {u} in {v}?|Turn {a} {u} into {v}.]"
)


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _convert(rng: random.Random) -> Example:
    pair = pick(rng, _PAIRS)
    value: float = rng.randint(1, min(20, pair.top)) if rng.random() < 0.6 else rng.randint(1, pair.top)
    if pair.halves and rng.random() < 0.2:
        value += 0.5
    down = rng.random() < 0.6
    big, small = _number(value), _number(value * pair.factor)
    source, goal = (pair.large, pair.small) if down else (pair.small, pair.large)
    a, r = (big, small) if down else (small, big)
    u, v = pick(rng, source[2]), pick(rng, goal[2])
    prompt = casual(rng, say(rng, _ASK, a=a, u=u, v=v))
    one = f"1 {pair.large[0]} [is|has|makes] {pair.factor} {pair.small[1]}"
    if down:
        rule = (
            f"[{one}|One {pair.large[0]} is {pair.factor} {pair.small[1]}], so [multiply by|I "
            f"multiply by|we multiply by|it is times] {pair.factor}"
        )
        work = _times(rng, value, pair.factor)
    else:
        rule = (
            f"[{one}|One {pair.large[0]} is {pair.factor} {pair.small[1]}], so [divide|I divide|"
            f"we divide] by {pair.factor}"
        )
        work = say(rng, "[{a} / {f} = {r}|{a} divided by {f} is {r}]", a=a, f=pair.factor, r=r)
        if pair.factor < 100 and pair.factor != 10:
            work += say(rng, "[, because {r} × {f} = {a}|, as {r} × {f} = {a}|]", a=a, f=pair.factor, r=r)
    goal_name = goal[0] if r == "1" else goal[1]
    source_name = source[0] if a == "1" else source[1]
    unit_in = source_name if rng.random() < 0.6 else u
    unit_out = goal_name if rng.random() < 0.6 else v
    intro = say(
        rng,
        "[From {u} to {v}|I convert {u} to {v}|The task is {a} {u} in {v}|{u} into {v}|We need {v}].",
        a=a,
        u=source[1],
        v=goal[1],
    )
    end = say(rng, _SO + " [it is|the answer is|we get|I get] {r} {v}.", r=r, v=goal_name)
    say_it = (
        "[{a} {u} [is|are|equals|makes] {r} {v}|That is {r} {v}|It is {r} {v}|{a} {u} = {r} "
        "{v}|The result is {r} {v}|You get {r} {v}|In {V} that is {r}]."
    )
    answer = cap(say(rng, say_it, a=a, u=unit_in, r=r, v=unit_out, V=goal[1]))
    direct = cap(say(rng, say_it, a=a, u=unit_in, r=r, v=unit_out, V=goal[1]))
    if rng.random() < 0.4:
        direct = join(cap(say(rng, rule)) + ".", direct)
    elif pair.factor in (60, 24, 12, 7):
        direct = join(cap(work) + ".", direct)
    key = f"{pair.large[0]} {pair.small[0]} {down} {a}" if value > 10 else ""
    return Example(
        "units",
        "convert",
        key,
        prompt,
        join(cap(intro), cap(say(rng, rule)) + ".", cap(work) + ".", end),
        answer,
        direct,
        float(r),
    )


def _times(rng: random.Random, value: float, factor: int) -> str:
    total = _number(value * factor)
    if factor in (10, 100, 1000) or value < 10 or value != int(value) or factor < 10:
        return say(rng, "[{a} × {f} = {t}|{a} times {f} is {t}]", a=_number(value), f=factor, t=total)
    tens, ones = divmod(int(value), 10)
    if not ones:
        return say(
            rng,
            "{tens} × {f} = {p}, [ten times that is|with a zero it is|and with a zero] {t}",
            tens=tens,
            f=factor,
            p=tens * factor,
            t=total,
        )
    return say(
        rng,
        "{x} × {f} = {p}[ and|, then|,] {ones} × {f} = {q}[, together|; sum|, and] {p} + {q} = {t}",
        x=tens * 10,
        ones=ones,
        f=factor,
        p=tens * 10 * factor,
        q=ones * factor,
        t=total,
    )


def _temperature(rng: random.Random) -> Example:
    c = rng.randrange(-20, 105, 5)
    f = c * 9 // 5 + 32
    to_f = rng.random() < 0.65
    a, r, u, v = (c, f, "Celsius", "Fahrenheit") if to_f else (f, c, "Fahrenheit", "Celsius")
    shown = pick(rng, (f"{a} degrees {u}", f"{a} {u}", f"{a} °{u[0]}", f"{a} {u[0]}"))
    prompt = casual(
        rng,
        say(
            rng,
            "[Convert {s} to {v}.|What is {s} in {v}?|{s} to {v}|How much is {s} in {v}?|{s} in {v}?]",
            s=shown,
            v=v,
        ),
    )
    if to_f:
        rule = (
            "[Times 9, divided by 5, plus 32|Multiply by 9, divide by 5, add 32|The rule is × 9, / 5, + 32]"
        )
        work = f"{c} × 9 = {c * 9}, {c * 9} / 5 = {c * 9 // 5}, {c * 9 // 5} + 32 = {f}"
    else:
        rule = (
            "[Minus 32, times 5, divided by 9|Subtract 32, multiply by 5, divide by 9|The rule "
            "is - 32, × 5, / 9]"
        )
        work = f"{f} - 32 = {f - 32}, {f - 32} × 5 = {(f - 32) * 5}, {(f - 32) * 5} / 9 = {c}"
    answer = say(
        rng,
        "[{a} degrees {u} is|That is|It is|It makes|In {v} it is|{a} {u} equals] {r} degrees[ {v}|].",
        a=a,
        u=u,
        v=v,
        r=r,
    )
    thinking = join(
        say(rng, "[From {u} to {v}|I convert {u} to {v}|A temperature in {u}].", u=u, v=v),
        say(rng, rule) + ".",
        cap(work) + ".",
        say(rng, _SO + " [it is|we get|I get] {r}.", r=r),
    )
    return Example("units", "temperature", "", prompt, thinking, answer, join(cap(work) + ".", answer), r)


def sample(rng: random.Random) -> Example:
    return _convert(rng) if rng.random() < 0.85 else _temperature(rng)


def check(example: Example, text: str) -> bool:
    return last_number_is(example, text)


TASK = Task("units", 0.08, sample, check)
