"""How fast an answer comes that is told piece by piece, without rounds. Pure."""

from __future__ import annotations

from engine.events import Piece


class Pieces:
    """The pieces of an answer so far.

    Attributes:
        count: how many came.
        tokens: of the answer so far; 0 while the source does not say it.
    """

    def __init__(self) -> None:
        self.count = self.tokens = 0
        self._first_tokens = 0
        self._first_t = self._last_t = 0.0

    def add(self, piece: Piece) -> None:
        """Take in one more."""
        self.count += 1
        self.tokens = piece.tokens or self.tokens
        self._last_t = piece.t
        if not self._first_tokens and self.tokens:
            self._first_tokens, self._first_t = self.tokens, piece.t

    @property
    def tokens_per_second(self) -> float:
        """From the first piece whose tokens are counted to the last; 0 where that is no span of time."""
        seconds = self._last_t - self._first_t
        return (self.tokens - self._first_tokens) / seconds if seconds > 0 else 0.0
