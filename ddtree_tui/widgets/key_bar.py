"""The last line: the keys that matter now, the most important first; what does not fit is left out.

The last hints, help and how to quit, are always shown.
"""

from __future__ import annotations

from rich.cells import cell_len
from textual import events

from ddtree_tui.keys import in_words
from ddtree_tui.widgets.painted import Lines, Span

ALWAYS = 2
"""So many of the last hints are shown whatever the width."""

Hint = tuple[str, str, str]
"""Key as it is written, what it does, action to run when clicked."""


class KeyBar(Lines):
    """Shows hints; a click on one does what its key does."""

    ROLES = ("key", "what")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyBar {
        height: 1;
        background: $panel;
        padding: 0 1;
        .key { color: $shown; text-style: bold; }
        .what { color: $quiet; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._hints: tuple[Hint, ...] = ()
        self._places: list[tuple[int, int, str]] = []

    def show(self, hints: tuple[Hint, ...]) -> None:
        """Take new hints."""
        if hints != self._hints:
            self._hints = hints
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        spans: list[Span] = []
        self._places = []
        x = 0
        plain = self.app.has_class("-ascii")
        hints = tuple((in_words(key, plain=plain), what, action) for key, what, action in self._hints)
        for key, what, action in _fitting(hints, width):
            cells = _cells((key, what, action))
            spans += [(key, "key"), (f" {what}", "what"), ("  ", "what")]
            self._places.append((x, x + cells, action))
            x += cells + 2
        return [spans]

    async def on_click(self, event: events.Click) -> None:
        x = event.x - self.styles.padding.left
        for start, end, action in self._places:
            if start <= x < end:
                await self.app.run_action(action)


def _cells(hint: Hint) -> int:
    return cell_len(hint[0]) + 1 + cell_len(hint[1])


def _fitting(hints: tuple[Hint, ...], width: int) -> list[Hint]:
    """As many of the first as fit before the last."""
    first, last = hints[:-ALWAYS], hints[-ALWAYS:]
    room = width - sum(_cells(hint) for hint in last) - 2 * (len(last) - 1)
    fitting = []
    for hint in first:
        room -= _cells(hint) + 2
        if room < 0:
            break
        fitting.append(hint)
    return [*fitting, *last]
