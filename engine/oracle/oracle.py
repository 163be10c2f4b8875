"""The oracle as an observer of answers: what it copies while one is decoded, and what it says behind it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from engine.control import Control
from engine.errors import EngineError
from engine.events import Checked, Checking, Divergence, Prefilled, Round
from engine.observer import Observation, Observer, Start
from engine.oracle.answer import Answer
from engine.oracle.calibration import calibrate
from engine.oracle.layers import LayerChecks
from engine.oracle.probe import Probe, take
from engine.oracle.replay import PIECE, Stretch, replay
from engine.oracle.sequential import decode_again
from engine.oracle.tolerance import EXACT, known
from engine.oracle.verdicts import Verdicts
from engine.pair import Pair
from engine.rounds import RoundResult
from engine.static.result import StaticResult

MOST_TOLD = 64
"""Divergences told one by one; after a defect most of a text may be one."""
PROBE_BYTES = 2**30
"""Most bytes of copies: beyond, every other round's are given up and the rest stand further apart."""


class FullOracle(Observer):
    """Compares every position of an answer, and the caches after every round.

    Rounds on the device run ahead of their events, so that their caches are compared at the end only.
    """

    def started(self, start: Start) -> Iterable[Observation]:
        check_supported(start.given)
        self._start = start
        self._answer = Answer()
        self._probes: list[Probe] = []
        self._stride = 1
        return ()

    def prefilled(self, event: Prefilled) -> Iterable[Observation]:
        self._answer.begin(event)
        length = len(event.prompt_ids)
        self._probes.append(take(self._start.pair.session, length, [None] * length))
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterable[Observation]:
        answer = self._answer
        answer.add(event)
        if isinstance(result, RoundResult) and len(answer.ends) % self._stride == 0:
            length = answer.ends[-1]
            fresh = self._rounds_of(self._probes[-1].length, length)
            features = self._stride == 1
            self._probes.append(take(self._start.pair.session, length, fresh, features))
            self._thin()
        return ()

    def finished(self, output: list[int]) -> Iterable[Observation]:
        answer = self._answer
        if answer.choices:
            length = len(answer.text) - 1
            rounds = [*[None] * len(answer.prompt), *self._rounds_of(len(answer.prompt), length)]
            self._probes.append(take(self._start.pair.session, length, rounds, features=False))
            yield from compare_all(self._start.given, answer, self._probes, self._start.control)
        self._probes = []

    def _rounds_of(self, begin: int, end: int) -> list[int | None]:
        """Which round committed each row from ``begin`` on: that of the token after it."""
        prompt = len(self._answer.prompt)
        return [choice.round for choice in self._answer.choices[begin + 1 - prompt : end + 1 - prompt]]

    def _thin(self) -> None:
        if sum(probe.nbytes for probe in self._probes) > PROBE_BYTES:
            # Their rows of keys and values are compared at the end all the same.
            self._probes[1:] = self._probes[2::2]
            self._stride *= 2


def compare_all(
    pair: Pair,
    answer: Answer,
    probes: Sequence[Probe],
    control: Control,
    *,
    sequential: bool = False,
) -> Iterator[Checking | Divergence | Checked]:
    """Read a whole text with the target alone; the last event is ``checked``.

    Args:
        pair: as it was loaded.
        probes: what was copied on the way, in order.
        sequential: one token in a pass. Without it that is done as far as divergences have to be judged.
    """
    began = time.perf_counter()
    target = pair.target
    if known(pair) is None:
        yield from calibrate(pair, control)
    tolerance = known(pair) or EXACT  # not measured when cancelled, and then nothing is judged
    verdicts = Verdicts(tolerance.noise)
    layers = LayerChecks(target.layer_kinds, target.tapped, tolerance)
    stretch = Stretch(0, len(answer.text) - 1, probes, most=1 if sequential else PIECE)
    yield from replay(target, answer, stretch, verdicts, layers, control)
    if verdicts.divergences and not sequential:
        sequential = True
        yield from decode_again(target, answer, verdicts, control)
    yield from verdicts.divergences[:MOST_TOLD]
    seconds = time.perf_counter() - began
    checked = verdicts.checked("full", len(answer.choices), layers, seconds, sequential)
    if not checked.compared:
        checked = msgspec.structs.replace(checked, reason="It was cancelled.")
    yield checked


def check_supported(pair: Pair) -> None:
    """Raise ``EngineError("bad_setting")`` for a pair whose target the oracle cannot run alone."""
    if pair.target.ranks is not None:
        raise EngineError(
            "bad_setting",
            "The oracle needs the target in one process.",
            "Load it without --tp, or choose --oracle off.",
        )
