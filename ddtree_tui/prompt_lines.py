"""The exact prompt that the model was given: the template applied, control tokens visible. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from ddtree_tui.escape import escape
from ddtree_tui.labels import label_of, text_of
from ddtree_tui.line_breaks import break_lines
from ddtree_tui.vocabulary import SeenVocabulary
from engine.events import Prefilled

PromptView = Literal["text", "tokens", "ids"]
PROMPT_VIEWS: tuple[PromptView, ...] = ("text", "tokens", "ids")
Piece = tuple[str, str]
"""Text, and what it is: ``text`` or ``special``."""


def prompt_lines(
    prefilled: Prefilled, vocabulary: SeenVocabulary, width: int, view: PromptView
) -> list[list[Piece]]:
    """The prompt's tokens on lines of ``width`` cells, at least 2. As text, its own line breaks are kept and
    shown; without a vocabulary (as in an older recording) it is the text as the template wrote it."""
    ids = prefilled.prompt_ids
    if view == "text" and not all(vocabulary.token_bytes(token_id) for token_id in ids):
        return _wrapped([(_marked(prefilled.prompt_text), "text")], width)
    return _wrapped(_pieces(ids, vocabulary, view), width)


def _pieces(ids: Sequence[int], vocabulary: SeenVocabulary, view: PromptView) -> list[Piece]:
    pieces: list[Piece] = []
    for special, group in groupby(ids, key=vocabulary.special_ids.__contains__):
        run, kind = list(group), "special" if special else "text"
        if view == "ids":
            pieces.append((" ".join(map(str, run)) + " ", kind))
        elif view == "tokens":
            for token_id in run:
                end = " \n" if vocabulary.token_bytes(token_id).endswith(b"\n") else " "
                pieces.append((label_of(vocabulary, token_id) + end, kind))
        else:
            text = text_of(vocabulary, run)
            pieces.append((escape(text) if special else _marked(text), kind))
    return pieces


def _marked(text: str) -> str:
    """Every line break visible, and kept."""
    return "↵\n".join(escape(line) for line in text.split("\n"))


def _wrapped(pieces: Sequence[Piece], width: int) -> list[list[Piece]]:
    """Pieces behind one another on lines; a piece may go over several."""
    lines: list[list[Piece]] = [[]]
    text = "".join(text for text, _ in pieces)
    ends, end = [], 0
    for piece, _ in pieces:
        end += len(piece)
        ends.append(end)
    at, start, lines = 0, 0, []
    for paragraph in text.split("\n"):
        for first, last in break_lines(paragraph, width):
            line: list[Piece] = []
            place, stop = start + first, start + last
            while place < stop:
                while ends[at] <= place:
                    at += 1
                cut = min(stop, ends[at])
                line.append((text[place:cut], pieces[at][1]))
                place = cut
            lines.append(line)
        start += len(paragraph) + 1
    return lines
