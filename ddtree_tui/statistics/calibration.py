"""Whether the drafter's probabilities are true: how often nodes were accepted that it gave probability p."""

from __future__ import annotations

from ddtree_tui.statistics.observation import EDGES, Observation


class Calibration:
    """Reliability bins over path probabilities, and their sum: expected against realised acceptance.

    A node's path probability is Π q_d(token_d) along its path, the probability that the text goes through
    it were the drafter right and the depths independent. Summed over a tree it is the expected number of
    accepted nodes, which the best-first tree maximises (arXiv 2604.12989).
    Rounds that the end of the text cut are left out.

    Attributes:
        nodes, probability, accepted: per bin: how many, the sum of their probabilities, how many accepted.
        rounds: drafted rounds counted.
        expected, realised: sums over them, of accepted nodes.
    """

    def __init__(self) -> None:
        bins = len(EDGES) + 1
        self.nodes = [0] * bins
        self.probability = [0.0] * bins
        self.accepted = [0] * bins
        self.rounds = 0
        self.expected = 0.0
        self.realised = 0

    def add(self, seen: Observation) -> None:
        """Count a round's nodes."""
        if not (seen.complete and seen.drafted and seen.weighed):
            return
        self.rounds += 1
        self.expected += seen.expected
        self.realised += seen.accepted
        counts, sums = seen.bins
        for place, count in enumerate(counts):
            if count:
                self.nodes[place] += count
                self.probability[place] += sums[place]
        for place in seen.hits:
            self.accepted[place] += 1
