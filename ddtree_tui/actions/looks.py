"""How much is shown, and in which colours."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.theme import DARK, LIGHT
from ddtree_tui.widgets.run_view import RunView

KEYS = (
    Key("look.zoom", "zoom", "show all, only the tree, only the text", "Zoom", "ctrl+o", "z"),
    Key("look.theme", "toggle_theme", "light or dark", "Light or dark", "ctrl+t", in_dialogs=True),
    Key("look.help", "help", "keys, and what the glyphs mean", "Keys", free="f1,question_mark"),
)


class LookActions(Actions):
    def action_zoom(self) -> None:
        """All, only the tree, only the text."""
        self.query_one(RunView).zoom()

    def action_toggle_theme(self) -> None:
        """Light or dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def action_help(self) -> None:
        """Keys and glyphs."""
        from ddtree_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen(self.all_keys()))

    def action_copy_answer(self) -> None:
        """Put the newest answer on the clipboard."""
        answer = self.controller.session.answer
        if answer is not None and answer.text is not None:
            self.copy_to_clipboard(answer.text.answer)
