"""Something went wrong: one sentence, what to do next, where the details are."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import HorizontalGroup, Vertical
from textual.widgets import Button, Static

from ddtree_tui.escape import escape
from ddtree_tui.problem import Problem
from ddtree_tui.screens.dialog import ButtonDialog


class ProblemScreen(ButtonDialog[str]):
    """Dismissed with ``wait``, ``restart``, ``back``, ``close`` or ``quit``. Nothing is read as markup."""

    BINDINGS = [
        Binding("escape", "answer('close')", "Close"),
    ]
    DEFAULT_CSS = """
    ProblemScreen {
        #problem { width: 76; max-height: 92%; }
        #problem-title { text-style: bold; color: $wrong; }
        #problem-hint { color: $foreground; }
        #problem-log { color: $quiet; }
    }
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem

    def compose(self) -> ComposeResult:
        """Sentence, remedy, log, buttons; the most likely button has the focus."""
        problem = self.problem
        with Vertical(id="problem", classes="box"):
            yield Static(escape(problem.title), id="problem-title", markup=False)
            yield Static(escape(problem.message, keep_newlines=True), id="problem-message", markup=False)
            if problem.hint:
                yield Static(escape(problem.hint, keep_newlines=True), id="problem-hint", markup=False)
            if problem.log_path is not None and str(problem.log_path) not in problem.hint:
                yield Static(f"Details: {escape(str(problem.log_path))}", id="problem-log", markup=False)
            with HorizontalGroup():
                if problem.wait:
                    yield Button("Wait", id="wait", compact=True)
                if problem.restart:
                    yield Button("Restart engine", id="restart", compact=True)
                if problem.back:
                    yield Button("Load the models before", id="back", compact=True)
                if not problem.wait:
                    yield Button("Close", id="close", compact=True)
                yield Button("Quit", id="quit", compact=True)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id or "close")

    def action_answer(self, answer: str) -> None:
        """Close with an answer."""
        self.dismiss(answer)
