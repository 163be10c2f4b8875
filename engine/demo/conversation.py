"""Conversations for training: an example or two as chat turns, with or without thoughts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from engine.demo.chat import render_prompt, reply_text
from engine.demo.example import Example
from engine.demo.tasks import sample_example
from engine.demo.wording import pick
from engine.settings import Message

SYSTEM_SHARE = 0.08
SECOND_TURN_SHARE = 0.12
THINKING_SHARE = 0.5

SYSTEM_MESSAGES = (
    "You are a helpful assistant.",
    "You are a friendly assistant.",
    "You are a small demo model.",
    "Answer clearly.",
    "You are a helpful assistant. Be precise.",
    "Be kind and brief.",
    "You help with small tasks.",
    "You are an assistant.",
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Chat turns in one thinking mode; the first ``first_reply`` messages are given, not learned."""

    messages: tuple[Message, ...]
    thinking: bool
    first_reply: int = 0

    def turns(self) -> Iterator[tuple[str, str]]:
        """For every answer to learn: the whole prompt text, and the text the model writes then."""
        for index, message in enumerate(self.messages):
            if message["role"] == "assistant" and index >= self.first_reply:
                thoughts = message["reasoning_content"] if self.thinking else None
                yield (
                    render_prompt(self.messages[:index], self.thinking),
                    reply_text(message["content"], thoughts),
                )


def answer_message(example: Example, thinking: bool) -> Message:
    """The assistant's turn for an example."""
    if thinking:
        return {"role": "assistant", "content": example.answer, "reasoning_content": example.thinking}
    return {"role": "assistant", "content": example.answer_direct}


def prompt_messages(example: Example, thinking: bool = False) -> tuple[Message, ...]:
    """The turns that ask the example's question, what came before included."""
    messages: list[Message] = []
    for earlier in example.history:
        messages += [{"role": "user", "content": earlier.prompt}, answer_message(earlier, thinking)]
    return (*messages, {"role": "user", "content": example.prompt})


def example_conversation(example: Example, thinking: bool, system: str | None = None) -> Conversation:
    """One question and its answer."""
    lead: tuple[Message, ...] = ({"role": "system", "content": system},) if system else ()
    asked = (*lead, *prompt_messages(example, thinking))
    return Conversation((*asked, answer_message(example, thinking)), thinking, len(asked))


def sample_conversation(rng: random.Random) -> Conversation:
    """A training conversation, never of held-out content.

    Half of them think; some have two turns or a system message.
    """
    thinking = rng.random() < THINKING_SHARE
    system = pick(rng, SYSTEM_MESSAGES) if rng.random() < SYSTEM_SHARE else None
    first = example_conversation(sample_example(rng), thinking, system)
    if rng.random() >= SECOND_TURN_SHARE:
        return first
    second = sample_example(rng, "chat" if rng.random() < 0.15 else None)
    if second.history:
        return first
    asked: Message = {"role": "user", "content": second.prompt}
    return Conversation(
        (*first.messages, asked, answer_message(second, thinking)), thinking, first.first_reply
    )
