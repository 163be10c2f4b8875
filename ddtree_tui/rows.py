"""Text as styled lines of a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_tui.escape import escape


@dataclass(frozen=True)
class Row:
    """One line: what is said, and the kind of line, which styles it. ``cause``: the place among a diagnosis's
    causes of the one that begins here."""

    text: str
    role: str
    cause: int | None = None


def wrapped(text: str, role: str, width: int, indent: int = 0) -> Iterator[Row]:
    """Lines of at most ``width`` cells; those after the first are indented by two cells at least."""
    for line in textwrap.wrap(
        escape(text), width, initial_indent=" " * indent, subsequent_indent=" " * (indent or 2)
    ):
        yield Row(line, role)
