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
in the lower half of the vocabulary at most ``DEEP`` of the time, one that knows nothing most of the time.

e begins anew whenever it falls below 1 (CUSUM), so that a fault in the middle of an answer is found as well
as one from the start; a false alarm at ``CERTAIN`` takes at least that many steps on average (Lorden 1971).
Depths depend on one another in a way that only helps the drafter: who was right so far is more likely right
again than its marginals say.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import Finding, Loaded, Round

TOLERATED = 0.5
REMAINS = 0.2
DEEP = 0.2
MOSTLY_DEEP = 0.8
CERTAIN = 1e5
"""Steps on average until a drafter that just keeps ``TOLERATED`` of its word is called wrong."""


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
        self._evidence = 0.0  # log e
        self._first = 0
        self._steps = self._kept = 0
        self._promised = 0.0
        self._certain = False
        self._vocabulary = 0
        self._misses = self._deep = 0

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        if isinstance(event, Loaded):
            self._vocabulary = event.vocab_size
        if not isinstance(event, Round) or self._certain:
            return
        for promised, kept in steps(event):
            if self._evidence <= 0:
                self._begin(event.index)
            self._steps += 1
            self._kept += kept
            self._promised += promised
            least = TOLERATED * promised
            self._evidence += log(REMAINS) if kept else log((1 - REMAINS * least) / (1 - least))
        if event.miss is not None and self._vocabulary:
            deep = event.miss.rank >= self._vocabulary / 2
            self._misses += 1
            self._deep += deep
            self._evidence += log(MOSTLY_DEEP / DEEP) if deep else log((1 - MOSTLY_DEEP) / (1 - DEEP))
        if self._evidence > log(CERTAIN):
            self._certain = True
            yield self._finding(event.index)

    def _begin(self, index: int) -> None:
        self._evidence, self._first = 0.0, index
        self._steps = self._kept = 0
        self._misses = self._deep = 0
        self._promised = 0.0

    def _finding(self, last: int) -> Finding:
        return found(
            "calibration",
            f"In rounds {self._first + 1} to {last + 1} the walk went on at {self._kept} of {self._steps} "
            f"nodes, where the drafter's probabilities promise {self._promised:.1f}, and {self._deep} of "
            f"{self._misses} tokens it missed stood in the lower half of its list; a drafter that keeps half "
            f"its word looks so bad once in {CERTAIN:,.0f} steps.",
            round=self._first,
            steps=self._steps,
            kept=self._kept,
            promised=round(self._promised, 2),
            misses=self._misses,
            deep=self._deep,
            tolerated=TOLERATED,
            log10_e=round(self._evidence / log(10), 2),
        )
