"""Questions about the fixed body of facts; held out are wordings, never facts.

A question template is one choice of wordings; the first of them, the usual one, is always trained on.
"""

from __future__ import annotations

import random

from engine.demo.answers import mentions_truth
from engine.demo.example import Example
from engine.demo.split import wording_key
from engine.demo.task import Task
from engine.demo.tasks import knowledge
from engine.demo.tasks.everyday_facts import EVERYDAY
from engine.demo.tasks.nature_facts import NATURE
from engine.demo.tasks.self_facts import SELF
from engine.demo.wording import cap, casual, join, pick, say

_GENERAL = (*NATURE, *EVERYDAY)
_SHORT = (
    "[So|Then|Thus|Hence|Therefore] [I can say it in a sentence|a short answer will do|I "
    "keep it short|I put it simply|one sentence is enough]."
)
_NAMED = "[So|Then|Thus|Hence|Therefore] [I say|I answer|the answer is|my answer]: {t}."


def _fact(
    rng: random.Random,
    kind: str,
    ask: str,
    reason: str,
    reply: str,
    truth: str | tuple[str, ...],
    **values: object,
) -> Example:
    """``truth``: the name to answer with, or words any of which a right answer contains."""
    asked = say(rng, ask, **values)
    usual = say(rng, ask[1 : ask.index("|")], **values)
    key = "" if wording_key(asked) == wording_key(usual) else wording_key(asked)
    why = say(rng, reason, **values)
    answer, direct = cap(say(rng, reply, **values)), cap(say(rng, reply, **values))
    thinking = join(
        say(
            rng,
            (
                "[A fact|A question of knowledge|I try to remember|Let me recall|I know this one|A "
                "simple question]."
            ),
        ),
        cap(why) + ".",
        say(rng, _NAMED, t=truth) if isinstance(truth, str) else say(rng, _SHORT),
    )
    return Example("facts", kind, key, casual(rng, asked), thinking, answer, direct, truth)


def _capital(rng: random.Random) -> Example:
    country = pick(rng, tuple(knowledge.CAPITALS))
    city = knowledge.CAPITALS[country]
    if rng.random() < 0.2:
        return _fact(
            rng,
            "country of a capital",
            (
                "[Of which country is {c} the capital?|{c} is the capital of which country?|Which "
                "country has {c} as its capital?|What country is {c} the capital of?|Name the "
                "country with the capital {c}.]"
            ),
            "[{c} is a capital|{c} lies in {k}|the city {c} belongs to {k}]",
            (
                "[{c} is the capital of {k}|It is the capital of {k}|That is {k}|{c} belongs to {k}|"
                "The country is {k}]."
            ),
            country.removeprefix("the "),
            c=city,
            k=country,
        )
    return _fact(
        rng,
        "capital",
        (
            "[What is the capital of {k}?|What's the capital of {k}?|Capital of {k}?|Which city "
            "is the capital of {k}?|Name the capital of {k}.|Tell me the capital of {k}.|What is "
            "{K} capital city?|Do you know the capital of {k}?|What city is the capital of {k}?]"
        ),
        (
            "[{k} is a country with the capital {c}|the capital of {k} is a city named {c}|{c} "
            "is the main city for {k}]"
        ),
        (
            "[The capital of {k} is {c}|{c} is the capital of {k}|It is {c}|That is {c}|The "
            "capital is {c}|It is called {c}|{c} is its capital]."
        ),
        city,
        k=country,
        c=city,
        K=f"{country}'s",
    )


def _continent(rng: random.Random) -> Example:
    country = pick(rng, tuple(knowledge.CONTINENTS))
    return _fact(
        rng,
        "continent",
        (
            "[On which continent is {k}?|Where is {k}?|Which continent does {k} belong to?|What "
            "continent is {k} in?|Where does {k} lie?|In which part of the world is {k}?]"
        ),
        "[{k} lies in {c}|{c} is where {k} is|its continent is {c}]",
        "[{k} is in {c}|{k} lies in {c}|It is in {c}|It belongs to {c}|That is in {c}|You find it in {c}].",
        knowledge.CONTINENTS[country],
        k=country,
        c=knowledge.CONTINENTS[country],
    )


