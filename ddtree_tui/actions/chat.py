"""What the model is told: the system message, prompts to pick from or in files, and how it all reached it."""

from __future__ import annotations

from pathlib import Path

from ddtree_tui.actions.base import Actions
from ddtree_tui.examples import examples_by_kind
from ddtree_tui.keys import Key
from ddtree_tui.prompt_file import read_prompt_file
from ddtree_tui.widgets.prompt import PromptBox
from engine.errors import EngineError

KEYS = (
    Key("chat.prompts", "prompts", "pick a prompt; from a file; system message", "Prompts", "ctrl+l"),
    Key("chat.system", "system_message", "system message; from next run", "System message", free="S"),
    Key("chat.exact", "exact_prompt", "what the model was given, exactly", "Exact prompt", free="P"),
)


class ChatActions(Actions):
    def action_prompts(self) -> None:
        """Pick a prompt, name a file that holds one, or write the system message."""
        from ddtree_tui.screens.prompts import FROM_FILE, SYSTEM, PromptsScreen

        def picked(prompt: str | None) -> None:
            if prompt == FROM_FILE:
                self.action_prompt_file()
            elif prompt == SYSTEM:
                self.action_system_message()
            elif prompt is not None:
                self._fill(prompt)

        if self.controller.playback is None:
            self.push_screen(PromptsScreen(examples_by_kind(self.controller.load.model)), picked)

    def action_prompt_file(self) -> None:
        """Read a prompt from a file into the prompt box."""
        from ddtree_tui.screens.value import ValueScreen

        def read(name: str) -> None:
            text = read_prompt_file(Path(name.strip()))
            if not text.strip():
                raise EngineError("empty_prompt", f"The file {name.strip()} is empty.", "Name another.")
            self._fill(text)

        self.push_screen(ValueScreen("Prompt from a file", "", "its path; the text is UTF-8", read))

    def action_system_message(self) -> None:
        """Write what the model is told before the conversation."""
        from ddtree_tui.screens.system_message import SystemMessageScreen

        def apply(text: str) -> None:
            self.controller.system = text.strip() or None
            self.changed()

        if self.controller.playback is None:
            self.push_screen(SystemMessageScreen(self.controller.system or "", apply))

    def action_exact_prompt(self) -> None:
        """Show the prompt of the shown answer as the model got it."""
        from ddtree_tui.screens.exact_prompt import ExactPromptScreen

        answer = self.controller.shown_answer
        if answer is None or answer.prefilled is None:
            self.notify("The model has not been given a prompt yet.", markup=False, timeout=3)
        else:
            self.push_screen(ExactPromptScreen(answer.prefilled, answer.vocabulary))

    def _fill(self, text: str) -> None:
        for box in self.query(PromptBox):
            box.text = text
            box.move_cursor(box.document.end)
            box.focus()
