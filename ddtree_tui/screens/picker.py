"""Choose a model: a preset, one loaded lately, or whatever is typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from ddtree_tui.escape import escape
from ddtree_tui.screens.dialog import Overlay


@dataclass(frozen=True)
class Choice:
    """Something to pick: what is taken, how it is called, and what to know of it."""

    value: str
    title: str
    note: str


class PickerScreen(Overlay[str | None]):
    """Dismissed with what was picked or typed; with None if nothing was."""

    BINDINGS = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("down", "to_list", "List", show=False),
        Binding("tab", "app.focus_next", show=False),
    ]
    DEFAULT_CSS = """
    PickerScreen {
        #picker {
            width: 100; max-width: 96%; height: auto; max-height: 90%;
            padding: 1 2; background: $surface; border-left: thick $shown;
        }
        Static { width: 1fr; height: auto; }
        #picker-title { text-style: bold; }
        #picker-help { color: $quiet; margin-bottom: 1; }
        Input, Input:focus { border: none; height: 1; padding: 0 1; background: $panel; margin-bottom: 1; }
        OptionList {
            height: auto; max-height: 20; border: none; padding: 0; background: $surface;
            scrollbar-size: 1 1;
            &:focus { border: none; }
            & > .option-list--option-highlighted { background: $surface; color: $foreground; }
            &:focus > .option-list--option-highlighted {
                background: $panel; color: $shown; text-style: bold;
            }
        }
    }
    """

    def __init__(self, title: str, help_: str, value: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._title, self._help, self._value, self._choices = title, help_, value, choices

    def compose(self) -> ComposeResult:
        """A line to type in, and below it what is known."""
        wide = max((len(choice.title) for choice in self._choices), default=0)
        with Vertical(id="picker"):
            yield Static(self._title, id="picker-title", markup=False)
            yield Static(self._help, id="picker-help", markup=False)
            yield Input(self._value, id="picker-input", select_on_focus=True)
            yield OptionList(
                *(
                    Option(Content(f"{escape(choice.title):<{wide}}  {escape(choice.note)}"))
                    for choice in self._choices
                ),
                id="picker-list",
            )

    def action_to_list(self) -> None:
        self.query_one(OptionList).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index].value)
