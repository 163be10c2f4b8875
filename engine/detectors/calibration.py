"""Whether far fewer tokens are accepted than the drafter's own probabilities promise. Imports no torch.

At every node that a round's walk reaches, the drafter promises s = Σ q_d(child), the probability that the
text goes on with one of the node's children; X says whether it did. A drafter that is no worse than
``TOLERATED`` times its word has P(X = 1 | all before) ≥ c s. Against that stands the alternative that it
keeps r of that, so that each step multiplies

    e ← e · { r               if X = 1
            { (1 - r c s) / (1 - c s)   if X = 0

which has expectation ≤ 1 as long as the word is kept, whatever the steps depend on: e is a supermartingale
(Ville's inequality; Ramdas et al., arXiv 2210.01948). Where a path ends at a token that the drafter had
further down its list, its rank tells more in the same way: a drafter that merely suits the text badly has it
in the lower half of the vocabulary at most ``DEEP`` of the time, one that knows nothing most of the time. As
a drafter can also be wrong and near, e is taken with the ranks and without.

e begins anew whenever it falls below 1 (CUSUM), so that a fault in the middle of an answer is found as well
as one from the start; a false alarm at ``CERTAIN`` takes at least that many steps on average (Lorden 1971).
An answer may be too short for that. Of a whole one, whose e has never begun anew, e reaches ``LIKELY`` at its
end by chance once in as many answers, which is worth a warning.
Depths depend on one another in a way that only helps the drafter: who was right so far is more likely right
again than its marginals say. Above temperature 1 the target is asked for less likely tokens than it was when
the drafter learnt from it: nothing was promised then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log
from typing import Literal

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import Finding, Loaded, Prefilled, Round

TOLERATED = 0.5
REMAINS = 0.2
DEEP = 0.2
MOSTLY_DEEP = 0.8
CERTAIN = 1e5
"""Steps on average until a drafter that just keeps ``TOLERATED`` of its word is called wrong."""
LIKELY = 1e3
"""Answers among which one of such a drafter is warned of at its end."""


def steps(round_: Round) -> list[tuple[float, bool]]:
    """What the drafter promised at each node the walk reached, and whether it came true.

    Where the end of the text cut the path nobody knows how it would have gone on: no step. Nor is there one
    below a leaf. Where the drafter's probabilities are unknown, as in imports, it has promised nothing.
    """
    nodes, accepted = round_.nodes, round_.accepted
    if not nodes.logprobs:
        return []
    promised = dict.fromkeys((-1, *accepted), 0.0)
    for parent, logprob in zip(nodes.parents, nodes.logprobs, strict=True):
        if parent in promised:
            promised[parent] += exp(min(0.0, logprob))
    taken = [(min(1.0, promised[node]), True) for node in (-1, *accepted[:-1])] if accepted else []
    last = promised[accepted[-1] if accepted else -1]
    if last > 0 and round_.bonus_id is not None:
        taken.append((min(1.0, last), False))
    return taken


class Calibration(Detector):
    """One answer's promises."""

    def __init__(self) -> None:
        self._vocabulary = 0
        self._evidence = [_Evidence(ranks=False), _Evidence(ranks=True)]
        self._certain = False
        self._bound = True
        self._last = 0

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        if isinstance(event, Loaded):
            self._vocabulary = event.vocab_size
        if isinstance(event, Prefilled):
            self._bound = event.settings.temperature <= 1
        if not isinstance(event, Round) or self._certain or not self._bound:
            return
        taken = steps(event)
        deep = None
        if event.miss is not None and self._vocabulary:
            deep = event.miss.rank >= self._vocabulary / 2
        self._last = event.index
        for evidence in self._evidence:
            evidence.add(event.index, taken, deep)
            if not self._certain and evidence.log_e > log(CERTAIN * len(self._evidence)):
                self._certain = True
                yield evidence.finding(event.index, f"{CERTAIN:,.0f} steps")

    def end(self) -> Iterator[Finding]:
        for evidence in self._evidence:
            if not self._certain and evidence.of_all and evidence.log_e > log(LIKELY * len(self._evidence)):
                self._certain = True
                yield evidence.finding(self._last, f"{LIKELY:,.0f} answers", severity="warning")


class _Evidence:
    """log e, and what has been counted since it was last 0. ``ranks``: also by those of the missed tokens."""

    def __init__(self, *, ranks: bool) -> None:
        self._ranks = ranks
        self.log_e = 0.0
        self._begins = 0
        self._begin(0)

    @property
    def of_all(self) -> bool:
        """Whether it is that of all steps so far."""
        return self._begins <= 2  # at first, and at the first step

    def _begin(self, index: int) -> None:
        self._begins += 1
        self._first = index
        self._steps = self._kept = self._misses = self._deep = 0
        self._promised = 0.0

    def add(self, index: int, taken: Sequence[tuple[float, bool]], deep: bool | None) -> None:
        """Count a round. ``deep``: whether the token it missed was in the lower half of the list."""
        for promised, kept in taken:
            if self.log_e <= 0:
                self.log_e = 0.0
                self._begin(index)
            self._steps += 1
            self._kept += kept
            self._promised += promised
            least = TOLERATED * promised
            self.log_e += log(REMAINS) if kept else log((1 - REMAINS * least) / (1 - least))
        if deep is not None:
            self._misses += 1
            self._deep += deep
            if self._ranks:
                self.log_e += log(MOSTLY_DEEP / DEEP) if deep else log((1 - MOSTLY_DEEP) / (1 - DEEP))

    def finding(
        self, last: int, once_in: str, *, severity: Literal["warning", "defect"] = "defect"
    ) -> Finding:
        return found(
            "calibration",
            f"In rounds {self._first + 1} to {last + 1} the walk went on at {self._kept} of {self._steps} "
            f"nodes, where the drafter's probabilities promise {self._promised:.1f}, and {self._deep} of "
            f"{self._misses} tokens it missed stood in the lower half of its list; a drafter that keeps half "
            f"its word looks so bad once in {once_in}.",
            severity=severity,
            round=self._first,
            steps=self._steps,
            kept=self._kept,
            promised=round(self._promised, 2),
            misses=self._misses,
            deep=self._deep,
            tolerated=TOLERATED,
            log10_e=round(self.log_e / log(10), 2),
        )
