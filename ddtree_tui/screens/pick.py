"""Choose one of a few things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from ddtree_tui.escape import escape
from ddtree_tui.screens.dialog import Overlay
from ddtree_tui.screens.explanation import ExplanationScreen


@dataclass(frozen=True)
class Choice:
    """``key``: the letter that picks it; ``name`` and ``help`` are shown as they are, never as markup."""

    value: str
    key: str
    name: str
    help: str


class PickScreen(Overlay[str]):
    """Dismissed with the value of the choice. Enter or its letter picks one; Escape none."""

    BINDINGS = [
        Binding("escape", "dismiss", "Close"),
        Binding("f1", "explain", "What this is about", priority=True),
    ]
    DEFAULT_CSS = """
    PickScreen {
        #pick {
            width: 84; max-width: 96%; height: auto; max-height: 96%;
            padding: 1 2; background: $surface; border-left: thick $shown;
        }
        #pick-title { text-style: bold; margin: 0 1 1 1; width: 1fr; height: auto; }
        #pick-keys { color: $faint; margin: 1 1 0 1; height: 1; }
        OptionList {
            height: auto; border: none; background: $surface; padding: 0;
            text-wrap: nowrap; text-overflow: ellipsis;
            &:focus { border: none; }
        }
    }
    """

    def __init__(
        self, title: str, choices: Sequence[Choice], explanation: Sequence[tuple[str, str]] = ()
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._explanation = explanation

    def compose(self) -> ComposeResult:
        """Title, and a line for each choice."""
        widest = max((len(choice.name) for choice in self._choices), default=0)
        with Vertical(id="pick"):
            yield Static(escape(self._title), id="pick-title", markup=False)
            yield OptionList(
                *(
                    Text.assemble(
                        (choice.key, "bold"), f"  {choice.name:<{widest}}  ", (escape(choice.help), "dim")
                    )
                    for choice in self._choices
                ),
                markup=False,
            )
            if self._explanation:
                yield Static("F1 explain   Esc close", id="pick-keys", markup=False)

    def action_explain(self) -> None:
        """In paragraphs, if there are any."""
        if self._explanation:
            plain = self.app.has_class("-ascii")
            self.app.push_screen(ExplanationScreen(self._explanation, plain=plain))

    def on_key(self, event: events.Key) -> None:
        for choice in self._choices:
            if event.character == choice.key:
                event.stop()
                self.dismiss(choice.value)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index].value)
