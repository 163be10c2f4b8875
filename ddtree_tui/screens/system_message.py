"""Write the system message: what the model is told before the conversation."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.widgets import Static

from ddtree_tui.screens.dialog import Dialog
from ddtree_tui.widgets.prompt import PromptBox


class MessageBox(PromptBox):
    """Takes an empty text too: it means none."""

    HINTS = "What the model is told before the conversation; Enter keeps it", "No system message"

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(PromptBox.Submitted(self.text))
        else:
            await super()._on_key(event)


class SystemMessageScreen(Dialog[None]):
    """``apply`` takes the text, which is empty for none."""

    BINDINGS = [Binding("escape", "dismiss", "Close")]
    DEFAULT_CSS = """
    SystemMessageScreen {
        #system-message { width: 76; max-width: 94%; }
        #system-title { text-style: bold; }
        .quiet { color: $quiet; }
        MessageBox { max-height: 10; min-height: 3; margin: 1 0; padding: 0 1; background: $panel; }
    }
    """

    def __init__(self, text: str, apply: Callable[[str], None]) -> None:
        super().__init__()
        self._text, self._apply = text, apply

    def compose(self) -> ComposeResult:
        """What it is, the text, keys."""
        with Vertical(id="system-message", classes="box"):
            yield Static("System message, from the next run on", id="system-title", markup=False)
            what = "What the model is told before the conversation; empty for none."
            yield Static(what, classes="quiet", markup=False)
            yield MessageBox(())
            keys = "Enter takes it   Ctrl+J breaks the line   Esc leaves it"
            yield Static(keys, classes="quiet", markup=False)

    def on_mount(self) -> None:
        box = self.query_one(MessageBox)
        box.text = self._text
        box.move_cursor(box.document.end)
        box.focus()

    def on_prompt_box_submitted(self, message: PromptBox.Submitted) -> None:
        message.stop()
        if self.is_current:  # or else Enter came twice
            self._apply(message.text)
            self.dismiss()
