"""Prompts a drafter is trained and measured on, from files or from the demo's tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError
from engine.prompt_file import read_prompt_file
from engine.settings import Message

DEMO = "demo"


@dataclass(frozen=True)
class Prompt:
    """One conversation for the target to go on with.

    Attributes:
        source: the file's name without its ending.
    """

    source: str
    messages: tuple[Message, ...]

    @property
    def key(self) -> str:
        """The same for the same conversation, whatever file it comes from."""
        return "\0".join(f"{message['role']}\0{message['content']}" for message in self.messages)


def read_prompts(names: Sequence[str]) -> list[Prompt]:
    """All prompts of some sources.

    Args:
        names: ``FILE`` or ``FILE:FIELD`` (JSON lines, a JSON list, or .txt with a prompt a line), or
            ``demo:COUNT`` for questions of the demo's tasks.

    Raises:
        EngineError: ``prompt_file``.
    """
    return [prompt for name in names for prompt in _read(name)]


def _read(name: str) -> list[Prompt]:
    head, colon, tail = name.rpartition(":")
    if head == DEMO and tail.isdecimal():
        return _demo_prompts(int(tail))
    path, field = Path(name), None
    if colon and not path.exists():
        path, field = Path(head), tail
    conversations = read_prompt_file(path, field=field, lines=True)
    return [Prompt(path.stem, tuple(messages)) for messages in conversations]


def _demo_prompts(count: int) -> list[Prompt]:
    from engine.demo.conversation import prompt_messages
    from engine.demo.tasks import sample_example

    rng = random.Random("questions for other targets")
    return [Prompt(DEMO, prompt_messages(sample_example(rng))) for _ in range(count)]


def split_prompts(prompts: Sequence[Prompt], heldout: int, seed: int) -> tuple[list[Prompt], list[Prompt]]:
    """Prompts to train on, and ``heldout`` different ones to measure on, which are not among the others.

    Raises:
        EngineError: ``bad_setting`` when nothing would be left to train on.
    """
    keys = sorted({prompt.key for prompt in prompts})
    if heldout >= len(keys):
        raise EngineError(
            "bad_setting",
            f"Of {len(keys)} different prompts, {heldout} cannot be held out.",
            "Give more prompts, or a smaller --heldout.",
        )
    kept_out = set(random.Random(f"held out {seed}").sample(keys, heldout))
    measured = {prompt.key: prompt for prompt in prompts if prompt.key in kept_out}
    return [prompt for prompt in prompts if prompt.key not in kept_out], list(measured.values())
