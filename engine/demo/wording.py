"""Small text grammar: templates with choices, so that nothing is said the same way twice.

``[a|b|c]`` is an even choice (an empty option drops the part, a repeated one is likelier),
``{name}`` a value; both nest. Values are inserted as they are and never parsed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_Sequence = tuple["_Part", ...]


class _Field(str):
    """Name of a value to insert."""


class _Choice(tuple[_Sequence, ...]):
    """Alternatives, evenly likely."""


_Part = str | _Field | _Choice


@cache
def _parse(template: str) -> _Sequence:
    parts, end = _parse_sequence(template, 0)
    if end != len(template):
        raise ValueError(f"unbalanced ']' or stray '|' at {end} in {template!r}")
    return parts


def _parse_sequence(template: str, at: int) -> tuple[_Sequence, int]:
    parts: list[_Part] = []
    literal = at
    while at < len(template) and template[at] not in "|]":
        if template[at] == "[":
            if literal < at:
                parts.append(template[literal:at])
            options: list[_Sequence] = []
            while True:
                option, at = _parse_sequence(template, at + 1)
                options.append(option)
                if at >= len(template):
                    raise ValueError(f"missing ']' in {template!r}")
                if template[at] == "]":
                    break
            parts.append(_Choice(options))
            at += 1
            literal = at
        elif template[at] == "{":
            if literal < at:
                parts.append(template[literal:at])
            close = template.index("}", at)
            parts.append(_Field(template[at + 1 : close]))
            at = close + 1
            literal = at
        else:
            at += 1
    if literal < at:
        parts.append(template[literal:at])
    return tuple(parts), at


def _render(rng: random.Random, parts: _Sequence, values: dict[str, object], out: list[str]) -> None:
    for part in parts:
        if isinstance(part, _Choice):
            _render(rng, part[int(rng.random() * len(part))], values, out)
        elif isinstance(part, _Field):
            out.append(str(values[part]))
        else:
            out.append(part)


def say(rng: random.Random, template: str, /, **values: object) -> str:
    """The template with every choice made and every value in place.

    Raises:
        KeyError: a value is missing.
        ValueError: brackets do not match.
    """
    out: list[str] = []
    _render(rng, _parse(template), values, out)
    return "".join(out)


def pick(rng: random.Random, options: Sequence[T]) -> T:
    """One of the options, evenly likely (faster than ``rng.choice``)."""
    return options[int(rng.random() * len(options))]


def cap(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def join(*sentences: str) -> str:
    """Non-empty sentences with one blank between them."""
    return " ".join(sentence for sentence in sentences if sentence)


def casual(rng: random.Random, prompt: str, lower: bool = True) -> str:
    """The prompt as people really type it: small letters, no full stop, contractions, a please at an end.

    ``lower=False`` keeps all but the first letter, for prompts whose letters matter.
    """
    if prompt.startswith("What is ") and rng.random() < 0.15:
        prompt = pick(rng, ("What's ", "Whats ", "what's ", "whats ")) + prompt[8:]
    if lower and rng.random() < 0.12:
        prompt = prompt.lower()
    if rng.random() < 0.07 and "please" not in prompt.lower():
        tail = prompt[-1] if prompt[-1] in "?.!" else ""
        prompt = prompt[: len(prompt) - len(tail)] + pick(rng, (" please", ", please", " please")) + tail
    if rng.random() < 0.3 and prompt[:2] != "I " and not prompt[1:2].isupper():
        prompt = prompt[0].lower() + prompt[1:]
    if prompt[-1] in "?.!" and rng.random() < 0.3:
        prompt = prompt[:-1]
    return prompt
