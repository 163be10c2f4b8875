"""Type a value for a setting; a wrong one is explained and can be corrected."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Input, Static

from ddtree_tui.screens.dialog import Dialog
from engine.errors import EngineError


class ValueScreen(Dialog[None]):
    """``apply`` takes the typed text and raises ``EngineError`` if it will not do."""

    BINDINGS = [Binding("escape", "dismiss", "Close")]
    DEFAULT_CSS = """
    ValueScreen {
        #value { width: 60; }
        #value-name { text-style: bold; }
        #value-help { color: $quiet; margin-bottom: 1; }
        Input { height: 1; padding: 0 1; background: $panel; &, &:focus { border: none; } }
        #value-error { color: $wrong; margin-top: 1; display: none; }
        #value-error.-shown { display: block; }
    }
    """

    def __init__(self, name: str, value: str, explanation: str, apply: Callable[[str], None]) -> None:
        super().__init__()
        self._heading, self._value, self._explanation, self._apply = name, value, explanation, apply

    def compose(self) -> ComposeResult:
        """Name, explanation, the value, and room for what is wrong with it."""
        with Vertical(id="value", classes="box"):
            yield Static(self._heading, id="value-name", markup=False)
            yield Static(self._explanation, id="value-help", markup=False)
            yield Input(self._value, id="value-input", select_on_focus=True)
            yield Static("", id="value-error", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if not self.is_current:  # Enter came twice
            return
        error = self.query_one("#value-error", Static)
        try:
            self._apply(event.value)
        except EngineError as problem:
            error.update(f"{problem.message} {problem.hint}")
            error.add_class("-shown")
        else:
            self.dismiss()
