"""Screens of their own that show the run while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding
from textual.screen import Screen, ScreenResultType

from ddtree_tui.controller import Controller
from ddtree_tui.screens.explanation import ExplanationScreen
from ddtree_tui.screens.sized import Sized
from ddtree_tui.widgets.key_bar import Hint

EXPLAIN: Hint = ("F1", "explain", "screen.explain")
QUIT: Hint = ("^Q", "quit", "quit")


class LiveScreen(Sized, Screen[ScreenResultType]):
    """The app hands it the newest state with every paint, as it does to the main screen.

    Attributes:
        EXPLANATION: how to read it, in titles and paragraphs.
    """

    EXPLANATION: ClassVar[Sequence[tuple[str, str]]]
    BINDINGS = [Binding("f1,question_mark", "explain", "How to read this")]

    def show(self, controller: Controller) -> None:
        """Paint the newest state."""
        raise NotImplementedError

    def action_explain(self) -> None:
        """How to read it."""
        self.app.push_screen(ExplanationScreen(self.EXPLANATION, plain=self.app.has_class("-ascii")))
