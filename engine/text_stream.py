"""Text out of token ids as they come. Imports neither torch nor transformers.

Tokens are bytes, and a character may be spread over several of them; a model's thinking and its answer are
two texts; a stop string may begin in one token and end in another.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Protocol

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"


class Vocabulary(Protocol):
    """What a stream must know of a tokenizer. ``engine.codec.Codec`` is one."""

    @property
    def special_ids(self) -> frozenset[int]:
        """Control tokens, which are not text."""

    @property
    def think_open_id(self) -> int | None:
        """The id that begins thinking, where there is one."""

    @property
    def think_close_id(self) -> int | None:
        """The id that ends thinking."""

    @property
    def strips_first_space(self) -> bool:
        """Whether a space before the first word of a text is not part of it."""

    def token_bytes(self, token_id: int) -> bytes:
        """The token's bytes."""


class TextStream:
    """Splits a growing answer into thinking and answer text.

    Thinking goes from ``<think>`` (or the start, when the prompt left it open) to ``</think>``, both told by
    id: the same characters written with ordinary tokens are text. Line breaks right behind either tag are
    layout, not text. Bytes that are no UTF-8 become U+FFFD once no later byte can complete them.

    Stop strings are looked for in the answer alone, never in the thinking. The token that completes one is
    the last one kept in the ids (``tokens``); the text ends before the string.

    Args:
        in_thinking: whether the prompt ends inside an open ``<think>``.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, stop: Sequence[str] = (), in_thinking: bool = False
    ) -> None:
        self._vocabulary = vocabulary
        self._stop = tuple(stop)
        self._thinking = _Channel()
        self._answer = _Channel()
        self._strip_space = vocabulary.strips_first_space
        self.in_thinking = in_thinking
        self.tokens = 0
        """How many ids were pushed; after a stop string, how many of the ids to keep."""
        self.stopped: str | None = None
        """The stop string that ended the answer."""

    @property
    def text(self) -> str:
        """The answer so far, whole characters only."""
        return self._answer.text

    @property
    def thinking_text(self) -> str:
        """The thinking so far, whole characters only."""
        return self._thinking.text

    @property
    def pending(self) -> bytes:
        """Bytes at the end that are not a whole character yet."""
        return (self._thinking if self.in_thinking else self._answer).pending

    @property
    def settled(self) -> int:
        """How many leading characters of ``text`` stay whatever comes: the rest may begin a stop string."""
        text = self.text
        if self.stopped is not None:
            return len(text)
        longest = max((_open_prefix(text, stop) for stop in self._stop), default=0)
        return len(text) - longest

    def push(self, token_id: int) -> bool:
        """Take the next token; True when it completes a stop string, after which no more can be pushed."""
        if self.stopped is not None:
            raise RuntimeError("the answer has ended at a stop string")
        self.tokens += 1
        if token_id == self._vocabulary.think_open_id:
            return self._switch(thinking=True)
        if token_id == self._vocabulary.think_close_id:
            return self._switch(thinking=False)
        if token_id in self._vocabulary.special_ids:
            return False
        data = self._vocabulary.token_bytes(token_id)
        if self._strip_space:
            data = data.removeprefix(b" ")
            self._strip_space = False
        return self._feed(data)

    def take(self, thinking: bool, text: str) -> None:
        """Append text as it is, where its tokens are not known; only while no token has written any."""
        (self._thinking if thinking else self._answer).feed(text.encode("utf-8", "replace"), True)

    def close(self) -> bool:
        """End the text: bytes still waiting for the rest of their character become U+FFFD.

        Returns:
            Whether that completes a stop string.
        """
        if self.stopped is not None:
            return False
        return self._feed(b"", final=True)

    def _switch(self, *, thinking: bool) -> bool:
        if thinking == self.in_thinking:
            return False
        ended = self._feed(b"", final=True)
        self.in_thinking = thinking
        (self._thinking if thinking else self._answer).skip_line_breaks = True
        return ended

    def _feed(self, data: bytes, *, final: bool = False) -> bool:
        if self.in_thinking:
            self._thinking.feed(data, final)
            return False
        before = len(self._answer.text)
        self._answer.feed(data, final)
        hit = _first_stop(self._answer.text, before, self._stop)
        if hit is None:
            return False
        start, self.stopped = hit
        self._answer.cut(start)
        return True


class _Channel:
    """One text and the bytes that wait for the rest of their character."""

    def __init__(self) -> None:
        self.text = ""
        self.skip_line_breaks = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def pending(self) -> bytes:
        return self._decoder.getstate()[0]

    def feed(self, data: bytes, final: bool) -> None:
        new = self._decoder.decode(data, final)
        if self.skip_line_breaks and new:
            new = new.lstrip("\r\n")
            self.skip_line_breaks = not new
        self.text += new

    def cut(self, length: int) -> None:
        self.text = self.text[:length]
        self._decoder.reset()


def _first_stop(text: str, before: int, stops: Sequence[str]) -> tuple[int, str] | None:
    """Start and string of the stop that ends first, at or behind character ``before``; of several that
    end together, the longest. The answer does not depend on where token borders fall."""
    found: list[tuple[int, int, str]] = []
    for stop in stops:
        start = text.find(stop, max(0, before - len(stop) + 1))
        if start >= 0:
            found.append((start + len(stop), start, stop))
    if not found:
        return None
    _, start, stop = min(found)
    return start, stop


def _open_prefix(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that ``stop`` begins with, ``stop`` itself excluded."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
