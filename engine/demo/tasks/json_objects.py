"""JSON: build an object from a sentence or from pairs, read a field out of one, change a field."""

from __future__ import annotations

import json
import random
import re

from engine.demo.answers import mentions
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.tasks.problems import NAMES
from engine.demo.wording import casual, join, pick, say

_CITIES = (
    "Paris",
    "Rome",
    "Berlin",
    "Madrid",
    "Oslo",
    "Vienna",
    "London",
    "Tokyo",
    "Cairo",
    "Lima",
    "Prague",
    "Dublin",
    "Athens",
    "Boston",
    "Kyoto",
)
_JOBS = (
    "teacher",
    "doctor",
    "pilot",
    "baker",
    "farmer",
    "painter",
    "nurse",
    "writer",
    "driver",
    "cook",
    "engineer",
    "singer",
)
_COLORS = ("red", "blue", "green", "black", "white", "yellow", "brown", "gray", "orange", "purple")
_PETS = ("dog", "cat", "rabbit", "parrot", "hamster", "pony", "goldfish", "turtle")
_ITEMS = (
    "lamp",
    "chair",
    "table",
    "bag",
    "shirt",
    "book",
    "phone",
    "clock",
    "cup",
    "bike",
    "guitar",
    "camera",
    "jacket",
    "pen",
)
_TITLES = (
    "The Old Map",
    "Blue River",
    "Night Train",
    "The Last Star",
    "Winter Light",
    "A Quiet Sea",
    "The Red Door",
    "Seven Hills",
)

_SO = "[So|Then|Thus|Hence|Therefore]"
_Object = dict[str, object]


def _record(rng: random.Random) -> tuple[str, _Object]:
    """A sentence and the object it says."""
    name = pick(rng, NAMES)
    shape = rng.randrange(7)
    age = rng.randint(18, 90)
    if shape == 0:
        city = pick(rng, _CITIES)
        return say(
            rng,
            "[{n} is {a} years old and lives in {c}.|{n}, aged {a}, lives in {c}.|{n} from {c} is {a}.]",
            n=name,
            a=age,
            c=city,
        ), {"name": name, "age": age, "city": city}
    if shape == 1:
        job = pick(rng, _JOBS)
        an = "an" if job[0] in "aeiou" else "a"
        return say(
            rng, "[{n} is {a} and works as {j}.|{n}, {a} years old, is {j}.]", n=name, a=age, j=f"{an} {job}"
        ), {"name": name, "age": age, "job": job}
    if shape == 2:
        item, color, price = pick(rng, _ITEMS), pick(rng, _COLORS), rng.randint(2, 200)
        return say(
            rng,
            (
                "[The {i} is {c} and costs {p} dollars.|A {c} {i} costs {p} dollars.|The {c} {i} is "
                "{p} dollars.]"
            ),
            i=item,
            c=color,
            p=price,
        ), {"item": item, "color": color, "price": price}
    if shape == 3:
        pet, pet_name, age = (
            pick(rng, _PETS),
            pick(rng, ("Rex", "Luna", "Milo", "Bella", "Coco", "Rocky", "Daisy", "Simba")),
            rng.randint(1, 15),
        )
        return say(
            rng,
            "[{n} is a {p} and {a} years old.|The {p} {n} is {a} years old.|{n}, a {p}, is {a}.]",
            n=pet_name,
            p=pet,
            a=age,
        ), {"name": pet_name, "animal": pet, "age": age}
    if shape == 4:
        title, year, pages = pick(rng, _TITLES), rng.randint(1950, 2024), rng.randint(60, 600)
        return say(
            rng,
            "[The book {t} from {y} has {p} pages.|{t} is a book of {p} pages from {y}.]",
            t=title,
            y=year,
            p=pages,
        ), {"title": title, "year": year, "pages": pages}
    if shape == 5:
        item, count, stock = pick(rng, _ITEMS), rng.randint(0, 60), rng.random() < 0.5
        return say(
            rng,
            "The {i} costs {p} dollars and is [{s}|{s} now].",
            i=item,
            p=count + 1,
            s="in stock" if stock else "sold out",
        ), {"item": item, "price": count + 1, "in_stock": stock}
    city = pick(rng, _CITIES)
    job = pick(rng, _JOBS)
    an = "an" if job[0] in "aeiou" else "a"
    return say(
        rng,
        "[{n} is {j} in {c}.|{n} works as {j} in {c}.|In {c}, {n} works as {j}.]",
        n=name,
        j=f"{an} {job}",
        c=city,
    ), {"name": name, "job": job, "city": city}


def _dump(value: _Object, style: int) -> str:
    return json.dumps(value, indent=2) if style else json.dumps(value)


