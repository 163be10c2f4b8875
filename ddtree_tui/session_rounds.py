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

    def answer_name(self, answer: Answer) -> str:
        """Which of the answers it is, as ``answer 2``; nothing where there is one alone."""
        number = next(number for number, one in enumerate(self._answers, 1) if one is answer)
        return f"answer {number}" if len(self._answers) > 1 else ""

    def round_name(self, answer: Answer, number: int) -> str:
        """What round ``number`` of an answer, from 0, is called: ``round 3``, or ``answer 2, round 3``."""
        named = self.answer_name(answer)
        return f"{named}, round {number + 1}" if named else f"round {number + 1}"

    @overload
    def __getitem__(self, index: int) -> tuple[Answer, Round]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[Answer, Round]]: ...
    def __getitem__(self, index: int | slice) -> tuple[Answer, Round] | list[tuple[Answer, Round]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        answer, number = self.place(index)
        return answer, answer.rounds[number]
