"""Reads a stretch of an answer's text with the target alone, and compares it with what the run saw there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.control import Control
from engine.events import Checking
from engine.oracle.answer import Answer
from engine.oracle.held import Held
from engine.oracle.judge import judge
from engine.oracle.layers import LayerChecks
from engine.oracle.probe import Probe
from engine.oracle.reference import Reference
from engine.oracle.verdicts import Verdicts
from engine.target import Target

PIECE = 256
"""Most tokens of the answer in a pass: every one of them has a row of logits."""
REPORT_SECONDS = 0.25


@dataclass(frozen=True)
class Stretch:
    """A part of the text, read in passes that end where there are probes.

    Attributes:
        begin, end: it reads the tokens of the text from ``begin`` up to ``end``, which is not read.
        held: what the live caches held at ``begin``; None for the text's beginning.
        probes: taken within it, in order.
        most: tokens of the answer in a pass.
    """

    begin: int
    end: int
    probes: Sequence[Probe]
    held: Held | None = None
    most: int = PIECE

    def passes(self, prompt: int) -> Iterator[tuple[int, int]]:
        """Where each pass begins and ends."""
        borders = {prompt, self.end, *(probe.length for probe in self.probes)}
        begin = self.begin
        for border in sorted(border for border in borders if self.begin < border <= self.end):
            while border - begin > self.most and begin >= prompt:
                yield begin, begin + self.most
                begin += self.most
            yield begin, border
            begin = border


def replay(
    target: Target,
    answer: Answer,
    stretch: Stretch,
    verdicts: Verdicts,
    layers: LayerChecks,
    control: Control,
) -> Iterator[Checking]:
    """Compare a stretch, into ``verdicts`` and ``layers``; ends early when ``control`` is cancelled."""
    reference = Reference(target, stretch.held, stretch.begin)
    text, prompt, told = answer.text, len(answer.prompt), time.perf_counter()
    for begin, end in stretch.passes(prompt):
        if control.cancelled:
            return
        # The row of a token chooses the next one: the prompt's last chooses the answer's first.
        chosen = answer.choices[max(0, begin + 1 - prompt) : max(0, end + 1 - prompt)]
        reading = reference.read(text[begin:end], max(1, len(chosen)))
        if chosen:
            position = end + 1 - len(chosen)
            verdicts.add(judge(reading.logits, position, chosen, answer.sampler, verdicts.noise))
        for probe in stretch.probes:
            if probe.length == end:
                layers.held(probe.rounds, probe.held, reference.held(len(probe.rounds)))
                if probe.features is not None:
                    layers.features(probe.rounds, probe.features, reading.features)
        if time.perf_counter() - told > REPORT_SECONDS:
            told = time.perf_counter()
            total = stretch.end - stretch.begin
            yield Checking(stage="Reading the answer", done=end - stretch.begin, total=total)
