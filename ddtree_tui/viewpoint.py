"""Which round is looked at."""

from __future__ import annotations


class Viewpoint:
    """Which round is shown: the newest while following, else the one the user chose.

    Attributes:
        why: what is special about the chosen one, if something is.
    """

    def __init__(self) -> None:
        self.following = True
        self.why = ""
        self._chosen = 0

    def index(self, count: int) -> int | None:
        """The shown round among ``count`` rounds; None when there is none."""
        if not count:
            return None
        return count - 1 if self.following else min(self._chosen, count - 1)

    def choose(self, index: int, count: int, why: str = "") -> None:
        """Show one round and stay on it."""
        if count:
            self.why = why
            self._chosen = max(0, min(index, count - 1))
            self.following = False

    def move(self, by: int, count: int) -> None:
        """Step back or forth; a step forth onto the newest round follows again."""
        shown = self.index(count)
        if shown is None:
            return
        if by > 0 and shown + by >= count - 1:
            self.following = True
        else:
            self.choose(shown + by, count)

    def follow(self) -> None:
        """Show the newest round again, and every one that comes."""
        self.following = True
