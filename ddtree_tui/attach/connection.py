"""How the connection to the server is, in a word, and how long to wait before the next attempt."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

LONGEST_PAUSE = 30.0


class Reach(Enum):
    """Whether the server is heard."""

    CONNECTING = "connecting"
    HEARD = "heard"
    LOST = "lost"


@dataclass(frozen=True)
class Connection:
    """Attributes:
    reach: whether the server is heard.
    reason: why it is not, or why it does not serve; empty where all is well.
    failed: of a server that does not serve, whether waiting will hardly help.
    again_at: ``time.monotonic`` of the next attempt, where it is lost.
    """

    reach: Reach
    reason: str = ""
    again_at: float = 0.0
    failed: bool = False


def pause_after(failures: int) -> float:
    """Seconds until the next attempt: a second at first, twice as many each time."""
    return min(LONGEST_PAUSE, 2.0 ** min(failures - 1, 10))
