"""Widgets that draw lines from styled parts through the Line API, with cached strips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.filter import ANSIToTruecolor, LineFilter
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

PLAIN = ""

Span = tuple[str, str]
"""Text, and the component class (without prefix) that styles it."""


class RoleStyles(Widget):
    """Looks up component classes once per theme. Model text goes into segments, never into markup.

    Attributes:
        ROLES: the component classes that it draws in.
    """

    ROLES: ClassVar[tuple[str, ...]] = ()

    _role_styles: dict[str, Style] | None = None
    _room = Size(0, 0)

    def __init_subclass__(cls, **options: Any) -> None:
        cls.COMPONENT_CLASSES = set(cls.ROLES)
        super().__init_subclass__(**options)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without the search for the terminal's own colours, a tenth of a paint: there are none here."""
        return [one for one in super().get_line_filters() if not isinstance(one, ANSIToTruecolor)]

    def render_lines(self, crop: Region) -> list[Strip]:
        self._room = self.size  # worked out from the whole screen each time it is asked for: once is enough
        return super().render_lines(crop)

    def role_style(self, role: str) -> Style:
        """The style of a component class of this widget, or of the widget itself for any other name."""
        if self._role_styles is None:
            self._role_styles = {name: self.get_component_rich_style(name) for name in self.ROLES}
            self._role_styles[PLAIN] = self.rich_style
        return self._role_styles.get(role) or self._role_styles[PLAIN]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._role_styles = None
        self.forget_strips()

    def forget_strips(self) -> None:
        """Drop what was drawn in other colours or for other content."""

    def strip(self, spans: Iterable[Span]) -> Strip:
        """One line of the screen."""
        style = self.role_style
        return Strip([Segment(text, style(role)) for text, role in spans])


class Lines(RoleStyles):
    """A widget of fixed lines: ``draw`` says what they are, ``show`` takes new content."""

    DEFAULT_CSS = "Lines { height: 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._drawn: list[Strip] | None = None
        self._drawn_for = Size(0, 0)

    def draw(self, width: int, height: int) -> list[list[Span]]:
        """The lines for this size."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Content has changed."""
        self.forget_strips()
        self.refresh()

    def forget_strips(self) -> None:
        self._drawn = None

    def on_resize(self) -> None:
        self.redraw()

    def render_line(self, y: int) -> Strip:
        width, height = room = self._room
        if self._drawn is None or self._drawn_for != room:  # a repaint may come before the resize
            self._drawn_for = room
            lines = self.draw(width, height)
            self._drawn = [
                self.strip(line).adjust_cell_length(width, self.role_style(PLAIN)) for line in lines
            ]
        return self._drawn[y] if y < len(self._drawn) else Strip.blank(width, self.role_style(PLAIN))


class ScrolledLines(ScrollView, RoleStyles):
    """A scrolling widget of lines. Subclasses keep ``line_count`` and draw one line at a time."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._strips: dict[int, Strip] = {}

    def draw_line(self, line: int) -> Strip:
        """Line ``line`` of the content, as wide as it is."""
        raise NotImplementedError

    def forget_strips(self) -> None:
        self._strips = {}

    def set_extent(self, width: int, height: int) -> None:
        """How large the content is. A size that fits counts as none, so that it stays the same from paint to
        paint; and a new size moves the scroll bars alone, without a layout of the whole screen."""
        room = self.scrollable_content_region.size
        extent = Size(width if width > room.width else 0, height if height > room.height else 0)
        if extent != self.virtual_size:
            self.set_reactive(ScrolledLines.virtual_size, extent)
            self._scroll_update(extent)

    def drawn(self, line: int) -> Strip:
        """What ``draw_line`` drew, or draws now."""
        strip = self._strips.get(line)
        if strip is None:
            strip = self._strips[line] = self.draw_line(line)
        return strip

    def render_line(self, y: int) -> Strip:
        scroll_x, scroll_y = self.scroll_offset
        strip, width = self.drawn(y + scroll_y), self._room.width
        if not scroll_x and strip.cell_length <= width:  # making strips is most of what a paint takes
            return strip.extend_cell_length(width, self.role_style(PLAIN))
        return strip.crop_extend(scroll_x, scroll_x + width, self.role_style(PLAIN))


def spread(left: list[Span], right: list[Span], width: int) -> list[Span]:
    """``left`` and ``right`` at the two ends of a line; ``right`` gives way when both do not fit."""
    from rich.cells import cell_len

    used = sum(cell_len(text) for text, _ in left) + sum(cell_len(text) for text, _ in right)
    if used + 1 > width:
        return left
    return [*left, (" " * (width - used), ""), *right]
