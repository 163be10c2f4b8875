"""What the oracle said of every round of a session. Pure, and as quick for many rounds as for few."""

from __future__ import annotations

from enum import IntEnum

from engine.events import Checked, Divergence


class Compared(IntEnum):
    """How a round stands against the target alone; of several rounds the highest counts."""

    NOT = 0
    IDENTICAL = 1
    TIE = 2
    DEFECT = 3


LANE: dict[Compared, str] = {
    Compared.NOT: "·",
    Compared.IDENTICAL: "=",
    Compared.TIE: "≈",
    Compared.DEFECT: "≠",
}
LANE_MEANINGS: dict[Compared, str] = {
    Compared.NOT: "not compared with the target alone",
    Compared.IDENTICAL: "the target alone writes the same",
    Compared.TIE: "another token, and rounding explains it",
    Compared.DEFECT: "not what the target alone writes or holds",
}


class ComparisonLane:
    """Attributes:
    known: whether any round was compared.
    revision: changes with every change.
    """

    def __init__(self) -> None:
        self.known = False
        self.revision = 0
        self._states = bytearray()

    def tell(self, first_round: int, rounds: int, checked: Checked, divergences: list[Divergence]) -> None:
        """Take in what was found of an answer whose ``rounds`` rounds begin at ``first_round``."""
        states = bytearray(rounds)

        def put(number: int | None, state: Compared) -> None:
            if number is not None and 0 <= number < rounds:
                states[number] = max(states[number], state)

        for first, last in checked.rounds:
            for number in range(max(0, first), min(last + 1, rounds)):
                put(number, Compared.IDENTICAL)
        for one in divergences:
            put(one.round, Compared.TIE if one.verdict == "tie" else Compared.DEFECT)
        put(checked.layer.round if checked.layer is not None else None, Compared.DEFECT)
        put(checked.gap_round, Compared.DEFECT)
        end = first_round + rounds
        self._states.extend(bytes(max(0, end - len(self._states))))
        self._states[first_round:end] = states
        self.known = self.known or any(states)
        self.revision += 1

    def state(self, first: int, end: int) -> Compared:
        """Of rounds ``first`` to ``end - 1``: the worst; ``IDENTICAL`` only where all were compared."""
        states = self._states[first:end]
        worst = Compared(max(states, default=0))
        if worst == Compared.IDENTICAL and (len(states) < end - first or min(states) == Compared.NOT):
            return Compared.NOT
        return worst
