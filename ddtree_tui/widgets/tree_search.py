"""The line to search the draft tree with: matches show while one types."""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup
from textual.message import Message
from textual.widgets import Input, Static


class SearchInput(Input):
    """Enter keeps the cursor at the match, Esc gives the search up; up and down go through the matches."""

    BINDINGS = [
        Binding("escape", "give_up", "Give up", show=False),
        Binding("down", "next(1)", "Next match", show=False),
        Binding("up", "next(-1)", "Match before", show=False),
    ]
    DEFAULT_CSS = """
    SearchInput {
        width: 1fr; height: 1; border: none; padding: 0; background: $surface;
        &:focus { border: none; }
    }
    """

    def __init__(self) -> None:
        super().__init__(placeholder="part of a token", select_on_focus=True)
        self.cursor_blink = False  # blinking would repaint an idle screen twice a second

    def action_give_up(self) -> None:
        self.post_message(TreeSearch.Left(kept=False))

    def action_next(self, by: int) -> None:
        self.post_message(TreeSearch.Next(by))


class TreeSearch(HorizontalGroup):
    """Hidden unless one searches."""

    DEFAULT_CSS = """
    TreeSearch {
        height: 1; display: none; padding: 0 1; background: $surface;
        &.-open { display: block; }
        .sign { width: 2; color: $shown; text-style: bold; }
        .count { width: auto; color: $quiet; }
    }
    """

    class Typed(Message):
        """The text to look for has changed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Next(Message):
        """To the match after or before."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Left(Message):
        """The search is over; ``kept``: with its match."""

        def __init__(self, *, kept: bool) -> None:
            super().__init__()
            self.kept = kept

    def compose(self) -> ComposeResult:
        """A sign, the text, how many matches there are."""
        yield Static("/", classes="sign", markup=False)
        yield SearchInput()
        yield Static("", classes="count", markup=False)

    def open(self, text: str) -> None:
        """Show the line and type."""
        self.add_class("-open")
        box = self.query_one(SearchInput)
        box.value = text
        box.focus()

    def close(self) -> None:
        """Hide the line."""
        self.remove_class("-open")

    def tell(self, count: str) -> None:
        """Say how many matches there are."""
        self.query_one(".count", Static).update(count)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Left(kept=True))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        self.close()
