"""Short word problems in one to three steps; every template builds its own steps and result."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.demo.answers import last_number_is
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.wording import cap, casual, join, pick, say

NAMES = (
    "Anna", "Ben", "Clara", "David", "Emma", "Felix", "Grace", "Henry", "Ida", "Jack", "Kate", "Leo", "Maya", "Noah", "Olga",
    "Paul", "Rosa", "Sam", "Tina", "Tom", "Lucy", "Max", "Nora", "Oscar", "Sara", "Lily", "Mia", "Finn", "Ella", "Hugo",
)  # fmt: skip
_THINGS = (
    "apples", "pears", "oranges", "books", "pencils", "marbles", "stickers", "coins", "stamps", "cookies", "balloons", "flowers",
    "shells", "stones", "cards", "candies", "eggs", "nuts", "buttons", "toys",
)  # fmt: skip
_BOXES = ("boxes", "bags", "baskets", "jars", "shelves", "packs", "crates", "drawers")
_SO = "[So|Then|Thus|Hence|Therefore]"


@dataclass(frozen=True, slots=True)
class _Problem:
    """``story`` and ``question`` make the prompt; ``steps`` pair a reason with its equation; ``close`` ends in ``{r}``."""

    story: str
    question: str
    steps: tuple[tuple[str, str], ...]
    close: str
    result: int


def _gain(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b = rng.randint(2, 60), rng.randint(2, 40)
    return _Problem(
        f"{name} has {a} {thing} and [gets|finds|buys|is given|collects] {b} more[.| {thing}.]",
        f"How many {thing} does {name} have [now|in total|altogether]?",
        (("[more {t} means adding|they come on top|the new ones are added]", f"{a} + {b} = {a + b}"),),
        f"[{name} has {{r}} {thing}|Now {name} has {{r}} {thing}|In total there are {{r}} {thing}]", a + b,
    )  # fmt: skip


def _lose(rng: random.Random, name: str, thing: str) -> _Problem:
    a = rng.randint(10, 90)
    b = rng.randint(1, a - 2)
    return _Problem(
        f"{name} has {a} {thing} and [gives away|loses|sells|uses up|hands out] {b}[.| of them.]",
        f"How many {thing} [are left|does {name} still have|remain]?",
        (("[some go away, so subtract|fewer {t} means minus|those are taken off]", f"{a} - {b} = {a - b}"),),
        f"[{name} still has {{r}} {thing}|{name} has {{r}} {thing} left|There are {{r}} {thing} left|What remains is {{r}} {thing}]", a - b,
    )  # fmt: skip


def _boxes(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b, box = rng.randint(2, 12), rng.randint(2, 12), pick(rng, _BOXES)
    return _Problem(
        f"[There are {a} {box} with {b} {thing} each.|{name} has {a} {box}. Each holds {b} {thing}.|{name} fills {a} {box} with {b} {thing} each.]",
        f"How many {thing} [are there|are there in all|are there in total|is that]?",
        (("[equal groups, so multiply|the same number each time|{t} in every one, so times]", f"{a} × {b} = {a * b}"),),
        f"[There are {{r}} {thing}|In total there are {{r}} {thing}|Altogether it is {{r}} {thing}|That makes {{r}} {thing}]", a * b,
    )  # fmt: skip


def _share(rng: random.Random, name: str, thing: str) -> _Problem:
    b, r = rng.randint(2, 9), rng.randint(2, 12)
    who = pick(rng, ("friends", "children", "students", "cousins", "neighbors"))
    return _Problem(
        f"{name} [shares|divides|splits] {b * r} {thing} equally among {b} {who}.",
        f"How many {thing} does each [get|one get|of them get]?",
        (("[equal shares mean dividing|shared equally, so divide|each gets the same part]", f"{b * r} / {b} = {r}"),),
        f"[Each gets {{r}} {thing}|Everyone gets {{r}} {thing}|Each one receives {{r}} {thing}|For each there are {{r}} {thing}]", r,
    )  # fmt: skip


def _price(rng: random.Random, name: str, thing: str) -> _Problem:
    a, p = rng.randint(2, 12), rng.randint(2, 12)
    one = "One" if rng.random() < 0.5 else "Each"
    return _Problem(
        f"{name} buys {a} {thing}. {one} costs {p} dollars.",
        f"[How much does {name} pay|What does {name} pay|How many dollars is that]?",
        (("[price times number|the price is paid for every one|number times price]", f"{a} × {p} = {a * p}"),),
        f"[{name} pays {{r}} dollars|The price is {{r}} dollars|It costs {{r}} dollars|Together they cost {{r}} dollars]", a * p,
    )  # fmt: skip


def _change(rng: random.Random, name: str, thing: str) -> _Problem:
    a, p = rng.randint(2, 9), rng.randint(2, 9)
    note = pick(rng, tuple(n for n in (20, 50, 100) if n >= a * p))
    return _Problem(
        f"{name} buys {a} {thing} for {p} dollars each and pays with {note} dollars.",
        f"How much [change does {name} get|money does {name} get back]?",
        (("[first the price|the price comes first|all of them cost]", f"{a} × {p} = {a * p}"), ("[the rest comes back|change is what is left|taken from the money]", f"{note} - {a * p} = {note - a * p}")),
        f"[{name} gets {{r}} dollars back|The change is {{r}} dollars|That leaves {{r}} dollars]", note - a * p,
    )  # fmt: skip


def _gain_and_lose(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b = rng.randint(5, 50), rng.randint(2, 30)
    c = rng.randint(1, a + b - 2)
    return _Problem(
        f"{name} has {a} {thing}, [buys|finds|gets] {b} more and then [gives away|loses|sells] {c}.",
        f"How many {thing} [does {name} have now|are left|does {name} have in the end]?",
        (("[first the gain|more come in|adding first]", f"{a} + {b} = {a + b}"), ("[then some go|now take away|what goes is subtracted]", f"{a + b} - {c} = {a + b - c}")),
        f"[{name} has {{r}} {thing}|In the end {name} has {{r}} {thing}|There are {{r}} {thing} left]", a + b - c,
    )  # fmt: skip


def _two_people(rng: random.Random, name: str, thing: str) -> _Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, more = rng.randint(2, 40), rng.randint(2, 20)
    fewer = a > more and rng.random() < 0.4
    b = a - more if fewer else a + more
    word, sign = ("fewer", "-") if fewer else ("more", "+")
    return _Problem(
        f"{name} has {a} {thing}. {other} has {more} {word} than {name}.",
        f"How many {thing} do they have [together|in total|altogether]?",
        ((f"[first {other}|{other} has|the other one, {other}]", f"{a} {sign} {more} = {b}"), ("[both together|now the sum|adding both]", f"{a} + {b} = {a + b}")),
        f"[Together they have {{r}} {thing}|They have {{r}} {thing}|In total it is {{r}} {thing}]", a + b,
    )  # fmt: skip


def _times_as_many(rng: random.Random, name: str, thing: str) -> _Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, k = rng.randint(2, 12), rng.randint(2, 6)
    word = {2: "twice", 3: "three times", 4: "four times", 5: "five times", 6: "six times"}[k]
    return _Problem(
        f"{name} has {a} {thing}. {other} has {word} as many.",
        f"How many {thing} does {other} have?",
        ((f"[{word} means times {k}|as many {k} times|multiply by {k}]", f"{a} × {k} = {a * k}"),),
        f"[{other} has {{r}} {thing}|That makes {{r}} {thing}|The answer is {{r}} {thing}]", a * k,
    )  # fmt: skip


def _speed(rng: random.Random, name: str, thing: str) -> _Problem:
    v, t = pick(rng, (4, 5, 10, 12, 20, 30, 40, 50, 60, 80, 90, 100)), rng.randint(2, 8)
    what = pick(rng, ("A train", "A car", "A bus", "A boat", name, "A cyclist"))
    low = what if what == name else what[0].lower() + what[1:]
    return _Problem(
        f"{what} [travels|goes|moves] at {v} km per hour for {t} hours.",
        f"How far does {'it' if what != name else name} [go|get|travel]?",
        (("[distance is speed times time|every hour the same distance|speed times hours]", f"{v} × {t} = {v * t}"),),
        f"[The distance is {{r}}|It is {{r}}|{cap('the ' + low[2:]) if what != name else name} goes {{r}}] km", v * t,
    )  # fmt: skip


def _age(rng: random.Random, name: str, thing: str) -> _Problem:
    other = pick(rng, tuple(n for n in NAMES if n != name))
    a, d, later = rng.randint(5, 40), rng.randint(2, 15), rng.randint(2, 10)
    return _Problem(
        f"{name} is {a} years old. {other} is {d} years older.",
        f"How old will {other} be in {later} years?",
        ((f"[{other} now|first the age of {other}|older means more]", f"{a} + {d} = {a + d}"), ("[then the years|after that time|years pass]", f"{a + d} + {later} = {a + d + later}")),
        f"[{other} will be {{r}}|Then {other} is {{r}}|The age will be {{r}}]", a + d + later,
    )  # fmt: skip


def _pages(rng: random.Random, name: str, thing: str) -> _Problem:
    per, days = rng.randint(3, 20), rng.randint(2, 9)
    left = rng.randint(2, 60)
    total = per * days + left
    return _Problem(
        f"A book has {total} pages. {name} reads {per} pages a day for {days} days.",
        "How many pages are [left|still to read]?",
        (("[pages read so far|first what was read|per day times days]", f"{per} × {days} = {per * days}"), ("[the rest of the book|what remains|taken from all pages]", f"{total} - {per * days} = {left}")),
        "[There are {r} pages left|{r} pages are left|What remains is {r} pages]", left,
    )  # fmt: skip


def _legs(rng: random.Random, name: str, thing: str) -> _Problem:
    one, n1 = pick(rng, (("dogs", 4), ("cows", 4), ("cats", 4), ("horses", 4)))
    two, n2 = pick(rng, (("chickens", 2), ("ducks", 2), ("spiders", 8), ("bees", 6)))
    a, b = rng.randint(1, 9), rng.randint(1, 9)
    s1 = one[:-1] if a == 1 else one
    s2 = two[:-1] if b == 1 else two
    return _Problem(
        f"[On a farm there are|{name} sees|In the yard there are] {a} {s1} and {b} {s2}.",
        "How many legs [are there|is that|do they have together]?",
        ((f"[the {s1}|legs of the {s1}|first the {s1}]", f"{a} × {n1} = {a * n1}"), (f"[the {s2}|legs of the {s2}|then the {s2}]", f"{b} × {n2} = {b * n2}"), ("[together|both|all legs]", f"{a * n1} + {b * n2} = {a * n1 + b * n2}")),
        "[There are {r} legs|Together they have {r} legs|It makes {r} legs]", a * n1 + b * n2,
    )  # fmt: skip


def _eaten(rng: random.Random, name: str, thing: str) -> _Problem:
    per, count = rng.randint(2, 10), rng.randint(2, 9)
    eaten = rng.randint(2, per * count - 2) if per * count > 4 else 2
    food = pick(rng, ("cookies", "apples", "candies", "nuts", "cherries", "plums"))
    box = pick(rng, _BOXES)
    return _Problem(
        f"{name} has {count} {box} of {per} {food}. {eaten} are eaten.",
        f"How many {food} [are left|remain]?",
        (("[all of them|first the total|at the start]", f"{count} × {per} = {count * per}"), ("[minus the eaten ones|now those eaten|what was eaten goes]", f"{count * per} - {eaten} = {count * per - eaten}")),
        f"[There are {{r}} {food} left|{{r}} {food} are left|What remains is {{r}} {food}]", count * per - eaten,
    )  # fmt: skip


def _save(rng: random.Random, name: str, thing: str) -> _Problem:
    per, weeks, start = rng.randint(2, 12), rng.randint(2, 10), rng.randint(5, 50)
    return _Problem(
        f"{name} has {start} dollars and saves {per} dollars [a|every|each] week.",
        f"How much [does {name} have|money is it] after {weeks} weeks?",
        (("[saved money|first what is saved|weeks times dollars]", f"{weeks} × {per} = {weeks * per}"), ("[with the start|plus the first money|added to the start]", f"{start} + {weeks * per} = {start + weeks * per}")),
        f"[{name} has {{r}} dollars|It is {{r}} dollars|Then there are {{r}} dollars]", start + weeks * per,
    )  # fmt: skip


def _rectangle(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b = rng.randint(2, 12), rng.randint(2, 12)
    what = pick(rng, ("A garden", "A room", "A rectangle", "A field", "A table", "A sheet"))
    unit = "cm" if what in ("A table", "A sheet") else "m"
    if rng.random() < 0.5:
        return _Problem(
            f"{what} is {a} {unit} long and {b} {unit} wide.", "What is [its area|the area]?",
            (("[area is length times width|length times width|multiply the sides]", f"{a} × {b} = {a * b}"),),
            f"[The area is {{r}}|It is {{r}}|It measures {{r}}] square {unit}", a * b,
        )  # fmt: skip
    return _Problem(
        f"{what} is {a} {unit} long and {b} {unit} wide.", "[What is its perimeter?|How long is the way around it?|What is the perimeter?]",
        (("[two sides|length and width|half the way]", f"{a} + {b} = {a + b}"), ("[twice that|all four sides|the whole way]", f"2 × {a + b} = {2 * (a + b)}")),
        f"[The perimeter is {{r}}|It is {{r}}|The way around is {{r}}] {unit}", 2 * (a + b),
    )  # fmt: skip


def _pairs(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b, c = rng.randint(2, 30), rng.randint(2, 30), rng.randint(2, 30)
    d1, d2, d3 = rng.sample(("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"), 3)
    verb = pick(rng, ("sells", "finds", "makes", "picks", "paints"))
    return _Problem(
        f"{name} {verb} {a} {thing} on {d1}, {b} on {d2} and {c} on {d3}.",
        f"How many {thing} [is that|are there|is that in total|are there altogether]?",
        (("[the first two days|two days first|start adding]", f"{a} + {b} = {a + b}"), ("[and the third|plus the last day|with the third day]", f"{a + b} + {c} = {a + b + c}")),
        f"[In total it is {{r}} {thing}|That makes {{r}} {thing}|There are {{r}} {thing}]", a + b + c,
    )  # fmt: skip


def _missing(rng: random.Random, name: str, thing: str) -> _Problem:
    a, b = rng.randint(2, 50), rng.randint(2, 40)
    return _Problem(
        f"{name} has {a} {thing} and [wants|needs] {a + b}.",
        f"How many {thing} [are missing|does {name} still need|are still needed]?",
        (("[the gap is a difference|needed minus there|from what is there to the goal]", f"{a + b} - {a} = {b}"),),
        f"[{name} still needs {{r}} {thing}|{{r}} {thing} are missing|The gap is {{r}} {thing}]", b,
    )  # fmt: skip


_TEMPLATES: tuple[Callable[[random.Random, str, str], _Problem], ...] = (
    _gain, _lose, _boxes, _share, _price, _change, _gain_and_lose, _two_people, _times_as_many, _speed, _age, _pages, _legs, _eaten,
    _save, _rectangle, _pairs, _missing,
)  # fmt: skip


def sample(rng: random.Random) -> Example:
    build = pick(rng, _TEMPLATES)
    name, thing = pick(rng, NAMES), pick(rng, _THINGS)
    problem = build(rng, name, thing)
    story, question = say(rng, problem.story), say(rng, problem.question)
    prompt = casual(rng, join(story, question))
    steps = []
    for index, (reason, equation) in enumerate(problem.steps):
        lead = pick(rng, ("First, ", "To start, ", "Begin: ", "One: ")) if len(problem.steps) > 1 and index == 0 else ""
        lead = pick(rng, ("Then ", "Next, ", "After that, ", "Now ")) if index else lead
        why = say(rng, reason, t=thing)
        steps.append(cap(say(rng, "{lead}{why}[: |, so |, ]{e}.", lead=lead, why=why, e=equation)))
    r = problem.result
    intro = say(
        rng,
        "[Let me read it again|What do we know|The facts|I write down what is given|What is given]: {s} [The question|Asked is|We look for|Wanted]: {q}",
        s=story, q=question[0].lower() + question[1:],
    ) if rng.random() < 0.5 else say(rng, "[This takes {n}|I see {n} here|There {v} {n} to do|It needs {n}].", n=_count(len(steps)), v="is" if len(steps) == 1 else "are")  # fmt: skip
    end = say(rng, _SO + " [the answer is|it is|we get|I get] {r}.", r=r)
    close = say(rng, problem.close, r=r) + "."
    equations = [equation for _, equation in problem.steps]
    shown = say(rng, "[, then |, and |; ]").join(equations)
    direct = say(
        rng, "[{e}, so {c}|{C} That is because {e}.|{e}. {C}|We have {e}, so {c}|First {e}. {C}]" if len(equations) > 1 else "[{e}, so {c}|{e}. {C}|We have {e}, so {c}|It is {e}. {C}]",
        e=shown, C=close, c=close if close.startswith((name, *NAMES)) else close[0].lower() + close[1:],
    )  # fmt: skip
    key = f"{build.__name__} {' '.join(equations)}"
    return Example("word problems", build.__name__.strip("_"), key, prompt, join(intro, *steps, end), close, direct, r)


def _count(steps: int) -> str:
    return ("one step", "two steps", "three steps")[steps - 1]


def check(example: Example, text: str) -> bool:
    return last_number_is(example, text)


TASK = Task("word problems", 0.12, sample, check)
