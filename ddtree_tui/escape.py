"""Model text made safe to show: nothing invisible, nothing that moves the cursor, no byte lost.

Text is kept with ``surrogateescape``: a byte that is not UTF-8 stays in the string as U+DC80..U+DCFF and
is shown as hex in angle brackets. Escaped text holds only characters that have a width, or combine
with one that has, and that XML allows.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rich.cells import cell_len, set_cell_size

LINE_FEED = "↵"
TAB = "⇥"
ESCAPE = "␛"
SPACE = "␣"
DOTTED_CIRCLE = "◌"
_JOINERS = "\u200d\ufe0e\ufe0f"
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Letters and marks by category, yet drawn as nothing."""

_SPACES = re.compile(" {4,}")
_STRAY_BYTES = re.compile("[\udc80-\udcff]+")


def decode_bytes(raw: bytes) -> str:
    """Text of ``raw``; bytes that are not UTF-8 become lone surrogates, which ``escape`` shows as hex."""
    return raw.decode("utf-8", "surrogateescape")


def hex_bytes(raw: bytes) -> str:
    """Bytes that are no character by themselves: ``⟨e4bd⟩``."""
    return f"⟨{raw.hex()}⟩"


@lru_cache(maxsize=8192)
def escape(text: str, *, keep_newlines: bool = False) -> str:
    """``text`` with every control, bidirectional, zero-width and undecodable character made visible.

    Joiners and variation selectors stay where they make an emoji; combining marks stay where there is
    a character to combine with.
    """
    if text.isascii() and text.isprintable():
        return text
    pieces: list[str] = []
    before = ""
    for position, character in enumerate(text):
        if "\udc80" <= character <= "\udcff":
            shown = character
        elif character == "\n":
            shown = "\n" if keep_newlines else LINE_FEED
        elif character in _JOINERS:
            after = text[position + 1 : position + 2]
            shown = character if _joins(before, character, after) else _code(character)
        else:
            shown = _escape_character(character)
            if unicodedata.combining(character) and not _can_carry_mark(before):
                shown = DOTTED_CIRCLE + shown
        pieces.append(shown)
        before = character
    return _STRAY_BYTES.sub(_show_stray_bytes, "".join(pieces))


def token_label(text: str) -> str:
    """One token on one line: ``escape`` with its spaces visible and long runs of them counted."""
    if not text:
        return "∅"
    shown = escape(text).replace("\u00a0", "‹a0›")
    shown = _SPACES.sub(lambda run: f"{SPACE}×{len(run[0])}", shown)
    return shown.replace(" ", SPACE)


def fit(text: str, cells: int) -> str:
    """``text`` cut to at most ``cells`` columns, the last of them an ellipsis where something was cut."""
    if cell_len(text) <= cells:
        return text
    if cells < 1:
        return ""
    return set_cell_size(text, cells - 1).rstrip() + "…"


def _escape_character(character: str) -> str:
    if character == "\t":
        return TAB
    if character == "\x1b":
        return ESCAPE
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    category = unicodedata.category(character)
    if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or character in _BLANK_LETTERS:
        return _code(character)
    if category == "Mn" and 0xFE00 <= code <= 0xFE0F:
        return _code(character)
    return character


def _code(character: str) -> str:
    return f"‹{ord(character):02x}›"


def _show_stray_bytes(run: re.Match[str]) -> str:
    return hex_bytes(run[0].encode("utf-8", "surrogateescape"))


def _joins(before: str, joiner: str, after: str) -> bool:
    """Whether a joiner or variation selector sits inside an emoji rather than hiding in text."""
    if joiner == "\u200d":
        return _is_pictograph(before) and _is_pictograph(after)
    return _is_pictograph(before)


def _is_pictograph(character: str) -> bool:
    if not character:
        return False
    return character in "\ufe0f#*0123456789©®" or unicodedata.category(character) in ("So", "Sk", "Sm")


def _can_carry_mark(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMNPS"
