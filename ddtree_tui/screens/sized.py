"""What all screens have to bear: terminals that change their size fast, and fingers that are."""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
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

    def dismiss(self, result: Any = None) -> AwaitComplete:
        """Close once: a second Enter, already on its way, would close the screen below."""
        assert isinstance(self, Screen)
        return Screen.dismiss(self, result) if self.is_current else AwaitComplete()


class SizedScreen(Sized, Screen[None]):
    """The main screen."""
