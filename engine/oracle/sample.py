"""The oracle at a bounded cost: some stretches of some answers, chosen by a seed.

While an answer is decoded, caches are copied at a few rounds and again some rounds later. Behind it the
target alone reads the tokens in between, going on from the first copy, and must arrive at the second. What
was wrong before the first copy is not seen there, so that another comparison begins at the text's beginning
and ends wherever the time does, or in the live caches at the text's end. Answers take turns as the time
allows that they have earned together.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.events import Checked, Prefilled, Round
from engine.observer import Observation, Observer, Start
from engine.oracle.account import account_of
from engine.oracle.answer import Answer
from engine.oracle.held import Held
from engine.oracle.layers import LayerChecks
from engine.oracle.oracle import MOST_TOLD, check_supported
from engine.oracle.probe import take
from engine.oracle.replay import Stretch, replay
from engine.oracle.tolerance import Tolerance, known
from engine.oracle.verdicts import Verdicts
from engine.rounds import RoundResult
from engine.static.result import StaticResult

ROUNDS = 4
"""Of a stretch."""
APART = 8
"""Rounds between two stretches, on average."""
KEPT = 2
"""Stretches kept of an answer: copies of caches can be large."""


@dataclass(frozen=True)
class _Beginning:
    """The caches before the round from which a stretch begins."""

    length: int
    held: Held
    last_round: int


class SampleOracle(Observer):
    """Compares a part of an answer, at a twentieth of the run time over many answers."""

    def started(self, start: Start) -> Iterable[Observation]:
        check_supported(start.given)
        self._start = start
        self._account = account_of(start.given)
        self._answer = Answer()
        self._seconds = 0.0
        self._stretches: list[Stretch] = []
        self._seen = 0
        self._open: _Beginning | None = None
        self._random = random.Random(f"{start.settings.seed} {start.encoded.ids}")
        self._next = self._random.randrange(APART)
        return ()

    def prefilled(self, event: Prefilled) -> Iterable[Observation]:
        self._answer.begin(event)
        self._seconds = event.seconds
        fresh = max(1, len(event.prompt_ids) - event.cached)
        self._account.expect(event.seconds, event.seconds / fresh)
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterable[Observation]:
        self._answer.add(event)
        self._seconds += event.ms.total / 1000
        if isinstance(result, RoundResult) and self._account.credit >= 0:
            with self._account.spending():
                self._copy(event.index)
        return ()

    def _copy(self, number: int) -> None:
        """Begin or end a stretch, if this round is one of those chosen for it."""
        session, length = self._start.pair.session, self._answer.ends[-1]
        if self._open is not None and number >= self._open.last_round:
            prompt = len(self._answer.prompt)
            chosen = self._answer.choices[self._open.length + 1 - prompt : length + 1 - prompt]
            probe = take(session, length, [choice.round for choice in chosen], features=False)
            self._keep(Stretch(self._open.length, length, [probe], self._open.held))
            self._open = None
            self._next = number + 1 + self._random.randrange(2 * APART)
        elif self._open is None and number >= self._next:
            self._open = _Beginning(length, Held.copied(session.cache, length), number + ROUNDS)

    def _keep(self, stretch: Stretch) -> None:
        """Every stretch so far is kept with the same probability."""
        self._seen += 1
        if len(self._stretches) < KEPT:
            self._stretches.append(stretch)
        elif self._random.randrange(self._seen) < KEPT:
            self._stretches[self._random.randrange(KEPT)] = stretch

    def finished(self, output: list[int]) -> Iterator[Observation]:
        self._account.earn(self._seconds)
        if not self._answer.choices:
            return
        began = time.perf_counter()
        with self._account.spending():
            tolerance = known(self._start.given)
            if tolerance is not None:
                yield from self._compare(tolerance, began)
        if tolerance is None:
            yield self._unchecked(
                "How much rounding changes here is not measured yet. Check one answer in full first."
            )

    def _unchecked(self, reason: str) -> Checked:
        return Checked(
            oracle="sample",
            verdict="unchecked",
            positions=len(self._answer.choices),
            compared=0,
            ties=0,
            defects=0,
            noise=0.0,
            seconds=0.0,
            reason=reason,
        )

    def _compare(self, tolerance: Tolerance, began: float) -> Iterator[Observation]:
        target, answer = self._start.given.target, self._answer
        verdicts = Verdicts(tolerance.noise)
        layers = LayerChecks(target.layer_kinds, target.tapped, tolerance)
        stretches = [*self._stretches]
        self._random.shuffle(stretches)
        whole = self._from_the_beginning()
        if whole is not None:
            stretches.insert(self._random.randrange(len(stretches) + 1), whole)
        for stretch in stretches:
            tokens, before = stretch.end - stretch.begin, time.perf_counter()
            if self._account.price(tokens) > self._account.credit - (before - began):
                continue
            yield from replay(target, answer, stretch, verdicts, layers, self._start.control)
            self._account.measured(tokens, time.perf_counter() - before)
        if not verdicts.compared:
            yield self._unchecked("There was no time for it within a twentieth of the run time.")
            return
        yield from verdicts.divergences[:MOST_TOLD]
        seconds = time.perf_counter() - began
        yield verdicts.checked("sample", len(answer.choices), layers, seconds, sequential=False)

    def _from_the_beginning(self) -> Stretch | None:
        """As much of the text as there is time for; to its end, what the caches hold there is compared too.

        Half of the time that is not enough is saved for another answer.
        """
        answer, tokens = self._answer, self._account.affordable()
        end, prompt = len(answer.text) - 1, len(answer.prompt)
        if tokens < end:
            enough = tokens > prompt and self._random.random() < 0.5
            return Stretch(0, tokens, []) if enough else None
        rounds = [*[None] * prompt, *(choice.round for choice in answer.choices[1:])]
        return Stretch(0, end, [take(self._start.pair.session, end, rounds, features=False)])
