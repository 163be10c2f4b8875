"""Detectors as observers of an answer. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from engine.causes import NOT_CHECKED
from engine.detectors.found import given_up
from engine.detectors.from_events import Detectors
from engine.events import Finding, Prefilled, Round
from engine.observer import Observation, Observer, Start

if TYPE_CHECKING:
    from engine.codec import Codec
    from engine.errors import EngineError
    from engine.rounds import RoundResult
    from engine.static.result import StaticResult


class Together(Observer):
    """Several observers as one, which names every cause once an answer: where it shows first.

    One that fails is asked no more: the answer goes on without it, and a finding says so.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = [*observers]
        self._named: set[str] = set()

    def started(self, start: Start) -> list[Observation]:
        return self._ask(lambda each: each.started(start))

    def prefilled(self, event: Prefilled) -> list[Observation]:
        return self._ask(lambda each: each.prefilled(event))

    def round(self, event: Round, result: RoundResult | StaticResult) -> list[Observation]:
        return self._ask(lambda each: each.round(event, result))

    def ending(self, output: list[int]) -> list[Observation]:
        return self._ask(lambda each: each.ending(output))

    def failed(self, error: EngineError) -> list[Observation]:
        return self._ask(lambda each: each.failed(error))

    def finished(self, output: list[int]) -> list[Observation]:
        return self._ask(lambda each: each.finished(output))

    def _ask(self, question: Callable[[Observer], Iterable[Observation]]) -> list[Observation]:
        answers: list[Observation] = []
        for each in [*self._observers]:
            try:
                answers += self._new(question(each))
            except Exception:
                answers.append(given_up(each))
                self._observers.remove(each)
        return answers

    def _new(self, observations: Iterable[Observation]) -> Iterator[Observation]:
        for observation in observations:
            if isinstance(observation, Finding) and observation.cause != NOT_CHECKED:
                if observation.cause in self._named:
                    continue
                self._named.add(observation.cause)
            yield observation


class FromEvents(Observer):
    """What the events of the answer tell by themselves."""

    def __init__(self) -> None:
        self._detectors = Detectors()
        self._codec: Codec | None = None
        self._spelled: set[int] = set()

    def started(self, start: Start) -> Iterator[Observation]:
        self._codec = start.pair.codec
        yield from self._detectors.take(start.pair.info)

    def prefilled(self, event: Prefilled) -> Iterator[Observation]:
        # Of a prompt's tokens nobody asks more than whether the first ones are control tokens.
        yield from self._spell([*event.prompt_ids[:2], event.first_id])
        yield from self._detectors.take(event)

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Observation]:
        yield from self._spell(event.committed_ids)
        yield from self._detectors.take(event)

    def ending(self, output: list[int]) -> Iterator[Observation]:
        yield from self._detectors.end()

    def _spell(self, ids: Sequence[int]) -> Iterator[Observation]:
        assert self._codec is not None
        if new := set(ids) - self._spelled:
            self._spelled |= new
            yield from self._detectors.take(self._codec.tokens_event(sorted(new)))
