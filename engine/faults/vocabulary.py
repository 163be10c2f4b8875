"""Faults of the ids: the tokenizer means other words than the target."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engine.codec import Codec, EncodedPrompt
from engine.settings import Message

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _NextId(Codec):
    """A tokenizer to which a word was added in front: all others have the id after their own."""

    def encode_chat(
        self, messages: Sequence[Message], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        prompt = super().encode_chat(messages, thinking, context=context)
        return replace(prompt, ids=[self._moved(token_id, 1) for token_id in prompt.ids])

    def tokenise(self, text: str) -> list[int]:
        return [self._moved(token_id, 1) for token_id in super().tokenise(text)]

    def token_bytes(self, token_id: int) -> bytes:
        return super().token_bytes(self._moved(token_id, -1))

    @cached_property
    def _words(self) -> list[int]:
        """All but the control tokens, which may stand before the words or behind them."""
        return [token_id for token_id in range(self.entries) if token_id not in self.special_ids]

    def _moved(self, token_id: int, by: int) -> int:
        words = self._words
        place = bisect_left(words, token_id)
        if place == len(words) or words[place] != token_id:
            return token_id
        return words[(place + by) % len(words)]


def _move_ids(planting: Planting) -> None:
    planting.vary(planting.pair.codec, _NextId)


PLANTS: dict[str, Plant] = {"vocabulary": _move_ids}
