"""Prompts offered on the first screen and by the arrow keys of an empty prompt box."""

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


def examples(model: str) -> tuple[str, ...]:
    """What suits a model: the demo pair knows its trained tasks only."""
    return DEMO if model == "demo" else GENERAL
