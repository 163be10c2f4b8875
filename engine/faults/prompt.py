"""Faults of the prompt: of the template, of what a client asks of it, of how its text is cut into tokens."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.codec import Codec, EncodedPrompt
from engine.settings import Message

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""The template that servers fall back to, in the markup of Qwen and SmolLM."""


class _ThinkingAsString(Codec):
    """Hands the template what a client wrote: most take the string for true."""

    def _render(self, messages: Sequence[Message], thinking: bool, *, generation_prompt: bool) -> str:
        return super()._render(messages, True, generation_prompt=generation_prompt)


class _TwoBos(Codec):
    """Adds the token that the template has written already."""

    def encode_chat(
        self, messages: Sequence[Message], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        prompt = super().encode_chat(messages, thinking, context=context)
        return replace(prompt, ids=[prompt.ids[0], *prompt.ids], stable=0)


class _NoTurn(Codec):
    def _render(self, messages: Sequence[Message], thinking: bool, *, generation_prompt: bool) -> str:
        return super()._render(messages, thinking, generation_prompt=False)


class _NoSystem(Codec):
    def encode_chat(
        self, messages: Sequence[Message], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        others = [message for message in messages if message["role"] != "system"]
        return super().encode_chat(others, thinking, context=context)


class _OtherCut(Codec):
    def encode_chat(
        self, messages: Sequence[Message], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        prompt = super().encode_chat(messages, thinking, context=context)
        return replace(prompt, ids=cut_otherwise(self, prompt.ids), stable=0)


def cut_otherwise(codec: Codec, ids: Sequence[int]) -> list[int]:
    """The same text with the tokens nearest to its end that can be, joined to one or parted in two."""
    backend = codec.tokenizer.backend_tokenizer
    entries: dict[str, int] = backend.get_vocab(with_added_tokens=False)
    names = [None if token_id in codec.special_ids else backend.id_to_token(token_id) for token_id in ids]
    for at in range(len(ids) - 1, -1, -1):
        name, before = names[at], names[at - 1] if at else None
        if name is None:
            continue
        if before is not None and (joined := entries.get(before + name)) is not None:
            return [*ids[: at - 1], joined, *ids[at + 1 :]]
        for place in sorted(range(1, len(name)), key=lambda place: abs(2 * place - len(name))):
            parts = entries.get(name[:place]), entries.get(name[place:])
            if parts[0] is not None and parts[1] is not None:
                return [*ids[:at], parts[0], parts[1], *ids[at + 1 :]]
    return [*ids]


def _use_chatml(planting: Planting) -> None:
    codec = planting.pair.codec
    codec._tokenizer = copy.copy(codec.tokenizer)
    codec._tokenizer.chat_template = CHATML


def _vary(variant: type[Codec]) -> Plant:
    return lambda planting: planting.vary(planting.pair.codec, variant)


PLANTS: dict[str, Plant] = {
    "no-thinking-tags": _use_chatml,
    "thinking-left-on": _vary(_ThinkingAsString),
    "two-bos": _vary(_TwoBos),
    "no-generation-prompt": _vary(_NoTurn),
    "system-lost": _vary(_NoSystem),
    "prompt-border": _vary(_OtherCut),
}
