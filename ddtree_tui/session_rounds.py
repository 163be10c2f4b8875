"""The rounds of all answers of a session."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import overload

from ddtree_tui.answer import Answer
from engine.events import Round


class SessionRounds(Sequence[tuple[Answer, Round]]):
    """The rounds of all answers behind one another, each with its answer.

    To iterate unpacks every round: what needs all of them takes ``Answer.rounds.summaries`` instead.
    """

    def __init__(self, answers: list[Answer]) -> None:
        self._answers = answers

    def __len__(self) -> int:
        return self._answers[-1].first_round + len(self._answers[-1].rounds) if self._answers else 0

    def place(self, index: int) -> tuple[Answer, int]:
        """The answer a round is of, and its number there."""
        index = range(len(self))[index]
        answer = self._answers[bisect_right(self._answers, index, key=lambda a: a.first_round) - 1]
        return answer, index - answer.first_round

    @overload
    def __getitem__(self, index: int) -> tuple[Answer, Round]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Answer, Round]]: ...
    def __getitem__(self, index: int | slice) -> tuple[Answer, Round] | list[tuple[Answer, Round]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        answer, number = self.place(index)
        return answer, answer.rounds[number]
