"""Where the time of rounds goes, and how near it is to what reading the weights takes."""

from __future__ import annotations

from ddtree_tui.statistics.observation import Observation
from engine.events import Floor, StageTimes

STAGES = tuple(name for name in StageTimes.__struct_fields__ if name != "total")
REST = "rest"
"""Time of a round outside its stages."""


class Stages:
    """Sums of milliseconds, over rounds whose time is known. ``drafted``, ``plain``: those with and without a
    forward of the drafter. ``divided``: those of which it is known which stages the time went to, and
    ``divided_ms`` is theirs."""

    def __init__(self) -> None:
        self.total = 0.0
        self.ms = dict.fromkeys((*STAGES, REST), 0.0)
        self.drafted = 0
        self.plain = 0
        self.divided = 0
        self.divided_ms = 0.0

    def add(self, seen: Observation) -> None:
        """Count a round's times."""
        times = seen.ms
        if not times.total:
            return
        if times.divided:
            values = (times.draft, times.build, times.verify, times.walk, times.commit)
            for stage, value in zip(STAGES, values, strict=True):
                self.ms[stage] += value
            self.ms[REST] += max(0.0, times.total - sum(values))
            self.divided += 1
            self.divided_ms += times.total
        self.total += times.total
        if seen.drafted:
            self.drafted += 1
        else:
            self.plain += 1

    @property
    def rounds(self) -> int:
        return self.drafted + self.plain

    def mean_ms(self, stage: str) -> float:
        """Milliseconds of a stage, or in ``total``, in a round on average; 0 before the first."""
        if stage == "total":
            return self.total / self.rounds if self.rounds else 0.0
        return self.ms[stage] / self.divided if self.divided else 0.0

    def floor_ms(self, floor: Floor) -> float:
        """Milliseconds that these rounds take at least, all together."""
        drafted = self.drafted * floor_milliseconds(floor, drafted=True)
        return drafted + self.plain * floor_milliseconds(floor, drafted=False)


def floor_milliseconds(floor: Floor, *, drafted: bool) -> float:
    """What reading a round's weights takes at the bandwidth measured; without a draft the target's alone."""
    size = floor.target_bytes + (floor.drafter_bytes if drafted else 0)
    return 1000 * size / floor.bytes_per_second


def stage_ms(times: StageTimes, stage: str) -> float:
    """Milliseconds of a stage, by its name."""
    value = getattr(times, stage)
    assert isinstance(value, float)
    return value
