"""What is known of an answer's tokens so far, and the ``checked`` event that says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from engine.events import Checked, Divergence
from engine.oracle.judge import Judged
from engine.oracle.layers import LayerChecks
from engine.settings import Oracle


@dataclass
class Verdicts:
    """Gathers judged tokens.

    Attributes:
        noise: see ``engine.oracle.judge.judge``.
        compared: positions of the tokens so far.
        divergences: where the target alone writes another token, in order.
        gap_change: the largest, see ``Judged.gap_change``.
        gap_round: the first in which one is above ``noise``.
        rounds: numbers of the rounds whose tokens were compared.
    """

    noise: float
    compared: set[int] = field(default_factory=set)
    divergences: list[Divergence] = field(default_factory=list)
    gap_change: float = 0.0
    gap_round: int | None = None
    rounds: set[int] = field(default_factory=set)

    def add(self, judged: Iterable[Judged]) -> None:
        """Take in tokens that were not judged before."""
        for one in judged:
            choice = one.choice
            if one.position in self.compared:
                continue
            self.compared.add(one.position)
            if choice.round is not None:
                self.rounds.add(choice.round)
            if one.verdict is not None:
                divergence = Divergence(
                    round=choice.round,
                    node=choice.node,
                    position=one.position,
                    id=choice.id,
                    target_id=one.target_id,
                    gap=one.gap,
                    verdict=one.verdict,
                )
                self.divergences.append(divergence)
            elif one.gap_change is not None:
                self.gap_change = max(self.gap_change, one.gap_change)
                if one.gap_change > self.noise and (
                    self.gap_round is None or (choice.round or 0) < self.gap_round
                ):
                    self.gap_round = choice.round
        self.divergences.sort(key=lambda one: one.position)

    def undecided(self, place: int) -> None:
        """The target alone also writes the token of that divergence: it is a tie."""
        self.divergences[place] = msgspec.structs.replace(self.divergences[place], verdict="tie")

    def checked(
        self, oracle: Oracle, positions: int, layers: LayerChecks, seconds: float, sequential: bool
    ) -> Checked:
        """The result."""
        assert oracle != "off"
        ties = sum(one.verdict == "tie" for one in self.divergences)
        defects = len(self.divergences) - ties
        wrong = defects or layers.first is not None or self.gap_round is not None
        first = next((one for one in self.divergences if one.verdict == "defect"), None)
        return Checked(
            oracle=oracle,
            verdict="defect" if wrong else "ties" if ties else "identical" if self.compared else "unchecked",
            positions=positions,
            compared=len(self.compared),
            ties=ties,
            defects=defects,
            noise=self.noise,
            seconds=seconds,
            first=first or next(iter(self.divergences), None),
            layer=layers.first,
            layers=layers.count,
            drift=layers.drift,
            sequential=sequential,
            gap_change=self.gap_change,
            gap_round=self.gap_round,
            rounds=_runs(sorted(self.rounds)),
        )


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of every run of consecutive numbers."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