def _animal(rng: random.Random) -> Example:
    draw = rng.randrange(3)
    if draw == 0:
        animal = pick(rng, tuple(knowledge.SOUNDS))
        return _fact(
            rng,
            "sound",
            (
                "[What sound does {a} {x} make?|What does {a} {x} say?|How does {a} {x} sound?|Which "
                "sound do we hear from {a} {x}?|What noise does {a} {x} make?]"
            ),
            "[{a} {x} makes a sound|animals have voices|the voice of {a} {x}]",
            "[{a} {x} says|{a} {x} goes|It says|It goes|The sound is] {s}.",
            knowledge.SOUNDS[animal],
            a=_an(animal),
            x=animal,
            s=knowledge.SOUNDS[animal],
        )
    if draw == 1:
        animal = pick(rng, tuple(knowledge.BABIES))
        baby = knowledge.BABIES[animal]
        return _fact(
            rng,
            "baby",
            (
                "[What is a baby {x} called?|What do you call a young {x}?|What is the young of {a} "
                "{x} called?|Name for a baby {x}?|How is a baby {x} called?]"
            ),
            "[young animals have names|the young of {a} {x}|a small {x}]",
            "[A baby {x} is|A young {x} is|It is|It is called|We call it] [a {b}|a {b}, of course].",
            baby,
            a=_an(animal),
            x=animal,
            b=baby,
        )
    animal = pick(rng, tuple(knowledge.LEGS))
    legs = knowledge.LEGS[animal]
    return _fact(
        rng,
        "legs",
        (
            "[How many legs does {a} {x} have?|How many legs has {a} {x}?|Number of legs of {a} "
            "{x}?|How many legs are on {a} {x}?|Legs of {a} {x}?]"
        ),
        "[count the legs|legs of {a} {x}|I picture {a} {x}]",
        "[{a} {x} has|It has|There are|I count] {n} legs.",
        str(legs),
        a=_an(animal),
        x=animal,
        n=legs,
    )


