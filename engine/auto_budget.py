"""The budget of each round in mode tree, where the engine is to find it.

A smaller tree is the first nodes of a larger one, and by the drafter's own account a node is accepted with
the probability of its path. So one round tells what all smaller budgets could expect (arXiv 2606.01813): with
w_i the sum of log q along the path to node i, best first,

    E_b = Σ_{i < b} e^{w_i},    c = accepted / expected, as it was so far,

a round at budget b adds 1 + c E_b tokens to the text, and the best budget is that of the most per millisecond
as measured. E_b, c and the times are moving averages.

Of the next larger level a round tells what it might have gained, if path probabilities go on falling as
over its own last n nodes: from p to p r, with a mean of s p. The next n then gain n s p r, and those behind
r times that, so 2n nodes 2n p r s (1 + r) / 2. A text that becomes predictable is thus met with larger trees,
also where only small ones have been used for long.

Which levels are measured: those beside the best one, as long as they could be better; and rarely again, since
times grow with the text. How fast a level could be at best follows from the two beside it that are measured:
a node more costs the less, the fewer there are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from engine.events import Round

LEVELS = tuple(2**n for n in range(2, 11))
FIRST = 16
"""Where the search begins."""
WEIGHT = 0.1
"""Of the newest round in the averages."""
TRIALS = 2
"""Rounds that measure a level; of the first, which may be slow for other reasons, the faster one counts."""
AGAIN = 64
"""Rounds after which a level beside the best one is measured again."""
WORTHWHILE = 1.01
"""A level that could not be faster by this factor is not tried."""
LEAST = 1e-300
"""Probability of a path, so that it can be divided by."""
OUTLIER = 1.25
"""A round that took longer than so many times the average counts as so long."""


def total_ms(event: Round) -> float:
    return event.ms.total


@dataclass
class Level:
    """What is known of one budget.

    Attributes:
        gain: expected tokens that it adds to those of the level below.
        told: rounds that told of that.
        ms: of a round; None before one was measured.
        trials: rounds that measured it.
        chosen, measured: numbers of the rounds at which it was chosen and measured last.
    """

    gain: float = 0.0
    told: int = 0
    ms: float | None = None
    trials: int = 0
    chosen: int = 0
    measured: int = 0

    def gains(self, gain: float) -> None:
        """Take in what a round told of it."""
        self.gain = _moved(self.gain, gain, self.told)
        self.told += 1

    def measure(self, ms: float, now: int) -> None:
        """Take in the time of round ``now``; what was measured long ago is forgotten."""
        if self.ms is None or now - self.measured >= AGAIN:
            self.ms, self.trials = ms, 0
        elif self.trials < TRIALS:
            self.ms = min(self.ms, ms)
        else:
            self.ms += WEIGHT * (min(ms, OUTLIER * self.ms) - self.ms)
        self.trials += 1
        self.measured = now


@dataclass
class AutoBudget:
    """Chooses the budget of rounds, and learns from them.

    Args:
        levels: ascending budgets to choose among.
        milliseconds: of a round.
    """

    levels: Sequence[int] = LEVELS
    milliseconds: Callable[[Round], float] = total_ms
    _known: list[Level] = field(init=False)
    _rounds: int = field(init=False, default=0)
    _told: int = field(init=False, default=1)
    _accepted: float = field(init=False, default=1.0)
    _expected: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        self._known = [Level() for _ in self.levels]

    def choose(self, largest: int) -> int:
        """The budget for the next round, at most ``largest``."""
        count = sum(level <= largest for level in self.levels)
        if count == 0:
            return largest
        self._rounds += 1
        place = self._place(count)
        self._known[place].chosen = self._rounds
        return self.levels[place]

    def learn(self, event: Round) -> None:
        """Take in what a round of mode tree showed."""
        if not event.nodes.ids:  # no room for a draft: like no other round
            return
        weights: list[float] = []
        for parent, logprob in zip(event.nodes.parents, event.nodes.logprobs, strict=True):
            weights.append(logprob + (weights[parent] if parent >= 0 else 0.0))
        expected = list(accumulate(map(math.exp, weights)))
        below, total, p, share = 0, 0.0, 1.0, 1.0
        for level, known in zip(self.levels, self._known, strict=True):
            if level > event.budget:
                known.gains((level - below) * p * share)
                break
            last = min(level, len(expected)) - 1
            gain, fall = expected[last] - total, math.exp(weights[last]) / p
            known.gains(gain)
            if last + 1 < level:  # nothing was left to draft
                break
            share = gain / ((level - below) * p) * (1 + fall) / 2
            below, total, p = level, expected[last], max(p * fall, LEAST)
        self._accepted = _moved(self._accepted, len(event.accepted), self._told)
        self._expected = _moved(self._expected, expected[-1], self._told)
        self._told += 1
        if event.budget in self.levels:
            known = self._known[self.levels.index(event.budget)]
            known.measure(self.milliseconds(event), self._rounds)

    def tokens(self, place: int) -> float:
        """Expected tokens of a round at a level, the bonus token counted; of levels that no round told of as
        if they gained what the last one did."""
        total, gain = 0.0, 0.0
        for known in self._known[: place + 1]:
            gain = known.gain if known.told else gain
            total += gain
        return 1 + self._accepted / self._expected * total

    def _place(self, count: int) -> int:
        measured = [place for place in range(count) if self._known[place].ms is not None]
        if not measured:
            return min(range(count), key=lambda place: abs(math.log2(self.levels[place] / FIRST)))
        best = max(measured, key=self._rate)
        if self._known[best].trials < TRIALS:
            return best
        beside = [place for place in (best - 1, best + 1) if 0 <= place < count]
        for place in beside:
            if self._known[place].trials < TRIALS and self._could_be_better(place, best):
                return place
        stale = [place for place in beside if self._known[place].ms is not None]
        oldest = min(stale, key=lambda place: self._known[place].chosen, default=best)
        return oldest if self._rounds % AGAIN == 0 else best

    def _rate(self, place: int) -> float:
        """Tokens per millisecond."""
        ms = self._known[place].ms
        assert ms is not None
        return self.tokens(place) / max(ms, 1e-6)

    def _could_be_better(self, place: int, best: int) -> bool:
        return self.tokens(place) / self._least_ms(place, best) > WORTHWHILE * self._rate(best)

    def _least_ms(self, place: int, best: int) -> float:
        """What a round beside the best level takes at best: on the line through the times of the best level
        and of that on its other side. Where that is not measured, a larger tree takes no longer, and a
        smaller one so much less as it has nodes less."""
        ms, other = self._known[best].ms, 2 * best - place
        assert ms is not None
        least = ms * min(1.0, self.levels[place] / self.levels[best])
        beyond = self._known[other].ms if 0 <= other < len(self.levels) else None
        if beyond is None:
            return least
        slope = max(0.0, (beyond - ms) / (self.levels[other] - self.levels[best]))
        return max(least, ms + slope * (self.levels[place] - self.levels[best]))


def _moved(average: float, value: float, count: int) -> float:
    """The mean of the first values, then a moving average. ``count``: values so far."""
    return average + max(WEIGHT, 1 / (count + 1)) * (value - average)
