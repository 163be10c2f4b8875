"""All statistics of one scope, each kept up round by round."""

from __future__ import annotations

from ddtree_tui.statistics.acceptance import Acceptance
from ddtree_tui.statistics.calibration import Calibration
from ddtree_tui.statistics.hits import Hits
from ddtree_tui.statistics.marginal import Marginal
from ddtree_tui.statistics.observation import Observation
from ddtree_tui.statistics.speed import Speed
from ddtree_tui.statistics.stages import Stages
from engine.events import Finished


class Collected:
    """Of an answer, of all answers, or of the rounds since a setting changed.

    Attributes:
        unweighed: rounds, or answers of unknown rounds, of which the drafter's probabilities are unknown.
    """

    def __init__(self) -> None:
        self.acceptance = Acceptance()
        self.speed = Speed()
        self.stages = Stages()
        self.hits = Hits()
        self.calibration = Calibration()
        self.marginal = Marginal()
        self.unweighed = 0

    def add(self, seen: Observation) -> None:
        """Count one more round."""
        self.acceptance.add(seen)
        self.speed.add(seen)
        self.stages.add(seen)
        self.hits.add(seen)
        self.calibration.add(seen)
        self.marginal.add(seen)
        self.unweighed += not seen.weighed

    def add_totals(self, end: Finished) -> None:
        """Count an imported answer of which no rounds are known, only their totals."""
        self.acceptance.add_totals(end)
        self.unweighed += 1
