"""The screen without Unicode: every glyph the app draws has a form of the same width in ASCII.

The forms are put in place when a line is painted, so that no widget has to know of them. Other characters,
which are text of the models, become one question mark a cell.
"""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_TABLE = (
    ("●✓★✗→·▸•", "OV*x>:&,"),  # what a token of a draft tree is
    ("–−…×≠≈∅Σ§❯“”«»⟨⟩‹›↵⇥␛␣◌", '--~X/?0S#>""<><><>$>^_o'),
    ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵃᵖ", "0123456789+-ap"),
    ("←↑↓▲▶◀⏸■◆", "<^v^><|#D"),
    ("─━│┃┆┊└├┬╌┌┐┘┤┴┼", "-=||::`+.-.,'|++"),
    ("▁▂▃▄▅▆▇█", ".,-=+*%#"),
    ("▏▎▍▌▋▊▉", ".,-=+*%"),
    ("░▒▓▚▞", ".:%&/"),
)
FORMS = {sign: form for signs, forms in _TABLE for sign, form in zip(signs, forms, strict=True)}
_OF_TEXTUAL = dict(zip("▐▔▀╸╺╭╮╰╯▼", "|^^--..`'v", strict=True))


@lru_cache(8192)
def ascii_form(text: str) -> str:
    """``text`` in ASCII, of the same width."""
    if text.isascii():
        return text
    return "".join(_form(character) for character in text)


def _form(character: str) -> str:
    if character.isascii():
        return character
    return FORMS.get(character) or _OF_TEXTUAL.get(character) or "?" * cell_len(character)


class AsciiFilter(LineFilter):
    """Paints with ASCII alone."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.control or segment.text.isascii()
            else Segment(ascii_form(segment.text), segment.style)
            for segment in segments
        ]