def _shown(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _fields(rng: random.Random, value: _Object) -> str:
    parts = [
        say(rng, "[{k} is {v}|{k}: {v}|{k} {v}|the {k} is {v}]", k=k.replace("_", " "), v=_shown(v))
        for k, v in value.items()
    ]
    return ", ".join(parts)


def _presented(rng: random.Random, text: str) -> str:
    lead = say(
        rng,
        (
            "[Here is the JSON|As JSON|Here you go|The object is|This is the JSON object|In JSON|"
            "Sure, here it is|The JSON looks like this]:"
        ),
    )
    end = say(
        rng,
        "[||Numbers are written without quotes.|It has {n} fields.|Let me know if a field should change.]",
        n=text.count('":'),
    )
    return join(f"{lead}\n{text}") + (f"\n{end}" if end else "")


def _build(rng: random.Random) -> Example:
    sentence, value = _record(rng)
    if rng.random() < 0.3:
        pairs = ", ".join(
            say(rng, "{k}" + sep + "{v}", k=k, v=_shown(v))
            for sep in (pick(rng, ("=", ": ", " ")),)
            for k, v in value.items()
        )
        ask = say(
            rng,
            (
                "[Make a JSON object with {p}|Make JSON from {p}|Write this as JSON: {p}|JSON with "
                "{p}|Create a JSON object: {p}]"
            ),
            p=pairs,
        )
    else:
        keys = ", ".join(value)
        ask = say(
            rng,
            (
                "[Turn this into JSON: {s}|Make a JSON object: {s}|Write as JSON: {s}|Give me JSON "
                "for this: {s}|Convert to JSON with {k}: {s}|{s} Write this as JSON.|JSON please: "
                "{s}|Extract {k} as JSON: {s}]"
            ),
            s=sentence,
            k=keys,
        )
    prompt = casual(rng, ask, lower=False)
    text = _dump(value, rng.random() < 0.25)
    thinking = join(
        say(
            rng,
            (
                "[I need a JSON object|The task is JSON|I collect the fields|What goes into the "
                "object|Let me find the fields]."
            ),
        ),
        say(rng, "[I see|The fields are|It says|Found]: {f}.", f=_fields(rng, value)),
        say(
            rng,
            (
                "[Text goes in quotes, numbers do not|Keys need quotes|Strings get double quotes|Now "
                "I write it down|Order as given]."
            ),
        ),
    )
    return Example(
        "json",
        "build",
        f"build {sorted(map(str, value.values()))}",
        prompt,
        thinking,
        _presented(rng, text),
        _presented(rng, _dump(value, rng.random() < 0.25)),
        dict(value),
    )


def _extract(rng: random.Random) -> Example:
    _, value = _record(rng)
    field = pick(rng, tuple(value))
    text = json.dumps(value)
    shown = field.replace("_", " ")
    prompt = casual(
        rng,
        say(
            rng,
            (
                "[What is the {f} in {t}?|Get the {f} from {t}|Extract the field {f}: {t}|{t} What "
                "is the {f}?|Read the {f} from this JSON: {t}|Which {f} does it have? {t}]"
            ),
            f=shown if rng.random() < 0.6 else f'"{field}"',
            t=text,
        ),
        lower=False,
    )
    truth = _shown(value[field])
    thinking = join(
        say(
            rng,
            "[I look for the key {f}|The key is {f}|Wanted is {f}|Which value belongs to {f}]: {p}.",
            f=f'"{field}"',
            p=json.dumps({field: value[field]})[1:-1],
        ),
        say(rng, _SO + " [the value is|it is|the answer is] {v}.", v=truth),
    )
    say_it = "[The {f} is|The value of {k} is|It says|There it is|The field {k} holds|Under {k} I find] {v}."
    return Example(
        "json",
        "extract",
        f"extract {field} {sorted(map(str, value.values()))}",
        prompt,
        thinking,
        say(rng, say_it, f=shown, k=f'"{field}"', v=truth),
        say(rng, say_it, f=shown, k=f'"{field}"', v=truth),
        truth,
    )


def _change(rng: random.Random) -> Example:
    _, value = _record(rng)
    _, donor = _record(rng)
    common = [k for k in value if k in donor and type(donor[k]) is type(value[k]) and donor[k] != value[k]]
    if not common:
        return _change(rng)
    field = pick(rng, common)
    new = donor[field]
    text = json.dumps(value)
    changed = {**value, field: new}
    prompt = casual(
        rng,
        say(
            rng,
            (
                "[Set {f} to {v} in {t}|Change the {f} to {v}: {t}|Replace the {f} by {v} in {t}|"
                "Update {f} to {v}: {t}]"
            ),
            f=field,
            v=_shown(new),
            t=text,
        ),
        lower=False,
    )
    thinking = join(
        say(
            rng,
            (
                "[The key {f} changes|Only {f} gets a new value|I replace {f}|The field to change is "
                "{f}], from {o} to {n}."
            ),
            f=field,
            o=_shown(value[field]),
            n=_shown(new),
        ),
        say(rng, "[The rest stays|Everything else stays as it is|Other fields stay|I keep the others]."),
    )
    return Example(
        "json",
        "change",
        f"change {field} {new} {sorted(map(str, value.values()))}",
        prompt,
        thinking,
        _presented(rng, json.dumps(changed)),
        _presented(rng, json.dumps(changed)),
        changed,
    )


def sample(rng: random.Random) -> Example:
    draw = rng.random()
    return _build(rng) if draw < 0.6 else _extract(rng) if draw < 0.85 else _change(rng)


def check(example: Example, text: str) -> bool:
    if isinstance(example.truth, str):
        return mentions(text, example.truth)
    found = re.search(r"\{.*\}", text, re.DOTALL)
    if found is None:
        return False
    try:
        return bool(json.loads(found[0]) == example.truth)
    except json.JSONDecodeError:
        return False


TASK = Task("json", 0.08, sample, check)
