"""The demo's chat template, rendered without transformers: the training text comes from here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine.settings import Message

END_OF_TEXT = "<|endoftext|>"
TURN_START = "<|im_start|>"
TURN_END = "<|im_end|>"
MASK = "<|mask|>"
THINK_OPEN = "<think>"
THINK_CLOSE = "</think>"

TEMPLATE = Path(__file__).with_name("chat_template.jinja")


def template_text() -> str:
    """Source of the chat template, as it goes into the tokenizer's folder."""
    return TEMPLATE.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(template_text())


def _refuse(message: str) -> None:
    raise jinja2.TemplateError(message)


def render_prompt(messages: Sequence[Message], thinking: bool) -> str:
    """Text up to where the model starts writing.

    Raises:
        jinja2.TemplateError: a role other than system, user and assistant.
    """
    return _template().render(messages=messages, add_generation_prompt=True, enable_thinking=thinking)


def render_history(messages: Sequence[Message]) -> str:
    """Text of finished turns alone, without a generation prompt."""
    return _template().render(messages=messages, add_generation_prompt=False)


def reply_text(answer: str, thinking: str | None) -> str:
    """What the model itself writes after the prompt, ``TURN_END`` left out.

    With thoughts the prompt has opened the block already, so the reply starts inside it.
    """
    if thinking is None:
        return answer
    return f"{thinking}\n{THINK_CLOSE}\n\n{answer}"
