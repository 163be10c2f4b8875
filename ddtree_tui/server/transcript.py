"""The text of one answer while its tokens come: what may be sent already, and how likely each token was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.events import Candidates, Finished, Prefilled, Round, Tokens
from engine.text_stream import TextStream


class Alternative(NamedTuple):
    """A token that could have stood there."""

    text: str
    data: bytes
    logprob: float


@dataclass(frozen=True)
class Told:
    """A token of the answer's text.

    Attributes:
        start: of its characters in the text; those of half a character belong to the token that ends it.
        alternatives: the target's best, best first.
    """

    text: str
    data: bytes
    logprob: float
    start: int
    alternatives: list[Alternative]


@dataclass(frozen=True)
class Piece:
    """What is new. ``told`` are the tokens of ``text``, where log-probabilities were asked for."""

    thinking: str = ""
    text: str = ""
    told: list[Told] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.thinking or self.text or self.told)


class Transcript:
    """Takes events and gives pieces; the pieces together are the texts of ``finished``, byte for byte.

    Args:
        alternatives: how many are told per token; None for no log-probabilities.
    """

    def __init__(self, alternatives: int | None) -> None:
        self._alternatives = alternatives
        self._vocabulary = SeenVocabulary()
        self._stream = TextStream(self._vocabulary)
        self._thought = self._said = 0
        self._told: list[Told] = []
        self.thinking_tokens = 0
        """Tokens inside the thinking, its tags included."""

    def learn(self, event: Tokens) -> None:
        """How tokens are spelled."""
        self._vocabulary.add(event)

    def begin(self, event: Prefilled) -> Piece:
        """The first token."""
        self._stream = TextStream(
            self._vocabulary, stop=event.settings.stop, in_thinking=begins_in_thinking(event)
        )
        logprob = event.first_logprob if event.first_logprob is not None else 0.0
        self._push(event.first_id, logprob, event.first_topk, 0)
        return self._news(self._stream.thinking_text, self._stream.text[: self._stream.settled])

    def add(self, event: Round) -> Piece:
        """The tokens of a round; each was chosen at the row of the token before it."""
        rows = [0, *(node + 1 for node in event.accepted)]
        for token_id, row in zip(event.committed_ids, rows, strict=False):
            self._push(token_id, event.target.logprobs[row], event.target_topk, row)
        return self._news(self._stream.thinking_text, self._stream.text[: self._stream.settled])

    def end(self, event: Finished) -> Piece:
        """The rest."""
        return self._news(event.thinking_text, event.text)

    def _push(self, token_id: int, logprob: float, best: Candidates | None, row: int) -> None:
        stream = self._stream
        if stream.stopped is not None:
            return
        before, thought = len(stream.text), stream.in_thinking
        stream.push(token_id)
        self.thinking_tokens += thought or stream.in_thinking
        if self._alternatives is None or thought or stream.in_thinking:
            return
        visible = len(stream.text) > before or stream.pending or stream.stopped is not None
        if visible and token_id not in self._vocabulary.special_ids:
            chosen = self._spelled(token_id, logprob)
            self._told.append(Told(*chosen, before, [*self._best(best, row)]))

    def _best(self, best: Candidates | None, row: int) -> Iterable[Alternative]:
        if best is not None and self._alternatives:
            pairs = zip(best.ids[row], best.logprobs[row], strict=True)
            for token_id, logprob in [*pairs][: self._alternatives]:
                yield self._spelled(token_id, logprob)

    def _spelled(self, token_id: int, logprob: float) -> Alternative:
        return Alternative(self._vocabulary.piece(token_id), self._vocabulary.token_bytes(token_id), logprob)

    def _news(self, thinking: str, text: str) -> Piece:
        piece = Piece(thinking[self._thought :], text[self._said :], self._told_within(len(text)))
        self._thought, self._said = max(self._thought, len(thinking)), max(self._said, len(text))
        return piece

    def _told_within(self, length: int) -> list[Told]:
        """The tokens, not told yet, whose characters begin in the first ``length`` of the text."""
        count = next((n for n, told in enumerate(self._told) if told.start >= length), len(self._told))
        within, self._told = self._told[:count], self._told[count:]
        return within
