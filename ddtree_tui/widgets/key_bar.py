"""The last line: the keys that matter now, the most important first; what does not fit is left out."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events

from ddtree_tui.widgets.painted import Lines, Span

Hint = tuple[str, str, str]
"""Key as it is written, what it does, action to run when clicked."""


class KeyBar(Lines):
    """Shows hints; a click on one does what its key does."""

    ROLES = ("key", "what")
    COMPONENT_CLASSES = set(ROLES)
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
        for key, what, action in self._hints:
            cells = cell_len(key) + 1 + cell_len(what)
            if x + cells > width:
                break
            spans += [(key, "key"), (f" {what}", "what"), ("  ", "what")]
            self._places.append((x, x + cells, action))
            x += cells + 2
        return [spans]

    async def on_click(self, event: events.Click) -> None:
        x = event.x - self.styles.padding.left
        for start, end, action in self._places:
            if start <= x < end:
                await self.app.run_action(action)
