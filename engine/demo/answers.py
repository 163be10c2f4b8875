"""Reading values out of an answer's text, for the checks."""

from __future__ import annotations

import re

from engine.demo.example import Example

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?")
_NUMBER_LIST = re.compile(r"-?\d+(?:(?:, | and |, and )-?\d+)*")


def numbers(text: str) -> list[float]:
    """All numbers of the text, in order; a minus counts when a number follows it directly."""
    return [float(found) for found in _NUMBER.findall(text)]


def last_number_is(example: Example, text: str) -> bool:
    """The last number of the answer is the truth: answers end in their result."""
    found = numbers(text)
    return bool(found) and isinstance(example.truth, int | float) and found[-1] == example.truth


def last_numbers_are(example: Example, text: str) -> bool:
    """The last list of numbers in the answer is the truth, a tuple of numbers."""
    found = _NUMBER_LIST.findall(text)
    return bool(found) and tuple(int(number) for number in re.findall(r"-?\d+", found[-1])) == example.truth


def mentions(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words, whatever its case."""
    return re.search(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", text.lower()) is not None


def mentions_truth(example: Example, text: str) -> bool:
    """The answer names the truth: a string, or a tuple of strings any of which will do."""
    accepted = example.truth if isinstance(example.truth, tuple) else (example.truth,)
    return any(mentions(text, str(phrase)) for phrase in accepted)


def yes_or_no_is(example: Example, text: str) -> bool:
    """The answer starts with the truth, ``yes`` or ``no``."""
    return re.match(rf"{example.truth}\b", text.strip().lower()) is not None
