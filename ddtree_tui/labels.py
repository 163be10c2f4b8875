"""Tokens on one line of the screen, safe to show."""

from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from ddtree_tui.escape import decode_bytes, token_label
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import UNKNOWN_ID

NO_ID = "#?"
"""The label of a token whose id an imported run does not say."""


class Labels:
    """The labels of a vocabulary's tokens, with their widths; made once per token."""

    def __init__(self, vocabulary: SeenVocabulary) -> None:
        self._vocabulary = vocabulary
        self._made: dict[int, tuple[str, int]] = {}

    def __call__(self, token_id: int) -> tuple[str, int]:
        """The token's label and how many cells it takes; ``#7`` for an id that was never announced."""
        made = self._made.get(token_id)
        if made is None:
            text = label_of(self._vocabulary, token_id)
            made = (text, cell_len(text))
            if self._vocabulary.token_bytes(token_id):
                self._made[token_id] = made
        return made


def label_of(vocabulary: SeenVocabulary, token_id: int) -> str:
    """A token's label; ``#7`` for an id that was never announced, ``#?`` for one that is unknown."""
    if token_id == UNKNOWN_ID:
        return NO_ID
    raw = vocabulary.token_bytes(token_id)
    return token_label(decode_bytes(raw)) if raw else f"#{token_id}"


def text_of(vocabulary: SeenVocabulary, ids: Iterable[int]) -> str:
    """The text that tokens spell together; not escaped."""
    return decode_bytes(b"".join(map(vocabulary.token_bytes, ids)))
