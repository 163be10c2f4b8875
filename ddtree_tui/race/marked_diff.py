"""Two texts as one, in lines: what only one of them has is marked, by signs as well as by role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from ddtree_tui.escape import escape
from ddtree_tui.labels import text_of
from ddtree_tui.race.comparison import diff
from ddtree_tui.race.course import Lane

Span = tuple[str, str]
SIGNS = {"same": ("", ""), "gone": ("[-", "-]"), "new": ("{+", "+}")}
"""As wdiff marks words."""
_WORD = re.compile(r"\n|[^\S\n]*[^\s]+|[^\S\n]+")


def marked_diff(before: Lane, after: Lane, width: int) -> list[list[Span]]:
    """Lines of (text, role), roles being ``same``, ``gone`` and ``new``."""
    spans = []
    for piece in diff(before.ids, after.ids):
        lane = after if piece.kind == "new" else before
        opening, closing = SIGNS[piece.kind]
        spans.append((f"{opening}{_text(lane, piece.ids)}{closing}", piece.kind))
    return wrapped(spans, width)


def wrapped(spans: Iterable[Span], width: int) -> list[list[Span]]:
    """The spans in lines of at most ``width`` cells, broken between words where that is possible."""
    lines: list[list[Span]] = [[]]
    used = 0
    for text, role in spans:
        for word in _WORD.findall(text):
            if word == "\n":
                lines.append([])
                used = 0
                continue
            cells = cell_len(word)
            if used and used + cells > width:
                lines.append([])
                used = 0
                word = word.lstrip()
                cells = cell_len(word)
            for part in _parts(word, width, cells):
                if used + (length := cell_len(part)) > width:
                    lines.append([])
                    used = 0
                lines[-1].append((part, role))
                used += length
    return lines


def _parts(word: str, width: int, cells: int) -> Sequence[str]:
    """A word in pieces that fit into a line."""
    if cells <= width:
        return [word] if word else []
    parts = [""]
    for character in word:
        if cell_len(parts[-1]) + cell_len(character) > width:
            parts.append("")
        parts[-1] += character
    return parts


def _text(lane: Lane, ids: Sequence[int]) -> str:
    return escape(text_of(lane.answer.vocabulary, ids), keep_newlines=True)
