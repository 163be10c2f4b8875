"""What a screen is about, in one line at its top."""

from __future__ import annotations

from ddtree_tui.widgets.painted import Lines, Span


class ScreenTitle(Lines):
    """A title that stays as it is."""

    ROLES = ("title",)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ScreenTitle {
        height: 1; padding: 0 1; background: $panel;
        .title { color: $foreground; text-style: bold; }
    }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def draw(self, width: int, height: int) -> list[list[Span]]:
        return [[(self._title, "title")]]
