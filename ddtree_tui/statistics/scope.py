"""Which rounds count: those of one answer, of all answers, or since a setting last changed."""

from __future__ import annotations

from enum import Enum


class Scope(Enum):
    """The value names it on the command line."""

    ANSWER = "answer"
    ALL = "all"
    CHANGE = "change"

    @property
    def title(self) -> str:
        """In words."""
        return _TITLES[self]

    @property
    def following(self) -> Scope:
        """The one that a key switches to."""
        order = list(Scope)
        return order[(order.index(self) + 1) % len(order)]


_TITLES = {
    Scope.ANSWER: "the shown answer",
    Scope.ALL: "all answers",
    Scope.CHANGE: "since a setting last changed",
}
