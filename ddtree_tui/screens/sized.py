"""Screens in a terminal that changes its size faster than they are laid out."""

from __future__ import annotations

from textual.events import Resize
from textual.screen import Screen


class Sized:
    """Before a kind of screen: leaves out sizes that are not the terminal's any more; the newest follows.

    A screen that is laid out in another size than before sends that size to itself once more. Two sizes on
    their way to it at once would follow each other for ever.
    """

    async def _on_resize(self, event: Resize) -> None:
        assert isinstance(self, Screen)
        if event.size != self.app.size:
            event.stop()
            event.prevent_default()


class SizedScreen(Sized, Screen[None]):
    """The main screen."""
