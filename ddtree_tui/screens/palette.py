"""Textual's command palette, for fast fingers."""

from __future__ import annotations

import contextlib
from typing import Any

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette

from ddtree_tui.screens.sized import Sized


class Palette(Sized, CommandPalette):
    """Is closed once, however often Enter is pressed meanwhile; turns no page before there are any."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_current else AwaitComplete()

    def _action_command_list(self, action: str) -> None:
        with contextlib.suppress(KeyError):  # the lines of commands found just now are not laid out yet
            super()._action_command_list(action)
