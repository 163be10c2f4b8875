"""The chunks of a streamed chat answer of another server: pieces as they come, and the whole when it is over.

Beside OpenAI's fields (https://platform.openai.com/docs/api-reference/chat-streaming) servers send their own.
vLLM: ``token_ids`` of each chunk and ``prompt_token_ids`` in the first (``return_token_ids``), thinking in
``delta.reasoning`` (in older versions ``reasoning_content``), ``metrics`` beside the last ``usage``; see
``vllm/entrypoints/openai`` and https://docs.vllm.ai/en/stable/serving/openai_compatible_server/. SGLang:
thinking in ``delta.reasoning_content``, and ``sglext`` in a chunk of its own at the end
(``python/sglang/srt/entrypoints/openai/serving_chat.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec

from ddtree_tui.answer_text import Section
from ddtree_tui.attach.refusals import MOST_WORDS
from ddtree_tui.escape import escape
from ddtree_tui.importers.chat import Entry, Logprobs, Usage, bytes_of
from engine.errors import EngineError
from engine.events import UNKNOWN_ID

T = TypeVar("T")
MAX_TOKENS = 4_000_000
"""Of a prompt or an answer; no server has a context as long as that."""
MAX_ID = 2**31


class Delta(msgspec.Struct):
    """What is new."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class ChunkChoice(msgspec.Struct):
    """One of the answers; only the first is asked for. Fields beyond the text may be anything."""

    index: int = 0
    delta: Delta | None = None
    finish_reason: str | None = None
    token_ids: Any = None
    logprobs: Any = None


class Chunk(msgspec.Struct):
    """One event of the stream, as far as it matters here. Fields beyond the text may be anything."""

    choices: list[ChunkChoice] | None = None
    usage: Any = None
    prompt_token_ids: Any = None
    metrics: Any = None
    sglext: Any = None
    error: Any = None


class Part(NamedTuple):
    """A piece of the text. ``id``: its token, ``UNKNOWN_ID`` where it is unknown or they are several."""

    section: Section
    text: str
    id: int = UNKNOWN_ID


def read_chunk(data: bytes) -> Chunk:
    """One event's data, which is not ``[DONE]``.

    Raises:
        EngineError: ``remote_answer`` for what is no chunk, ``remote_refused`` for an error in its place.
    """
    try:
        value = msgspec.json.decode(data)
        chunk = msgspec.convert(value, Chunk)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise EngineError(
            "remote_answer",
            "The server sent something that is no part of a chat answer.",
            "Check that it speaks OpenAI's interface.",
            f"{error}: {data[:200]!r}",
        ) from error
    said = chunk.error or (value if value.get("object") == "error" else None)  # older servers' shape
    if said:
        words = said.get("message") if isinstance(said, dict) else said
        raise EngineError(
            "remote_refused",
            f"The server ended the answer: {escape(str(words)[:MOST_WORDS])}".rstrip(".") + ".",
            "Try again; if it happens again, look into the server's log.",
            repr(said)[:400],
        )
    return chunk


class Stream:
    """Takes chunks in order.

    Attributes:
        prompt_tokens: None while the server does not say it.
        ids: of the answer so far; empty if any is unknown.
        entries: how these tokens are spelled, one for each id; empty if any is unknown.
        thinking, text: so far.
        finish_reason: as the server says it; None before the end.
    """

    def __init__(self) -> None:
        self.thinking = self.text = ""
        self.prompt_tokens: int | None = None
        self.prompt_ids: list[int] = []
        self.ids: list[int] = []
        self.entries: list[Entry] = []
        self.finish_reason: str | None = None
        self.metrics: dict[str, Any] | None = None
        self.sglext: dict[str, Any] | None = None
        self._has_ids = self._has_entries = True
        self._told = 0

    @property
    def tokens(self) -> int | None:
        """Of the answer so far, as the server says or else as they were counted; None where neither is so."""
        return self._told or len(self.ids) or len(self.entries) or None

    @property
    def drafting(self) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """What the server says of the rounds of this one answer, as vLLM or as SGLang does."""
        told, extended = self.metrics or {}, self.sglext or {}
        return told.get("speculative_decoding"), extended.get("spec_tokens_details")

    def take(self, chunk: Chunk) -> list[Part]:
        """The text that a chunk brings."""
        self.prompt_ids = _ids(chunk.prompt_token_ids) or self.prompt_ids
        self.metrics = _read(chunk.metrics, dict[str, Any]) or self.metrics
        self.sglext = _read(chunk.sglext, dict[str, Any]) or self.sglext
        choice = next((choice for choice in chunk.choices or () if choice.index == 0), None)
        parts = list(self._parts(choice)) if choice is not None else []
        usage = _read(chunk.usage, Usage) or Usage()
        self._told = _count(usage.completion_tokens) or self._told
        self.prompt_tokens = _count(usage.prompt_tokens) or self.prompt_tokens
        return parts

    def _parts(self, choice: ChunkChoice) -> Iterator[Part]:
        delta = choice.delta or Delta()
        thinking, text = delta.reasoning_content or delta.reasoning or "", delta.content or ""
        ids = _ids(choice.token_ids)
        entries = (_read(choice.logprobs, Logprobs) or Logprobs()).content or []
        self.finish_reason = choice.finish_reason or self.finish_reason
        self._keep(ids, entries, silent=not (thinking or text))
        self.thinking += thinking
        self.text += text
        if thinking:
            yield from _divided("thinking", thinking, ids, entries if not text else [])
        if text:
            yield from _divided("answer", text, ids, entries if not thinking else [])

    def _keep(self, ids: list[int], entries: list[Entry], *, silent: bool) -> None:
        """A chunk may be without text, such as the first and the last; one with text and without its tokens
        makes all of them worth nothing."""
        self._has_ids &= bool(ids) or silent
        self._has_entries &= bool(entries) or silent
        self.ids += ids
        self.entries += entries
        if not self._has_ids:
            self.ids.clear()
        if not self._has_entries:
            self.entries.clear()


def _read(value: Any, kind: type[T]) -> T | None:
    """A field beyond the text; None where it is none, or something else than we know."""
    try:
        return None if value is None else msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError):
        return None


def _ids(value: Any) -> list[int]:
    found = _read(value, list[int]) or []
    return found if all(0 <= token < MAX_ID for token in found) else []


def _count(value: int | None) -> int | None:
    return value if value is not None and 0 <= value <= MAX_TOKENS else None


def _divided(section: Section, text: str, ids: list[int], entries: list[Entry]) -> Iterator[Part]:
    """The text token by token where their spelling is exactly that text, else in one piece: a server keeps
    text back that may begin a stop string, a tag, or half a character."""
    spelled = [bytes_of(entry) for entry in entries]
    known = ids if len(ids) == len(spelled) else [UNKNOWN_ID] * len(spelled)
    try:
        parts = [Part(section, data.decode(), token) for data, token in zip(spelled, known, strict=True)]
    except UnicodeDecodeError:
        parts = []
    exact = bool(parts) and "".join(part.text for part in parts) == text
    yield from parts if exact else [Part(section, text)]
