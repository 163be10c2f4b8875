"""Prompts to pick from, by kind of task, and the way to one in a file."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from ddtree_tui.examples import Kinds
from ddtree_tui.screens.dialog import Overlay

FROM_FILE, SYSTEM = "from a file", "system message"


class PromptsScreen(Overlay[str]):
    """Dismissed with a prompt, or with ``FROM_FILE`` or ``SYSTEM``."""

    BINDINGS = [Binding("escape,q", "dismiss", "Close")]
    DEFAULT_CSS = """
    PromptsScreen {
        #prompts {
            width: 84; max-width: 96%; height: auto; max-height: 92%;
            padding: 1 2; background: $surface; border-left: thick $shown;
        }
        #prompts-title { text-style: bold; margin-bottom: 1; }
        Static { width: 1fr; height: auto; }
        OptionList {
            height: auto; max-height: 100%; border: none; padding: 0;
            background: $surface; scrollbar-size: 1 1;
            &:focus { border: none; }
            & > .option-list--option-highlighted { background: $panel; color: $shown; text-style: bold; }
            & > .option-list--option-disabled { color: $quiet; text-style: bold; }
        }
    }
    """

    def __init__(self, kinds: Kinds) -> None:
        super().__init__()
        self._kinds = kinds

    def compose(self) -> ComposeResult:
        """A heading for each kind, its prompts below."""
        options: list[Option] = [
            Option(Content("Read a prompt from a file ..."), id=FROM_FILE),
            Option(Content("Write the system message ..."), id=SYSTEM),
        ]
        for kind, prompts in self._kinds:
            options.append(Option(Content(kind), disabled=True))
            options += [Option(Content(f"  {prompt}"), id=prompt) for prompt in prompts]
        with Vertical(id="prompts"):
            yield Static("Prompts: Enter puts one into the prompt box", id="prompts-title", markup=False)
            yield OptionList(*options, markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)
