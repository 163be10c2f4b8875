"""The tokens of a section as they are written on the screen, line by line, kept up while they come. Pure.

What is new costs the same however long the text is: neither is old text escaped again, nor are old lines
broken again.
"""

from __future__ import annotations

import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ddtree_tui.answer_text import AR, BONUS, FIRST, UNTOLD, AnswerText, Section, Written
from ddtree_tui.escape import escape, hex_bytes
from ddtree_tui.labels import NO_ID, label_of
from ddtree_tui.line_breaks import break_lines
from engine.events import UNKNOWN_ID

View = Literal["text", "tokens", "ids", "bytes"]
VIEWS: tuple[View, ...] = ("text", "tokens", "ids", "bytes")
VIEW_MEANINGS: dict[View, str] = {
    "text": "as it reads",
    "tokens": "every token, control tokens and spaces too",
    "ids": "ids of the vocabulary",
    "bytes": "bytes in hexadecimal",
}
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SIGNS = {FIRST: "ᵖ", BONUS: "★", AR: "ᵃ", UNTOLD: "?"}
ORIGINS = {
    FIRST: "the prefill's own",
    BONUS: "bonus",
    AR: "decoded without a draft",
    UNTOLD: "drafted or not is unknown",
}
_JOINERS = "\u200d\ufe0e\ufe0f"


@dataclass(frozen=True)
class Writing:
    """How tokens are written. ``signs``: in front of each stands where it comes from."""

    view: View = "text"
    signs: bool = False


def sign(origin: int) -> str:
    """Where a token comes from, in a sign or two: ``³`` was drafted at depth 3."""
    return SIGNS.get(origin) or str(origin).translate(SUPERSCRIPT)


def origin_text(origin: int) -> str:
    """Where a token comes from, in words."""
    return ORIGINS.get(origin) or f"drafted at depth {origin}"


class Line(NamedTuple):
    """Characters ``start`` to ``end`` of what is written, at whose end no line break is counted."""

    start: int
    end: int


class WrittenText:
    """One section of an answer in one writing and width; ``update`` takes what has come since.

    Attributes:
        lines: at least one.
    """

    def __init__(self, source: AnswerText, section: Section, writing: Writing, width: int) -> None:
        self._source, self._section, self._writing, self._width = source, section, writing, width
        self._begin()

    def _begin(self) -> None:
        self._version = self._source.version
        self._shown = ""
        """The paragraph that grows, as far as it stays as it is; ``_loose`` is its end, not escaped yet."""
        self._loose = ""
        self._paragraph_start = 0
        self._paragraphs: list[tuple[int, str]] = []
        self._starts = array("q")
        self.lines: list[Line] = [Line(0, 0)]
        self._breaks_from = 0

    @property
    def tokens(self) -> array[int]:
        """The tokens of the section, by their numbers in the answer."""
        return self._source.of_section[self._section]

    def update(self) -> None:
        """Write what is new."""
        if self._source.version != self._version:
            self._begin()
        if len(self._starts) == len(self.tokens):
            return
        for number in range(len(self._starts), len(self.tokens)):
            self._write(self._piece(self._source.token(self.tokens[number])))
        self._settle()

    def text(self, line: Line) -> str:
        """What a line says."""
        if line.start >= self._paragraph_start:
            growing = self._shown + escape(self._loose)
            return growing[line.start - self._paragraph_start : line.end - self._paragraph_start]
        start, text = self._paragraphs[bisect_right(self._paragraphs, line.start, key=lambda p: p[0]) - 1]
        return text[line.start - start : line.end - start]

    def pieces(self, line: Line) -> Iterator[tuple[int, int, int]]:
        """(token, start, end) of the tokens that have a part in a line, as characters of the line."""
        number = max(0, bisect_right(self._starts, line.start) - 1)
        while number < len(self._starts) and self._starts[number] < line.end:
            end = self._starts[number + 1] if number + 1 < len(self._starts) else line.end
            start, end = max(self._starts[number], line.start), min(end, line.end)
            if end > start:
                yield self.tokens[number], start - line.start, end - line.start
            number += 1

    def line_of(self, token: int) -> int:
        """On which line a token of this section begins, line breaks before its first character left out."""
        number = bisect_right(self.tokens, token) - 1
        if not 0 <= number < len(self._starts):
            return 0
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else self.lines[-1].end
        lines = self.lines
        at = max(0, bisect_right(lines, start, key=lambda line: line.start) - 1)
        while (
            at + 1 < len(lines) and lines[at + 1].start < end and max(start, lines[at].start) >= lines[at].end
        ):
            at += 1
        return at

    def _piece(self, token: Written) -> str:
        view = self._writing.view
        raw = self._source.vocabulary.token_bytes(token.id)
        special = token.id in self._source.vocabulary.special_ids
        if view == "text":
            body = self._source.text_of(self._section)[token.start : token.end]
        elif view == "ids":
            body = f"{NO_ID if token.id == UNKNOWN_ID else token.id} "
        elif view == "bytes" and not special:
            body = f"{raw.hex()} "
        else:
            body = label_of(self._source.vocabulary, token.id) + " "
        if view in ("tokens", "bytes") and raw.endswith(b"\n"):
            body += "\n"
        if self._writing.signs and (body or view != "text"):
            blank = len(body) - len(body.lstrip()) if view == "text" else 0
            body = body[:blank] + sign(token.origin) + body[blank:]
        return body

    def _write(self, piece: str) -> None:
        """Escape what is new, together with the end of the old as far as that may look otherwise by it."""
        loose = escape(self._loose)
        first, *paragraphs = piece.split("\n")
        joined = escape(self._loose + first)
        here = self._paragraph_start + len(self._shown)
        if joined.startswith(loose):
            self._starts.append(here + len(loose))
        else:  # they have become one sign: it is the newest token's
            for number in range(len(self._starts) - 1, -1, -1):
                if self._starts[number] <= here:
                    break
                self._starts[number] = here
            self._starts.append(here)
        self._grow(first)
        for paragraph in paragraphs:
            self._end_paragraph()
            self._grow(paragraph)

    def _grow(self, text: str) -> None:
        text = self._loose + text
        place = len(text) - 1
        while place > 0 and _clings(text, place):
            place -= 1
        place = max(0, place)
        self._shown += escape(text[:place])
        self._loose = text[place:]

    def _end_paragraph(self) -> None:
        self._shown += escape(self._loose)
        self._loose = ""
        self._settle()
        self._paragraphs.append((self._paragraph_start, self._shown))
        self._paragraph_start += len(self._shown) + 1
        self._breaks_from = 0
        self._shown = ""
        self.lines.append(Line(self._paragraph_start, self._paragraph_start))

    def _settle(self) -> None:
        """Break the growing paragraph from its last line on."""
        base = self._paragraph_start
        lines = break_lines(self._shown + escape(self._loose), self._width, self._breaks_from)
        self.lines.pop()
        self.lines += (Line(base + start, base + end) for start, end in lines)
        self._breaks_from = lines[-1][0]


def _clings(text: str, place: int) -> bool:
    """Whether a character may look otherwise by the one before it, or the other way round."""
    character = text[place]
    return character in _JOINERS or text[place - 1] in _JOINERS or bool(unicodedata.combining(character))


def pending(source: AnswerText, section: Section) -> str:
    """Bytes at the end of a section that are no whole character yet, as they are shown; else nothing."""
    return hex_bytes(source.pending) if source.section == section and source.pending else ""
