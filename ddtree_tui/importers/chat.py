"""The parts of a saved answer that OpenAI's chat and completion routes share, whoever serves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast, get_args

import msgspec

from ddtree_tui.importers.answer import Reason
from ddtree_tui.importers.json_answers import of_type
from engine.settings import Message

T = TypeVar("T")
_ROLES = ("system", "user", "assistant")


class Entry(msgspec.Struct):
    """What is told of one token; ``bytes`` as numbers."""

    token: str = ""
    bytes: list[int] | None = None


class Logprobs(msgspec.Struct):
    """What is told of the answer's tokens."""

    content: list[Entry] | None = None


class Spoken(msgspec.Struct):
    """A message: the answer, and its thinking under the one or the other name."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class Choice(msgspec.Struct):
    """One of the answers to a request. ``message`` on the chat route, ``text`` on the completion route."""

    message: Spoken | None = None
    text: str | None = None
    finish_reason: str | None = None
    token_ids: list[int] | None = None
    logprobs: Logprobs | None = None
    meta_info: dict[str, Any] | None = None


class Usage(msgspec.Struct):
    """How many tokens there were."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Request(msgspec.Struct):
    """What was sent, if it was saved beside the answer, as ``request``."""

    messages: list[Any] | None = None
    prompt: Any = None
    temperature: float | None = None
    max_tokens: int | None = None

    def conversation(self) -> list[Message]:
        """The messages, as far as they are plain text."""
        if isinstance(self.prompt, str):
            return [{"role": "user", "content": self.prompt}]
        found: list[Message] = []
        for message in self.messages or []:
            if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
                continue
            if isinstance(message.get("content"), str):
                role = cast(Literal["system", "user", "assistant"], message["role"])
                found.append({"role": role, "content": message["content"]})
        return found


def response_in(value: Any) -> Any:
    """The answer in what was saved: the ``response`` beside a ``request``, or all of it."""
    return value.get("response", value) if isinstance(value, Mapping) else value


def saved(value: Any, kind: type[T], number: int) -> tuple[T, Request]:
    """A saved answer as a struct of its source, and what was sent, as far as it was saved.

    Raises:
        EngineError: ``import`` that says which field is of the wrong type.
    """
    request = value.get("request") if isinstance(value, Mapping) else None
    return of_type(response_in(value), kind, number), of_type(request or {}, Request, number)


def text_of(choice: Choice | None) -> str:
    """The answer's text."""
    if choice is None:
        return ""
    said = choice.message.content if choice.message is not None else choice.text
    return said or ""


def thinking_of(choice: Choice | None) -> str:
    """The text of its thinking."""
    if choice is None or choice.message is None:
        return ""
    return choice.message.reasoning_content or choice.message.reasoning or ""


def reason_of(word: str | None) -> Reason:
    """Why it ended; what is no reason of ours is unknown."""
    if word == "abort":
        return "cancelled"
    return cast(Reason, word) if word in get_args(Reason) else "unknown"


def spelling_of(choice: Choice) -> dict[int, bytes]:
    """How its tokens are spelled, where their ids and their log-probabilities were asked for."""
    entries = choice.logprobs.content if choice.logprobs is not None else None
    ids = choice.token_ids
    if not entries or not ids or len(ids) != len(entries):
        return {}
    return {token_id: bytes_of(entry) for token_id, entry in zip(ids, entries, strict=True) if token_id >= 0}


def bytes_of(entry: Entry) -> bytes:
    """The bytes of a token; of its text where a server does not say them."""
    data = entry.bytes
    if data and all(0 <= byte < 256 for byte in data):
        return bytes(data)
    return entry.token.encode()
