"""The vocabulary as far as a run has announced it: enough to turn its ids into text without a tokenizer."""

from __future__ import annotations

from engine.events import Prefilled, Tokens
from engine.text_stream import THINK_CLOSE, THINK_OPEN


class SeenVocabulary:
    """Collects ``tokens`` events; satisfies ``engine.text_stream.Vocabulary``."""

    def __init__(self) -> None:
        self.special_ids: frozenset[int] = frozenset()
        self.think_open_id: int | None = None
        self.think_close_id: int | None = None
        self.strips_first_space = False
        self._pieces: dict[int, str] = {}
        self._raw: dict[int, bytes] = {}

    def add(self, event: Tokens) -> None:
        """Learn the ids that ``event`` announces."""
        for key, piece in event.pieces.items():
            token_id = int(key)
            self._pieces[token_id] = piece
            if piece == THINK_OPEN:
                self.think_open_id = token_id
            elif piece == THINK_CLOSE:
                self.think_close_id = token_id
        for key, data in event.raw.items():
            self._raw[int(key)] = bytes.fromhex(data)
        self.special_ids |= frozenset(event.special)

    def token_bytes(self, token_id: int) -> bytes:
        """The token's bytes; empty for an id that was never announced."""
        raw = self._raw.get(token_id)
        return raw if raw is not None else self._pieces.get(token_id, "").encode()

    def piece(self, token_id: int) -> str:
        """The token's spelling for people, U+FFFD where its bytes alone are no character."""
        return self._pieces.get(token_id) or self.token_bytes(token_id).decode(errors="replace")


def begins_in_thinking(prefilled: Prefilled) -> bool:
    """Whether the prompt ends inside an open ``<think>``, so that the answer starts as thinking."""
    return prefilled.opens_thinking or prefilled.prompt_text.rstrip().endswith(THINK_OPEN)
