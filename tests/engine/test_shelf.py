"""Conversations that take turns: each goes on from what both models remember of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import torch
from test_static import both
from tiny_models import LetterCodec, tiny_pair

from engine.codec import EncodedPrompt
from engine.decode import generate
from engine.events import Finding, Finished, Prefilled, Round, StageTimes
from engine.pair import Pair
from engine.settings import Message
from engine.shelf import Shelf

ROOM = 2**24
QUESTIONS = ("a_fox_and_a_lantern", "two_owls", "rain")


class ChatCodec(LetterCodec):
    """An id is a letter, ``@`` begins an answer; histories have it or not, as templates do with thinking."""

    def __init__(self, whole: bool) -> None:
        super().__init__()
        self.whole = whole

    def encode_chat(
        self, messages: Sequence[Any], thinking: bool, *, context: int | None = None
    ) -> EncodedPrompt:
        begins = {"assistant": "@"} if self.whole else {}
        text = "".join(begins.get(message["role"], "") + message["content"] for message in messages)
        ids = [ord(letter) - 64 for letter in text]
        return EncodedPrompt(ids=[*ids, 0], text=f"{text}@", stable=len(ids), in_thinking=False)


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def turn(pair: Pair, messages: list[Message], **settings: Any) -> tuple[int, list[Any]]:
    """One answer, which is appended to the conversation; how many tokens were cached, and its rounds,
    findings and ids, without times."""
    told: list[Any] = []
    cached = 0
    for event in generate(pair, messages, max_new_tokens=14, budget=8, **settings):
        match event:
            case Prefilled():
                cached = event.cached
            case Round():
                told.append(msgspec.structs.replace(event, ms=StageTimes(), t=0.0))
            case Finding():
                told.append(event.cause)
            case Finished():
                told.append(event.output_ids)
                messages.append({"role": "assistant", "content": event.text})
    return cached, told


@pytest.mark.parametrize(
    ("family", "on_device", "whole"),
    [("qwen3_5", False, False), ("qwen3_5", True, True), ("gpt_oss", False, True), ("llama", True, False)],
)
def test_turns_are_the_same_as_without_others_between(family: str, on_device: bool, whole: bool) -> None:
    """Rounds and all that is in them: drafts, the target's choices, its log-probabilities. ``whole``: they go
    on from the end of the text, else from its snapshot."""
    alone, shared = (both(family, dtype=torch.float64)[on_device] for _ in range(2))
    for pair in (alone, shared):
        object.__setattr__(pair, "codec", ChatCodec(whole))
    shared.session.shelf = Shelf(ROOM)
    expected: list[list[tuple[int, list[Any]]]] = []
    for question in QUESTIONS:
        alone.session.reset()
        messages = [user(question)]
        first = turn(alone, messages)
        messages.append(user("and_then"))
        expected.append([first, turn(alone, messages, mode="chain")])
    conversations = [[user(question)] for question in QUESTIONS]
    for messages, told in zip(conversations, expected, strict=True):
        assert turn(shared, messages) == told[0]
        messages.append(user("and_then"))
    for messages, told in zip(conversations, expected, strict=True):
        assert turn(shared, messages, mode="chain") == told[1]
        assert told[1][0] >= len(messages[0]["content"])


def test_what_was_not_asked_for_longest_goes_first() -> None:
    pair = tiny_pair("qwen3_5")
    object.__setattr__(pair, "codec", ChatCodec(False))
    shelf = pair.session.shelf = Shelf(ROOM)
    conversations = {question: [user(question)] for question in QUESTIONS}
    sizes = []
    for messages in conversations.values():
        turn(pair, messages)
        messages.append(user("more"))
        sizes.append(shelf.nbytes)
    assert len(shelf) == 2  # the third one is in the caches
    assert 0 == sizes[0] < sizes[1] < sizes[2]
    shelf.limit = 5 * sizes[2] // 4
    fox, owls, rain = conversations.values()
    assert turn(pair, rain)[0] > 0
    assert turn(pair, [user("a_long_text_that_nobody_goes_on_with")])[0] == 0
    assert len(shelf) == 2
    assert shelf.nbytes <= shelf.limit
    assert turn(pair, owls)[0] > 0
    assert turn(pair, fox)[0] == 0  # forgotten


def test_a_text_that_is_too_large_by_itself_is_not_kept() -> None:
    pair = tiny_pair("qwen3")
    object.__setattr__(pair, "codec", ChatCodec(False))
    shelf = pair.session.shelf = Shelf(1000)
    for question in QUESTIONS:
        turn(pair, [user(question)])
    assert (len(shelf), shelf.nbytes) == (0, 0)
