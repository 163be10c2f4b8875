"""The prompt box: Enter runs, other keys edit; the arrow keys bring back earlier prompts and the examples."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message
from textual.widgets import TextArea

TYPE_NOW = "Type a prompt, Enter runs it"
TYPE_LATER = "Press i to type a prompt"
"""What the empty box says with the focus, and without it, where letters are keys."""
LINE_BREAKS = ("shift+enter", "alt+enter", "ctrl+j")


class PromptBox(TextArea):
    """One line that grows with its text. Shift+Enter, Alt+Enter or Ctrl+J break the line."""

    DEFAULT_CSS = """
    PromptBox {
        height: auto;
        max-height: 6;
        border: none;
        padding: 0 1 0 0;
        background: $background;
        &:focus { border: none; }
    }
    """

    HINTS = TYPE_NOW, TYPE_LATER
    """What an empty box says with the focus and without."""

    class Submitted(Message):
        """The user wants an answer to ``text``."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, suggestions: Sequence[str], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(
            id=id,
            soft_wrap=True,
            show_line_numbers=False,
            highlight_cursor_line=False,
            tab_behavior="focus",
            placeholder=self.HINTS[0],
        )
        self.cursor_blink = False  # blinking would repaint an idle screen twice a second
        self._history: list[str] = list(reversed(suggestions))
        self._recalled: int | None = None
        self._draft = ""

    def on_focus(self) -> None:
        self.placeholder = self.HINTS[0]

    def on_blur(self) -> None:
        self.placeholder = self.HINTS[1]

    async def _on_key(self, event: events.Key) -> None:
        """Keys are taken in the order they come. (A priority binding for Enter would overtake the text that
        was typed, or sent by a script, right before it.)"""
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            if self.text.strip():
                self.post_message(self.Submitted(self.text))
        elif event.key in LINE_BREAKS:
            event.stop()
            event.prevent_default()
            self.insert("\n")
        else:
            await super()._on_key(event)

    def remember(self, text: str) -> None:
        """An accepted prompt: it can be recalled, and the box is empty again."""
        if text in self._history:
            self._history.remove(text)
        self._history.append(text)
        self._recalled = None
        self._draft = ""
        self.text = ""

    def action_cursor_up(self, select: bool = False) -> None:
        if select or self._can_move(-1):
            super().action_cursor_up(select)
        else:
            self._recall(-1)

    def action_cursor_down(self, select: bool = False) -> None:
        if select or self._can_move(1):
            super().action_cursor_down(select)
        else:
            self._recall(1)

    def _can_move(self, by: int) -> bool:
        """Whether there is a row above (-1) or below (1) the cursor, wrapped rows counted."""
        _, y = self.wrapped_document.location_to_offset(self.cursor_location)
        return 0 <= y + by < self.wrapped_document.height

    def _recall(self, by: int) -> None:
        if not self._history:
            return
        if self._recalled is None:
            if by > 0:
                return
            self._draft = self.text
            self._recalled = len(self._history)
        place = max(0, self._recalled + by)
        if place >= len(self._history):
            self._recalled = None
            self.text = self._draft
        else:
            self._recalled = place
            self.text = self._history[place]
        self.move_cursor(self.document.end)
