"""Messages of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from engine.settings import Message


def last_prompt(messages: Sequence[Message]) -> str | None:
    """What the user said last; None where they said nothing."""
    return next((message["content"] for message in reversed(messages) if message["role"] == "user"), None)
