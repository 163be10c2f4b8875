"""Textual's command palette, for fast fingers."""

from __future__ import annotations

import contextlib

from textual.command import CommandPalette

from ddtree_tui.screens.sized import Sized


class Palette(Sized, CommandPalette):
    """Turns no page before there are any."""

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):  # the lines of commands found just now are not laid out yet
            super()._action_command_list(action)
