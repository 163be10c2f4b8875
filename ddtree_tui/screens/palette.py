"""Textual's command palette, for fast fingers."""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.command import CommandPalette

from ddtree_tui.screens.sized import Sized


class Palette(Sized, CommandPalette):
    """Is closed once, however often Enter is pressed meanwhile."""

    def dismiss(self, result: Any = None) -> AwaitComplete:
        return super().dismiss(result) if self.is_current else AwaitComplete()
