"""Where one looks in a race: at its newest round, or back at an older one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from ddtree_tui.playback import Playback
from ddtree_tui.race.course import Race
from ddtree_tui.race.standing import Standings
from ddtree_tui.showing import Showing


class RaceShowing(Showing):
    """The rounds of all lanes, in the order in which they were decoded.

    Args:
        tick: takes in what has come of the recording.
    """

    def __init__(self, race: Race, playback: Playback | None, tick: Callable[[float], bool]) -> None:
        super().__init__(playback)
        self.race = race
        self._tick = tick

    @property
    def round_count(self) -> int:
        return len(self.race.steps)

    def round_ms(self, index: int) -> float:
        lane = self.race.lanes[self.race.steps[index]]
        return lane.answer.rounds.summaries[bisect_left(lane.steps, index)].ms

    def tick(self, now: float) -> bool:
        return self._tick(now)

    @property
    def looking_back(self) -> bool:
        """Whether an older round than the newest is shown."""
        return not self.viewpoint.following

    def standings(self) -> Standings:
        """How the lanes stand, or stood when the shown round was over."""
        return self.race.standings(self.shown if self.looking_back else None)
