"""Prompts offered on the first screen, by the arrow keys of an empty prompt box, and by kind in a list."""

from __future__ import annotations

DEMO: tuple[str, ...] = (
    "What is 47 + 85?",
    "Tom has 12 apples and buys 8 more. How many apples does he have?",
    "Write a Python function that reverses a list.",
    "Sort 9, 4, 17, 2, 11.",
    "Tell me a short story about a fox.",
    "What is 3.5 km in metres?",
)
GENERAL: tuple[str, ...] = (
    "Explain in three sentences how speculative decoding works.",
    "Write a Python function that checks whether a word is a palindrome.",
    "If all bloops are razzies and all razzies are lazzies, are all bloops lazzies?",
    "List five prime numbers between 50 and 100 as JSON.",
    "Tell me a short story about a lighthouse.",
)
Kinds = tuple[tuple[str, tuple[str, ...]], ...]
DEMO_KINDS: Kinds = (
    ("arithmetic", ("What is 47 + 85?", "What is the difference between 5315 and 259?")),
    ("word problems", (DEMO[1], "Sara buys 11 pencils. One costs 7 dollars. What does Sara pay?")),
    ("code", (DEMO[2], "Write a Python function that returns the mean of a list of numbers.")),
    ("json", ("Make JSON from name: Leo, age: 52, city: Oslo",)),
    ("lists", ("Sort 9, 4, 17, 2, 11.", "Maximum of 10, 48, 64, 30, 52")),
    ("numbers", ("Square 10.", "Is 3607 an even number?")),
    ("strings", ('How do you spell "mother"?', 'Reverse "touch".')),
    ("units", ("What is 3.5 km in metres?", "Convert 9 days to hours")),
    ("facts: hard to draft", ("What is the capital of Italy?", "What is the color of coal?")),
    ("stories", ("Tell me a short story about a fox.", "Write a story about telling the truth")),
)
GENERAL_KINDS: Kinds = (
    ("code: easy to draft", (GENERAL[1], "Write a SQL query that lists the ten newest orders of a shop.")),
    ("structured", (GENERAL[3], "Write a YAML file that describes three planets: name, radius, moons.")),
    ("reasoning", (GENERAL[2], "A train leaves at 9:40 and arrives at 13:05. How long does it take?")),
    ("explaining", (GENERAL[0], "Explain to a child why the sky is blue.")),
    ("translating", ("Translate into German and French: The library opens at nine.",)),
    ("stories: hard to draft", (GENERAL[4], "Write a poem of eight lines about a cold morning.")),
)


def examples(model: str) -> tuple[str, ...]:
    """What suits a model: the demo pair knows its trained tasks only."""
    return DEMO if model == "demo" else GENERAL


def examples_by_kind(model: str) -> Kinds:
    """The same and more, by kind of task: how much of a text can be drafted depends on it."""
    return DEMO_KINDS if model == "demo" else GENERAL_KINDS
