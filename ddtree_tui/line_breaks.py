"""Where a text breaks into lines of so many cells. Pure."""

from __future__ import annotations

import re

from rich.cells import cell_len, get_character_cell_size

_WORD = re.compile(r"\S+|\s+")


def break_lines(text: str, width: int, start: int = 0) -> list[tuple[int, int]]:
    """(start, end) of each line of ``text``, which holds no line break, from character ``start`` on.

    Lines break before words; a word that is too long for a line breaks anywhere. Spaces at the end of a line
    may stand out of it. The lines together are the text, nothing is left out. All but the last stay what they
    are when the text grows, so a growing text is broken on from the last one's start.

    Raises:
        ValueError: for less than two cells, which a single character may need.
    """
    if width < 2:
        raise ValueError("a line takes at least two cells")
    lines: list[tuple[int, int]] = []
    begin, used = start, 0
    for word in _WORD.finditer(text, start):
        at, end = word.span()
        cells = cell_len(word[0])
        if word[0].isspace():
            used += cells
            continue
        if used and used + cells > width:
            lines.append((begin, at))
            begin, used = at, 0
        if cells <= width:
            used += cells
            continue
        for place in range(at, end):
            size = get_character_cell_size(text[place])
            if used + size > width:
                lines.append((begin, place))
                begin, used = place, 0
            used += size
    return [*lines, (begin, len(text))]
