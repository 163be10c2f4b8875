"""Breaking text into lines, at once and while it grows."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from ddtree_tui.line_breaks import break_lines

TEXT = st.text(alphabet="ab cde  界🙂é-", max_size=120)


@given(TEXT, st.integers(2, 40))
@example(" aa界", 3)
def test_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = break_lines(text, width)
    assert "".join(text[start:end] for start, end in lines) == text
    assert [start for start, _ in lines] == [0, *(end for _, end in lines[:-1])]
    for start, end in lines:
        assert cell_len(text[start:end].rstrip()) <= width
    for start, end in lines[:-1]:
        # No line breaks without need: the next word has no room, or, within a word, its next character, and
        # the word has room on no line.
        within = not text[end - 1].isspace()
        following = text[end] if within else text[end:].split(maxsplit=1)[0]
        assert cell_len(text[start:end]) + cell_len(following) > width
        if within:
            assert cell_len(text[:end].split()[-1] + text[end:].split()[0]) > width


@given(st.lists(TEXT, max_size=8), st.integers(2, 30))
def test_a_growing_text_is_broken_on_from_its_last_line(pieces: list[str], width: int) -> None:
    text, lines = "", [(0, 0)]
    for piece in pieces:
        text += piece
        start = lines.pop()[0]
        lines += break_lines(text, width, start)
        assert lines == break_lines(text, width)


def test_less_than_a_wide_character_is_refused() -> None:
    with pytest.raises(ValueError, match="two cells"):
        break_lines("a", 1)
