"""Screens of their own that show the run while it goes on."""

from __future__ import annotations

from textual.screen import Screen, ScreenResultType

from ddtree_tui.controller import Controller
from ddtree_tui.screens.sized import Sized


class LiveScreen(Sized, Screen[ScreenResultType]):
    """The app hands it the newest state with every paint, as it does to the main screen."""

    def show(self, controller: Controller) -> None:
        """Paint the newest state."""
        raise NotImplementedError
