"""What the doctor asks when nobody says what."""

from __future__ import annotations

from ddtree_tui.examples import DEMO, GENERAL
from engine.settings import Message


def own_prompts(model: str) -> list[list[Message]]:
    """Two conversations: one that is easy to draft, one that is hard."""
    easy, hard = (DEMO[1], DEMO[4]) if model == "demo" else (GENERAL[1], GENERAL[4])
    return [[{"role": "user", "content": prompt}] for prompt in (easy, hard)]