def _an(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _color(rng: random.Random) -> Example:
    if rng.random() < 0.4:
        pair = pick(rng, tuple(knowledge.MIXES))
        result = knowledge.MIXES[pair]
        a, b = pair if rng.random() < 0.5 else pair[::-1]
        return _fact(
            rng,
            "mix",
            (
                "[What color do {a} and {b} make?|Mix {a} and {b}.|What do you get from {a} and {b}?|"
                "Which color is {a} plus {b}?|What happens if I mix {a} and {b}?|{a} and {b} make "
                "what color?]"
            ),
            "[mixing paint|two colors into one|{a} with {b}]",
            "[{a} and {b} make|Together they make|Mixed they give|You get|The result is] {c}.",
            result,
            a=a,
            b=b,
            c=result,
        )
    thing = pick(rng, tuple(knowledge.COLORS))
    color = knowledge.COLORS[thing]
    return _fact(
        rng,
        "color",
        (
            "[What color is {x}?|Which color does {x} have?|What is the color of {x}?|Color of "
            "{x}?|Tell me the color of {x}.]"
        ),
        "[I picture {x}|the look of {x}|think of {x}]",
        "[{x} is|It is|Its color is|Usually it is|The color is] {c}.",
        color,
        x=thing,
        c=color,
    )


def _opposite(rng: random.Random) -> Example:
    word = pick(rng, tuple(knowledge.OPPOSITES))
    other = knowledge.OPPOSITES[word]
    if rng.random() < 0.3:
        word, other = other, word
    return _fact(
        rng,
        "opposite",
        (
            "[What is the opposite of {w}?|Opposite of {w}?|What's the opposite of {w}?|Which "
            "word is the opposite of {w}?|Name the opposite of {w}.|The contrary of {w}?]"
        ),
        "[the other end of {w}|not {w}, but the reverse|turn {w} around]",
        "[The opposite of {w} is|The opposite is|It is|That is|The reverse of {w} is] {o}.",
        other,
        w=word,
        o=other,
    )


def _calendar(rng: random.Random) -> Example:
    names, noun = (knowledge.DAYS, "day") if rng.random() < 0.5 else (knowledge.MONTHS, "month")
    at = rng.randrange(len(names))
    draw = rng.randrange(4 if noun == "month" else 2)
    if draw == 0:
        after = names[(at + 1) % len(names)]
        return _fact(
            rng,
            "after",
            (
                "[What comes after {d}?|Which {n} comes after {d}?|What {n} follows {d}?|Which {n} "
                "is after {d}?|The {n} after {d}?|What is the {n} after {d}?]"
            ),
            "[in the order of the {n}s|one step on from {d}|going through the {n}s]",
            "[After {d} comes|Next comes|It is|The {n} after {d} is|{d} is followed by] {r}.",
            after,
            d=names[at],
            n=noun,
            r=after,
        )
    if draw == 1:
        before = names[at - 1]
        return _fact(
            rng,
            "before",
            (
                "[What comes before {d}?|Which {n} comes before {d}?|What {n} is before {d}?|Which "
                "{n} is before {d}?|The {n} before {d}?|What is the {n} before {d}?]"
            ),
            "[in the order of the {n}s|one step back from {d}|going through the {n}s]",
            "[Before {d} comes|It is|The {n} before {d} is|Right before it comes|{d} comes after] {r}.",
            before,
            d=names[at],
            n=noun,
            r=before,
        )
    if draw == 2:
        days = str(knowledge.MONTH_DAYS[at])
        return _fact(
            rng,
            "days of a month",
            (
                "[How many days does {d} have?|How many days are in {d}?|Days in {d}?|How long is "
                "{d}?|Number of days in {d}?]"
            ),
            "[months differ in length|the length of {d}|{d} on the calendar]",
            "[{d} has|It has|There are|In {d} there are] {r} days"
            + ("[.|, and 29 in a leap year.]" if at == 1 else "."),
            days,
            d=names[at],
            r=days,
        )
    ordinal = knowledge.ORDINALS[at]
    return _fact(
        rng,
        "month number",
        (
            "[What is the {o} month?|Which month is the {o}?|Name the {o} month of the year.|"
            "What is the {o} month of the year?|{O} month of the year?]"
        ),
        "[counting from January|the months in order|number {i} of the months]",
        "[The {o} month is|It is|That is|The {o} one is|Number {i} is] {r}.",
        names[at],
        o=ordinal,
        O=cap(ordinal),
        i=at + 1,
        r=names[at],
    )


def _planet(rng: random.Random) -> Example:
    at = rng.randrange(8)
    planet, ordinal = knowledge.PLANETS[at], knowledge.ORDINALS[at]
    return _fact(
        rng,
        "planet",
        (
            "[What is the {o} planet from the sun?|Which planet is the {o} from the sun?|Name "
            "the {o} planet.|What is the {o} planet?|The {o} planet from the sun?]"
        ),
        "[counting from the sun|the planets in order|from the sun outward]",
        "[The {o} planet is|It is|That is|The {o} one is|Number {i} is] {p}.",
        planet,
        o=ordinal,
        i=at + 1,
        p=planet,
    )


def _general(rng: random.Random) -> Example:
    ask, reason, reply, truth = pick(rng, _GENERAL)
    return _fact(rng, "general", ask, reason, reply, truth)


def _self(rng: random.Random) -> Example:
    ask, reason, reply, truth = pick(rng, SELF)
    return _fact(rng, "about the demo", ask, reason, reply, truth)


_SAMPLERS = (_capital, _continent, _animal, _color, _opposite, _calendar, _planet, _general, _self)
_WEIGHTS = (0.2, 0.07, 0.11, 0.07, 0.08, 0.1, 0.03, 0.2, 0.14)


def sample(rng: random.Random) -> Example:
    return rng.choices(_SAMPLERS, _WEIGHTS)[0](rng)


def check(example: Example, text: str) -> bool:
    return mentions_truth(example, text)


TASK = Task("facts", 0.12, sample, check)
