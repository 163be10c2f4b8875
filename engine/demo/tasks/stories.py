"""Short stories from a grammar: a hero, a place, a problem, a friend, a good end."""

from __future__ import annotations

import random

from engine.demo.example import Example
from engine.demo.split import wording_key
from engine.demo.task import Task
from engine.demo.tasks.plots import PLOTS
from engine.demo.wording import cap, casual, join, pick, say

_ANIMALS = (
    "fox", "rabbit", "bear", "mouse", "cat", "dog", "owl", "frog", "turtle", "squirrel", "hedgehog", "duck",
    "wolf", "lion", "elephant", "penguin", "pig", "horse", "dragon", "monkey", "bee", "otter", "badger",
    "deer",
)  # fmt: skip
_PEOPLE = (
    "girl",
    "boy",
    "robot",
    "wizard",
    "princess",
    "prince",
    "farmer",
    "pirate",
    "sailor",
    "knight",
    "baker",
    "king",
    "queen",
    "giant",
    "painter",
)
_NAMES = (
    "Pip", "Luna", "Milo", "Nia", "Otto", "Ruby", "Bruno", "Tilly", "Max", "Coco", "Finn", "Mia", "Leo",
    "Daisy", "Hugo", "Ivy", "Theo", "Zoe", "Oscar", "Lily", "Benny", "Rosie", "Sam", "Nora", "Gus", "Ella",
    "Rusty", "Hazel", "Jasper", "Wilma",
)  # fmt: skip
_SHE = {
    "Luna",
    "Nia",
    "Ruby",
    "Tilly",
    "Mia",
    "Daisy",
    "Ivy",
    "Zoe",
    "Lily",
    "Rosie",
    "Nora",
    "Ella",
    "Hazel",
    "Wilma",
}
_HER_KINDS, _HIS_KINDS = {"girl", "princess", "queen"}, {"boy", "prince", "king", "wizard", "giant"}
_ADJECTIVES = (
    "small",
    "young",
    "clever",
    "shy",
    "curious",
    "brave",
    "kind",
    "cheerful",
    "quiet",
    "friendly",
    "little",
    "lively",
    "lazy",
    "dreamy",
)
_PLACES = (
    "in a green valley", "at the edge of a forest", "by a quiet lake", "in a small village",
    "on a high mountain", "on a tiny island", "near the sea", "in an old mill", "behind a hill",
    "in a busy town", "under a big oak", "at the end of a long road", "in a house full of books",
    "beside a river",
)  # fmt: skip
_HABITS = (
    (
        "[Every morning|Each day|Before breakfast] {he} [went for a walk|watered the flowers|"
        "watched the sunrise|sang a song|fed the birds]."
    ),
    (
        "{He} [loved|liked] [warm pancakes|rainy days|old books|the smell of hay|long walks|"
        "loud music|summer evenings|bright colors] [more than anything|very much|above all]."
    ),
    (
        "[Everyone knew {him}|The neighbors liked {him}|All the others smiled about {him}], "
        "because {he} [was always in a good mood|had a funny laugh|asked so many questions|"
        "helped wherever {he} could]."
    ),
    (
        "[In the evening|At night|On Sundays] {he} [looked at the stars|told stories|dreamed "
        "of faraway places|played the flute|sat by the window]."
    ),
    "",
)

_ASK_PLAIN = (
    "[Tell me a story.|Tell me a short story.|Write a story.|Write a short story.|Can "
    "you tell me a story?|I want a story.|A story please.|Please tell me a bedtime "
    "story.|Make up a story.|Story time!|Once upon a time...|Tell me something nice.]"
)
_ASK_HERO = (
    "[Tell me a story about {a} {k}.|Write a story about {a} {k}.|Write a short story "
    "about {a} {k}.|A story about {a} {k}, please.|Can you tell me a story about {a} "
    "{k}?|I want a story about {a} {k}.|Make up a story with {a} {k}.|story about {a} "
    "{k}]"
)
_ASK_NAMED = (
    "[Tell me a story about {a} {k} named {n}.|Write a short story about {a} {k} called "
    "{n}.|Write a story about {n} the {k}.|Tell me about {n}, the {k}.|A story about {a} "
    "{k} named {n}, please.]"
)
_ASK_TOPIC = (
    "[Tell me a story about {t}.|Write a story about {t}.|Write a short story about {t}.|"
    "A story about {t}, please.|Can you tell me a story about {t}?]"
)
_ASK_BOTH = (
    "[Tell me a story about {a} {k} and {t}.|Write a story about {a} {k} and {t}.|Write "
    "a short story about {a} {k}, with {t} in it.]"
)


