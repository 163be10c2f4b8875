"""Lines for people, on standard error, of the commands without a screen."""

from __future__ import annotations

import contextlib
import sys

from ddtree_tui.escape import escape
from engine.events import Failed, Loading

_ERASE_LINE = "\r\x1b[2K"


class StatusLine:
    """One line that is written over, on a terminal and unless ``quiet``, and sentences that stay."""

    def __init__(self, quiet: bool = False) -> None:
        self._live = sys.stderr.isatty() and not quiet

    def show(self, line: str) -> None:
        """In place of the line shown before."""
        if self._live:
            self.write(f"{_ERASE_LINE}{line}")

    def loading(self, event: Loading) -> None:
        """How far loading is."""
        step = f" ({event.done}/{event.total})" if event.total > 1 else ""
        self.show(f"Loading: {escape(event.stage)}{step} ...")

    def clear(self) -> None:
        """Show no line any more."""
        self.show("")

    def hint(self, line: str) -> None:
        """A sentence for whoever sits at a terminal."""
        if self._live:
            self.write(f"\n{line}\n")

    def say(self, line: str) -> None:
        """A sentence that stays."""
        self.clear()
        self.write(f"ddtree-tui: {line}\n")

    def error(self, event: Failed, debug: bool) -> None:
        """What went wrong and what to do; with ``debug`` the details too."""
        self.say(escape(f"{event.message} {event.hint}".rstrip()))
        if debug and event.detail:
            self.write(event.detail.rstrip() + "\n")

    def write(self, text: str) -> None:
        """As it is. Without a standard error there is nobody to tell."""
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
