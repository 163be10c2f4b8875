"""Ask before something that cannot be taken back."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup, Vertical
from textual.widgets import Button, Static

from ddtree_tui.escape import escape
from ddtree_tui.screens.dialog import ButtonDialog


class ConfirmScreen(ButtonDialog[bool]):
    """Dismissed with whether to do it; the button that does nothing has the focus."""

    BINDINGS = [
        Binding("escape,n", "answer(False)", "No"),
        Binding("y", "answer(True)", "Yes"),
    ]
    DEFAULT_CSS = """
    ConfirmScreen {
        #confirm { width: 66; }
        #confirm-question { text-style: bold; }
    }
    """

    def __init__(self, question: str, about: str, yes: str) -> None:
        super().__init__()
        self._question, self._about, self._yes = question, about, yes

    def compose(self) -> ComposeResult:
        """What is asked, of what, and the two answers."""
        with Vertical(id="confirm", classes="box"):
            yield Static(escape(self._question), id="confirm-question", markup=False)
            yield Static(escape(self._about), markup=False)
            with HorizontalGroup():
                yield Button("Keep (n)", id="no", compact=True)
                yield Button(f"{self._yes} (y)", id="yes", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        """Close with an answer."""
        self.dismiss(answer)
