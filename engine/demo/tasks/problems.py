"""Word problems: every builder makes a story with its question, its steps and its result."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.demo.wording import cap, pick

NAMES = (
    "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Ida", "Jack", "Kate", "Leo",
    "Maya", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Tom", "Lucy", "Max", "Nora", "Oscar", "Sara",
    "Lily", "Mia", "Finn", "Ella", "Hugo",
)  # fmt: skip
THINGS = (
    "apples", "pears", "oranges", "books", "pencils", "marbles", "stickers", "coins", "stamps", "cookies",
    "balloons", "flowers", "shells", "stones", "cards", "candies", "eggs", "nuts", "buttons", "toys",
)  # fmt: skip
_BOXES = ("boxes", "bags", "baskets", "jars", "shelves", "packs", "crates", "drawers")


@dataclass(frozen=True, slots=True)
class Problem:
    """``story`` and ``question`` make the prompt; ``steps`` pair a reason with its equation.

    ``close`` is the last sentence without its full stop, with ``{r}`` for the result.
    """

    story: str
    question: str
    steps: tuple[tuple[str, str], ...]
    close: str
    result: int


def _gain(rng: random.Random, name: str, thing: str) -> Problem:
    a, b = rng.randint(2, 60), rng.randint(2, 40)
    return Problem(
        f"{name} has {a} {thing} and [gets|finds|buys|is given|collects] {b} more[.| {thing}.]",
        f"How many {thing} does {name} have [now|in total|altogether]?",
        (("[more {t} means adding|they come on top|the new ones are added]", f"{a} + {b} = {a + b}"),),
        f"[{name} has {{r}} {thing}|Now {name} has {{r}} {thing}|In total there are {{r}} {thing}]",
        a + b,
    )


def _lose(rng: random.Random, name: str, thing: str) -> Problem:
    a = rng.randint(10, 90)
    b = rng.randint(1, a - 2)
    return Problem(
        f"{name} has {a} {thing} and [gives away|loses|sells|uses up|hands out] {b}[.| of them.]",
        f"How many {thing} [are left|does {name} still have|remain]?",
        (("[some go away, so subtract|fewer {t} means minus|those are taken off]", f"{a} - {b} = {a - b}"),),
        (
            f"[{name} still has {{r}} {thing}|{name} has {{r}} {thing} left|There are {{r}} "
            f"{thing} left|What remains is {{r}} {thing}]"
        ),
        a - b,
    )


def _boxes(rng: random.Random, name: str, thing: str) -> Problem:
    a, b, box = rng.randint(2, 12), rng.randint(2, 12), pick(rng, _BOXES)
    return Problem(
        (
            f"[There are {a} {box} with {b} {thing} each.|{name} has {a} {box}. Each holds {b} "
            f"{thing}.|{name} fills {a} {box} with {b} {thing} each.]"
        ),
        f"How many {thing} [are there|are there in all|are there in total|is that]?",
        (
            (
                "[equal groups, so multiply|the same number each time|{t} in every one, so times]",
                f"{a} × {b} = {a * b}",
            ),
        ),
        (
            f"[There are {{r}} {thing}|In total there are {{r}} {thing}|Altogether it is {{r}} "
            f"{thing}|That makes {{r}} {thing}]"
        ),
        a * b,
    )


def _share(rng: random.Random, name: str, thing: str) -> Problem:
    b, r = rng.randint(2, 9), rng.randint(2, 12)
    who = pick(rng, ("friends", "children", "students", "cousins", "neighbors"))
    return Problem(
        f"{name} [shares|divides|splits] {b * r} {thing} equally among {b} {who}.",
        f"How many {thing} does each [get|one get|of them get]?",
        (
            (
                "[equal shares mean dividing|shared equally, so divide|each gets the same part]",
                f"{b * r} / {b} = {r}",
            ),
        ),
        (
            f"[Each gets {{r}} {thing}|Everyone gets {{r}} {thing}|Each one receives {{r}} "
            f"{thing}|For each there are {{r}} {thing}]"
        ),
        r,
    )


def _price(rng: random.Random, name: str, thing: str) -> Problem:
    a, p = rng.randint(2, 12), rng.randint(2, 12)
    one = "One" if rng.random() < 0.5 else "Each"
    return Problem(
        f"{name} buys {a} {thing}. {one} costs {p} dollars.",
        f"[How much does {name} pay|What does {name} pay|How many dollars is that]?",
        (
            (
                "[price times number|the price is paid for every one|number times price]",
                f"{a} × {p} = {a * p}",
            ),
        ),
        (
            f"[{name} pays {{r}} dollars|The price is {{r}} dollars|It costs {{r}} dollars|"
            f"Together they cost {{r}} dollars]"
        ),
        a * p,
    )


def _change(rng: random.Random, name: str, thing: str) -> Problem:
    a, p = rng.randint(2, 9), rng.randint(2, 9)
    note = pick(rng, tuple(n for n in (20, 50, 100) if n >= a * p))
    return Problem(
        f"{name} buys {a} {thing} for {p} dollars each and pays with {note} dollars.",
        f"How much [change does {name} get|money does {name} get back]?",
        (
            ("[first the price|the price comes first|all of them cost]", f"{a} × {p} = {a * p}"),
            (
                "[the rest comes back|change is what is left|taken from the money]",
                f"{note} - {a * p} = {note - a * p}",
            ),
        ),
        f"[{name} gets {{r}} dollars back|The change is {{r}} dollars|That leaves {{r}} dollars]",
        note - a * p,
    )


def _gain_and_lose(rng: random.Random, name: str, thing: str) -> Problem:
    a, b = rng.randint(5, 50), rng.randint(2, 30)
    c = rng.randint(1, a + b - 2)
    return Problem(
        f"{name} has {a} {thing}, [buys|finds|gets] {b} more and then [gives away|loses|sells] {c}.",
        f"How many {thing} [does {name} have now|are left|does {name} have in the end]?",
        (
            ("[first the gain|more come in|adding first]", f"{a} + {b} = {a + b}"),
            ("[then some go|now take away|what goes is subtracted]", f"{a + b} - {c} = {a + b - c}"),
        ),
        f"[{name} has {{r}} {thing}|In the end {name} has {{r}} {thing}|There are {{r}} {thing} left]",
        a + b - c,
    )


def _two_people(rng: random.Random, name: str, thing: str) -> Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, more = rng.randint(2, 40), rng.randint(2, 20)
    fewer = a > more and rng.random() < 0.4
    b = a - more if fewer else a + more
    word, sign = ("fewer", "-") if fewer else ("more", "+")
    return Problem(
        f"{name} has {a} {thing}. {other} has {more} {word} than {name}.",
        f"How many {thing} do they have [together|in total|altogether]?",
        (
            (f"[first {other}|the number for {other}|what {other} has]", f"{a} {sign} {more} = {b}"),
            ("[both together|now the sum|adding both]", f"{a} + {b} = {a + b}"),
        ),
        f"[Together they have {{r}} {thing}|They have {{r}} {thing}|In total it is {{r}} {thing}]",
        a + b,
    )


def _times_as_many(rng: random.Random, name: str, thing: str) -> Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, k = rng.randint(2, 12), rng.randint(2, 6)
    word = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times"}[k]
    return Problem(
        f"{name} has {a} {thing}. {other} has {word} as many.",
        f"How many {thing} does {other} have?",
        ((f"[{word} means times {k}|as many {k} times|multiply by {k}]", f"{a} × {k} = {a * k}"),),
        f"[{other} has {{r}} {thing}|That makes {{r}} {thing}|The answer is {{r}} {thing}]",
        a * k,
    )


def _speed(rng: random.Random, name: str, thing: str) -> Problem:
    v, t = pick(rng, (4, 5, 10, 12, 20, 30, 40, 50, 60, 80, 90, 100)), rng.randint(2, 8)
    what = pick(rng, ("A train", "A car", "A bus", "A boat", name, "A cyclist"))
    low = what if what == name else what[0].lower() + what[1:]
    return Problem(
        f"{what} [travels|goes|moves] at {v} km per hour for {t} hours.",
        f"How far does {'it' if what != name else name} [go|get|travel]?",
        (
            (
                "[distance is speed times time|every hour the same distance|speed times hours]",
                f"{v} × {t} = {v * t}",
            ),
        ),
        (
            f"[The distance is {{r}}|It is {{r}}|"
            f"{cap('the ' + low[2:]) if what != name else name} goes {{r}}] km"
        ),
        v * t,
    )


def _age(rng: random.Random, name: str, thing: str) -> Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, d, later = rng.randint(5, 40), rng.randint(2, 15), rng.randint(2, 10)
    return Problem(
        f"{name} is {a} years old. {other} is {d} years older.",
        f"How old will {other} be in {later} years?",
        (
            (f"[{other} now|first the age of {other}|older means more]", f"{a} + {d} = {a + d}"),
            ("[then the years|after that time|years pass]", f"{a + d} + {later} = {a + d + later}"),
        ),
        f"[{other} will be {{r}}|Then {other} is {{r}}|The age will be {{r}}]",
        a + d + later,
    )


def _pages(rng: random.Random, name: str, thing: str) -> Problem:
    per, days = rng.randint(3, 20), rng.randint(2, 9)
    left = rng.randint(2, 60)
    total = per * days + left
    return Problem(
        f"A book has {total} pages. {name} reads {per} pages a day for {days} days.",
        "How many pages are [left|still to read]?",
        (
            ("[pages read so far|first what was read|per day times days]", f"{per} × {days} = {per * days}"),
            ("[the rest of the book|what remains|taken from all pages]", f"{total} - {per * days} = {left}"),
        ),
        "[There are {r} pages left|{r} pages are left|What remains is {r} pages]",
        left,
    )


def _legs(rng: random.Random, name: str, thing: str) -> Problem:
    one, n1 = pick(rng, (("dogs", 4), ("cows", 4), ("cats", 4), ("horses", 4)))
    two, n2 = pick(rng, (("chickens", 2), ("ducks", 2), ("spiders", 8), ("bees", 6)))
    a, b = rng.randint(1, 9), rng.randint(1, 9)
    s1 = one[:-1] if a == 1 else one
    s2 = two[:-1] if b == 1 else two
    return Problem(
        f"[On a farm there are|{name} sees|In the yard there are] {a} {s1} and {b} {s2}.",
        "How many legs [are there|is that|do they have together]?",
        (
            (f"[the {s1}|legs of the {s1}|first the {s1}]", f"{a} × {n1} = {a * n1}"),
            (f"[the {s2}|legs of the {s2}|then the {s2}]", f"{b} × {n2} = {b * n2}"),
            ("[together|both|all legs]", f"{a * n1} + {b * n2} = {a * n1 + b * n2}"),
        ),
        "[There are {r} legs|Together they have {r} legs|It makes {r} legs]",
        a * n1 + b * n2,
    )


def _eaten(rng: random.Random, name: str, thing: str) -> Problem:
    per, count = rng.randint(2, 10), rng.randint(2, 9)
    eaten = rng.randint(2, per * count - 2) if per * count > 4 else 2
    food = pick(rng, ("cookies", "apples", "candies", "nuts", "cherries", "plums"))
    box = pick(rng, _BOXES)
    return Problem(
        f"{name} has {count} {box} of {per} {food}. {eaten} are eaten.",
        f"How many {food} [are left|remain]?",
        (
            ("[all of them|first the total|at the start]", f"{count} × {per} = {count * per}"),
            (
                "[minus the eaten ones|now those eaten|what was eaten goes]",
                f"{count * per} - {eaten} = {count * per - eaten}",
            ),
        ),
        f"[There are {{r}} {food} left|{{r}} {food} are left|What remains is {{r}} {food}]",
        count * per - eaten,
    )


def _save(rng: random.Random, name: str, thing: str) -> Problem:
    per, weeks, start = rng.randint(2, 12), rng.randint(2, 10), rng.randint(5, 50)
    return Problem(
        f"{name} has {start} dollars and saves {per} dollars [a|every|each] week.",
        f"How much [does {name} have|money is it] after {weeks} weeks?",
        (
            ("[saved money|first what is saved|weeks times dollars]", f"{weeks} × {per} = {weeks * per}"),
            (
                "[with the start|plus the first money|added to the start]",
                f"{start} + {weeks * per} = {start + weeks * per}",
            ),
        ),
        f"[{name} has {{r}} dollars|It is {{r}} dollars|Then there are {{r}} dollars]",
        start + weeks * per,
    )


def _rectangle(rng: random.Random, name: str, thing: str) -> Problem:
    a, b = rng.randint(2, 12), rng.randint(2, 12)
    what = pick(rng, ("A garden", "A room", "A rectangle", "A field", "A table", "A sheet"))
    unit = "cm" if what in ("A table", "A sheet") else "m"
    if rng.random() < 0.5:
        return Problem(
            f"{what} is {a} {unit} long and {b} {unit} wide.",
            "What is [its area|the area]?",
            (("[area is length times width|length times width|multiply the sides]", f"{a} × {b} = {a * b}"),),
            f"[The area is {{r}}|It is {{r}}|It measures {{r}}] square {unit}",
            a * b,
        )
    return Problem(
        f"{what} is {a} {unit} long and {b} {unit} wide.",
        "[What is its perimeter?|How long is the way around it?|What is the perimeter?]",
        (
            ("[two sides|length and width|half the way]", f"{a} + {b} = {a + b}"),
            ("[twice that|all four sides|the whole way]", f"2 × {a + b} = {2 * (a + b)}"),
        ),
        f"[The perimeter is {{r}}|It is {{r}}|The way around is {{r}}] {unit}",
        2 * (a + b),
    )


def _pairs(rng: random.Random, name: str, thing: str) -> Problem:
    a, b, c = rng.randint(2, 30), rng.randint(2, 30), rng.randint(2, 30)
    d1, d2, d3 = rng.sample(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), 3)
    verb = pick(rng, ("sells", "finds", "makes", "picks", "paints"))
    return Problem(
        f"{name} {verb} {a} {thing} on {d1}, {b} on {d2} and {c} on {d3}.",
        f"How many {thing} [is that|are there|is that in total|are there altogether]?",
        (
            ("[the first two days|two days first|start adding]", f"{a} + {b} = {a + b}"),
            ("[and the third|plus the last day|with the third day]", f"{a + b} + {c} = {a + b + c}"),
        ),
        f"[In total it is {{r}} {thing}|That makes {{r}} {thing}|There are {{r}} {thing}]",
        a + b + c,
    )


def _missing(rng: random.Random, name: str, thing: str) -> Problem:
    a, b = rng.randint(2, 50), rng.randint(2, 40)
    return Problem(
        f"{name} has {a} {thing} and [wants|needs] {a + b}.",
        f"How many {thing} [are missing|does {name} still need|are still needed]?",
        (
            (
                "[the gap is a difference|needed minus there|from what is there to the goal]",
                f"{a + b} - {a} = {b}",
            ),
        ),
        f"[{name} still needs {{r}} {thing}|{{r}} {thing} are missing|The gap is {{r}} {thing}]",
        b,
    )


PROBLEMS: tuple[Callable[[random.Random, str, str], Problem], ...] = (
    _gain, _lose, _boxes, _share, _price, _change, _gain_and_lose, _two_people, _times_as_many, _speed,
    _age, _pages, _legs, _eaten, _save, _rectangle, _pairs, _missing,
)  # fmt: skip
