"""Prompts to measure with: from files in the formats of the usual sets, or the demo's own questions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from engine.errors import EngineError
from engine.prompt_file import read_prompt_file
from engine.settings import Message

DEMO_SOURCE = "held-out demo questions"
DEMO_SEED = 2026


class Prompt(msgspec.Struct, frozen=True):
    """One conversation to answer.

    Attributes:
        source: the file's name without its ending.
        number: its place in the source, from 0.
        messages: what to send with thinking off.
        thinking_messages: what to send with thinking on, where that differs: the turns before the question
            then have their thoughts.
    """

    source: str
    number: int
    messages: list[Message]
    thinking_messages: list[Message] | None = None

    def turns(self, thinking: bool) -> list[Message]:
        return self.thinking_messages or self.messages if thinking else self.messages

    @property
    def digest(self) -> str:
        """Names the content."""
        data = msgspec.json.encode([self.messages, self.thinking_messages])
        return hashlib.blake2b(data, digest_size=8).hexdigest()


def read_prompts(files: Sequence[Path], limit: int, wrap: str | None, model: str) -> list[Prompt]:
    """The first ``limit`` prompts of every file (0: all of them).

    Raises:
        EngineError: ``prompt_file`` for a file without readable prompts; ``usage`` when no file is named and
            the model is not the demo, for which there are no questions of its own.
    """
    if not files:
        if model != "demo":
            raise EngineError(
                "usage",
                "There are no prompts to measure with.",
                "Name prompt files: ddtree-tui bench FILE ...; only the demo model has questions of its own.",
            )
        return demo_prompts(limit or 100)
    names = [path.stem for path in files]
    prompts = []
    for path, name in zip(files, names, strict=True):
        source = name if names.count(name) == 1 else str(path)
        conversations = read_prompt_file(path, limit, wrap)
        prompts += [Prompt(source, number, messages) for number, messages in enumerate(conversations)]
    return prompts


def demo_prompts(count: int) -> list[Prompt]:
    """Questions that the demo pair was not trained on."""
    from engine.demo.conversation import prompt_messages
    from engine.demo.tasks import heldout_examples

    prompts = []
    for number, example in enumerate(heldout_examples(count, DEMO_SEED)):
        plain, thinking = (list(prompt_messages(example, think)) for think in (False, True))
        prompts.append(Prompt(DEMO_SOURCE, number, plain, thinking if thinking != plain else None))
    return prompts
