"""How much is shown, and in which colours."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace
from textual.filter import LineFilter, NoColor

from ddtree_tui.actions.base import Actions
from ddtree_tui.ascii_forms import AsciiFilter
from ddtree_tui.config import SSH_PAINTS
from ddtree_tui.keys import Key
from ddtree_tui.pace import MOST, Pace
from ddtree_tui.theme import THEMES
from ddtree_tui.widgets import transcript_keys, tree_keys
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.run_view import RunView
from ddtree_tui.widgets.transcript import Transcript

KEYS = (
    Key("look.zoom", "zoom", "show all, only the tree, only the text", "Zoom", "ctrl+o", "z"),
    Key("look.theme", "next_theme", "dark, light, high contrast", "Next theme", "ctrl+t", in_dialogs=True),
    Key("look.help", "help", "keys, and what the glyphs mean", "Keys", free="f1,question_mark"),
)


class LookActions(Actions):
    def action_zoom(self) -> None:
        """All, only the tree, only the text."""
        self.query_one(RunView).zoom()

    def action_next_theme(self) -> None:
        """Dark, light, high contrast."""
        names = list(THEMES)
        following = names[(names.index(self.looks.theme) + 1) % len(names)]
        self.change_looks(theme=following)

    def change_looks(self, **changed: object) -> None:
        """Look different from now on, until the app ends."""
        self.looks = replace(self.looks, **changed)
        self.apply_looks()
        self.refresh_css(animate=False)
        self.changed()

    def apply_looks(self) -> None:
        """Theme, filters and pace as ``looks`` has them."""
        looks = self.looks
        self.theme = THEMES[looks.theme].name
        self.no_color = not looks.colour
        self.set_class(looks.ascii, "-ascii")
        self.animation_level = "none"
        self.pace = Pace(looks.paints_per_second or (SSH_PAINTS if over_ssh() else MOST))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The last thing that happens to what is painted."""
        filters = [*super().get_line_filters()]
        if self.looks.ascii:
            filters.append(AsciiFilter())
        if not self.looks.colour:
            filters.append(NoColor())
        return filters

    def action_help(self) -> None:
        """Keys, those of the pane in focus first, and glyphs."""
        from ddtree_tui.screens.help import HelpScreen

        panes = {DraftTreeView: tree_keys.PANE, Transcript: transcript_keys.PANE}
        pane = next((name for kind, name in panes.items() if isinstance(self.focused, kind)), "")
        self.push_screen(HelpScreen(self.all_keys(), pane))


def over_ssh() -> bool:
    """Whether the terminal is on another machine, where every paint travels."""
    return bool(os.environ.get("SSH_CONNECTION"))
