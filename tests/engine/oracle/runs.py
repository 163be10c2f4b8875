"""Answers of tiny pairs and what the oracle says of them."""

from __future__ import annotations

from typing import Any

from engine.decode import generate
from engine.events import Checked, Divergence, Round
from engine.pair import Pair


def checked(pair: Pair, prompt: str = "abcdefgh", **settings: Any) -> tuple[Checked, list[Any]]:
    """What was found, and all events."""
    events = list(generate(pair, prompt, **{"max_new_tokens": 24, "oracle": "full", **settings}))
    return next(event for event in events if isinstance(event, Checked)), events


def rounds(events: list[Any]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


def divergences(events: list[Any]) -> list[Divergence]:
    return [event for event in events if isinstance(event, Divergence)]
