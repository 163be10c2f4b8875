"""The text of an answer as its tokens arrive, and which round wrote which part of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.events import Prefilled
from engine.text_stream import TextStream

Section = Literal["thinking", "answer"]

PREFILL = -1
"""The round number of the first token, which the prefill commits."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters ``start`` to ``end`` of a section."""

    section: Section
    start: int
    end: int


class AnswerText:
    """Text of one answer; splitting, decoding and stop strings are the engine's own."""

    def __init__(self, vocabulary: SeenVocabulary, prefilled: Prefilled) -> None:
        self._stream = TextStream(
            vocabulary, stop=prefilled.settings.stop, in_thinking=begins_in_thinking(prefilled)
        )
        self._stretches: dict[int, list[Stretch]] = {}

    @property
    def thinking(self) -> str:
        """The scratch pad so far, whole characters only."""
        return self._stream.thinking_text

    @property
    def answer(self) -> str:
        """The answer so far, whole characters only."""
        return self._stream.text

    @property
    def section(self) -> Section:
        """Where the next token goes."""
        return "thinking" if self._stream.in_thinking else "answer"

    @property
    def pending(self) -> bytes:
        """Bytes at the end of the section that are no whole character yet."""
        return self._stream.pending

    def push(self, token_ids: Sequence[int], round_number: int) -> None:
        """Append what one round committed."""
        thinking, answer = len(self.thinking), len(self.answer)
        for token_id in token_ids:
            if self._stream.stopped is None:
                self._stream.push(token_id)
        self._mark(round_number, thinking, answer)

    def close(self, round_number: int) -> None:
        """Nothing more comes: bytes still pending will never be a character."""
        thinking, answer = len(self.thinking), len(self.answer)
        self._stream.close()
        self._mark(round_number, thinking, answer)

    def stretches(self, round_number: int) -> list[Stretch]:
        """Where the text of a round is. A stop string may have cut it since it was written."""
        ends = {"thinking": len(self.thinking), "answer": len(self.answer)}
        return [
            Stretch(stretch.section, stretch.start, min(stretch.end, ends[stretch.section]))
            for stretch in self._stretches.get(round_number, [])
            if stretch.start < ends[stretch.section]
        ]

    def _mark(self, round_number: int, thinking: int, answer: int) -> None:
        written = self._stretches.setdefault(round_number, [])
        if len(self.thinking) > thinking:
            written.append(Stretch("thinking", thinking, len(self.thinking)))
        if len(self.answer) > answer:
            written.append(Stretch("answer", answer, len(self.answer)))
