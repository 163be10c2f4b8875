"""How to read a screen, in paragraphs."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.widgets import Static

from ddtree_tui.ascii_forms import ascii_form
from ddtree_tui.keys import in_words
from ddtree_tui.screens.dialog import Overlay


class ExplanationScreen(Overlay[None]):
    """Titles, each with a paragraph. Any of its keys closes it.

    Args:
        plain: with ASCII alone.
    """

    BINDINGS = [Binding("escape,f1,q,question_mark,enter", "dismiss", "Close")]
    DEFAULT_CSS = """
    ExplanationScreen {
        #explanation {
            width: 86; max-width: 98%; height: auto; max-height: 96%;
            padding: 1 2; background: $surface; scrollbar-size: 1 1;
        }
        .part-title { text-style: bold; color: $shown; }
        .part-text { margin-bottom: 1; }
    }
    """

    def __init__(self, parts: Sequence[tuple[str, str]], *, plain: bool) -> None:
        super().__init__()
        self._parts, self._plain = parts, plain

    def compose(self) -> ComposeResult:
        """In the order of what is explained."""
        with VerticalScroll(id="explanation"):
            for title, text in self._parts:
                yield Static(self._written(title), classes="part-title", markup=False)
                yield Static(self._written(text), classes="part-text", markup=False)

    def _written(self, text: str) -> str:
        return ascii_form(in_words(text, plain=True)) if self._plain else text
