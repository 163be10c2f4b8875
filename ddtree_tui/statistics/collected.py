"""All statistics of one scope, each kept up round by round."""

from __future__ import annotations

from ddtree_tui.statistics.acceptance import Acceptance
from ddtree_tui.statistics.calibration import Calibration
from ddtree_tui.statistics.hits import Hits
from ddtree_tui.statistics.marginal import Marginal
from ddtree_tui.statistics.observation import Observation
from ddtree_tui.statistics.speed import Speed
from ddtree_tui.statistics.stages import Stages


class Collected:
    """Of an answer, of all answers, or of the rounds since a setting changed."""

    def __init__(self) -> None:
        self.acceptance = Acceptance()
        self.speed = Speed()
        self.stages = Stages()
        self.hits = Hits()
        self.calibration = Calibration()
        self.marginal = Marginal()

    def add(self, seen: Observation) -> None:
        """Count one more round."""
        self.acceptance.add(seen)
        self.speed.add(seen)
        self.stages.add(seen)
        self.hits.add(seen)
        self.calibration.add(seen)
        self.marginal.add(seen)
