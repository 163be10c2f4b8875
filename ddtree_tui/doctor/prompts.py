"""What the doctor asks when nobody says what."""

from __future__ import annotations

from ddtree_tui.examples import DEMO, GENERAL
from engine.settings import Message

SYSTEM: Message = {"role": "system", "content": "Answer in one short sentence."}


def own_prompts(model: str, *, system: bool = False) -> list[list[Message]]:
    """Two conversations: one that is easy to draft, one that is hard. ``system``: each with a message of
    that role."""
    easy, hard = (DEMO[1], DEMO[4]) if model == "demo" else (GENERAL[1], GENERAL[4])
    before = [SYSTEM] if system else []
    return [[*before, {"role": "user", "content": prompt}] for prompt in (easy, hard)]