def _an(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def _told(rng: random.Random, values: dict[str, str], plot_index: int) -> str:
    plot = PLOTS[plot_index]
    opening = say(
        rng,
        pick(
            rng,
            (
                (
                    "[Once upon a time|Once|Long ago|A long time ago|Not so long ago|Some years ago] "
                    "[there was {a} {k} named {n} who lived {p}|there lived {a} {k} {p}, and {his} name "
                    "was {n}|{a} {k} named {n} lived {p}]."
                ),
                (
                    "[{n} was {a} {k} who lived {p}|{n}, {a} {k}, lived {p}|{P} lived {a} {k} named {n}|"
                    "This is the story of {n}, {a} {k} who lived {p}]."
                ),
            ),
        ),
        **values,
    )
    habit = say(rng, pick(rng, _HABITS), **values)
    parts = [
        opening,
        habit,
        say(rng, plot.problem, **values),
        say(rng, plot.turn, **values),
        say(rng, plot.end, **values),
    ]
    if rng.random() < 0.7:
        parts.append(say(rng, plot.lesson, **values))
    text = join(*parts)
    introduced = text.find(values["f"]) + len(values["f"])
    return text[:introduced] + text[introduced:].replace(values["f"], values["friend"])


def sample(rng: random.Random) -> Example:
    plain = pick(rng, _ANIMALS if rng.random() < 0.65 else _PEOPLE)
    adjective = pick(rng, _ADJECTIVES)
    index = int(rng.random() * len(PLOTS))
    plot = PLOTS[index]
    she = plain in _HER_KINDS or (plain not in _HIS_KINDS and rng.random() < 0.5)
    names = [name for name in _NAMES if (name in _SHE) == she]
    name = pick(rng, names)
    friend_kind = pick(rng, tuple(k for k in _ANIMALS if k != plain))
    friend_name = pick(rng, tuple(n for n in _NAMES if n != name))
    friend = f"{friend_name} the {friend_kind}"
    kind = f"{adjective} {plain}" if rng.random() < 0.75 else plain
    place = pick(rng, _PLACES)
    thing = pick(rng, plot.things)
    values = {
        "n": name,
        "k": kind,
        "a": _an(kind),
        "p": place,
        "P": cap(place),
        "f": friend,
        "thing": thing,
        "he": "she" if she else "he",
        "He": "She" if she else "He",
        "his": "her" if she else "his",
        "him": "her" if she else "him",
        "himself": "herself" if she else "himself",
        "friend": friend_name,
    }
    topic = say(rng, plot.topic, thing=thing)
    shape = rng.random()
    if shape < 0.2:
        ask, key = say(rng, _ASK_PLAIN), ""
    elif shape < 0.5:
        asked = kind if rng.random() < 0.4 else plain
        ask = say(rng, _ASK_HERO, a=_an(asked), k=asked)
        key = wording_key(ask)
    elif shape < 0.65:
        ask = say(rng, _ASK_NAMED, a=_an(plain), k=plain, n=name)
        key = wording_key(ask)
    elif shape < 0.85:
        ask = say(rng, _ASK_TOPIC, t=topic)
        key = wording_key(ask)
    else:
        ask = say(rng, _ASK_BOTH, a=_an(plain), k=plain, t=topic)
        key = wording_key(ask)
    thinking = join(
        say(
            rng,
            "[A story it is|They want a story|Let me plan a story|I need a small story|Time for a story].",
        ),
        say(rng, "[The hero|Main character|It is about|The hero is]: {n}, {a} {k}.", **values),
        say(rng, "[It happens|The place|Where]: {p}.", **values),
        say(rng, "[The topic|What happens|The plot|It tells of]: {t}.", t=topic),
        say(rng, "[{f} helps|A friend comes in: {f}|Then comes {f}].", f=friend),
        say(rng, "[It ends well|A happy end|In the end all is good|With a small lesson at the end].")
        if rng.random() < 0.8
        else "",
    )
    return Example(
        "stories",
        plot.topic.replace(" {thing}", ""),
        key,
        casual(rng, ask),
        thinking,
        _told(rng, values, index),
        _told(rng, values, index),
    )


TASK = Task("stories", 0.09, sample, checkable=False)
