"""Measures how far the engine's kernels are from the target alone where nothing is wrong.

A few short texts are written by ``ar`` and run through the engine in passes of more rows, each the parent of
the next (``engine.kernel_noise``): no branches, so that a fault in how they are kept apart cannot pass for
noise. All of it is compared with the target alone.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from engine.codec import EncodedPrompt
from engine.control import Control
from engine.decode import generate
from engine.divergence import choices
from engine.events import Checking
from engine.kernel_noise import leads, passes
from engine.oracle.held import Held, What, relative_errors
from engine.oracle.reference import Reference
from engine.oracle.tolerance import EXACT, Tolerance, keep
from engine.pair import Pair
from engine.session import Session
from engine.settings import Message
from engine.static.runner import bucket_of

PROMPTS = (
    "Explain in a few sentences why the sky is blue.",
    "What is 127 + 385? Then name three prime numbers.",
    "Write a Python function that reverses a list, and say how fast it is.",
    "Nenne vier St\u00e4dte an der Elbe und schreibe einen kurzen Vers dazu.",
)
TOKENS = 96
BUDGET = 64
LEAD_MARGIN = 2.0
"""A few hundred positions are measured and many thousands are judged, so that the largest found is not the
largest there is."""
LAYER_MARGIN = 4.0
"""Errors of layers also grow with the length of a text."""


def calibrate(pair: Pair, control: Control) -> Iterator[Checking]:
    """Measure a pair's tolerance and keep it, unless ``control`` is cancelled."""
    found = _Largest(max(EXACT.every, torch.finfo(pair.target.dtype).eps))
    for number, prompt in enumerate(PROMPTS):
        yield Checking(stage="Measuring rounding on this device", done=number, total=len(PROMPTS))
        if control.cancelled:
            return
        found.measure(pair, [{"role": "user", "content": prompt}])
    keep(pair, found.tolerance())


class _Largest:
    """The largest change of a lead, and the largest errors by layer and what is compared.

    Args:
        floor: no error is smaller, as what is computed without any today may be rounded once tomorrow.
    """

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._lead = 0.0
        self._errors: dict[str, float] = {}

    def tolerance(self) -> Tolerance:
        return Tolerance(
            noise=max(EXACT.noise, LEAD_MARGIN * self._lead),
            every=max([self._floor, *(LAYER_MARGIN * error for error in self._errors.values())]),
            layers={key: max(self._floor, LAYER_MARGIN * error) for key, error in self._errors.items()},
        )

    def measure(self, pair: Pair, messages: list[Message]) -> None:
        context = pair.target.context_length
        prompt = pair.codec.encode_chat(messages, False, context=context)
        room = min(context, len(prompt.ids) + TOKENS)
        if room - len(prompt.ids) < 2:
            return
        alone = _with_context(pair, room)
        written = generate(alone, messages, mode="ar", max_new_tokens=room - len(prompt.ids))
        _, answer = choices(written)
        ids = [choice.id for choice in answer]
        if len(ids) < 2:
            return
        reference = Reference(pair.target)
        reading = reference.read([*prompt.ids, *ids[:-1]], len(ids) - 1)
        expected = leads(reading.logits, ids[1:])
        held = reference.held(reference.length)
        block = pair.drafter.config.block_size if pair.drafter else 1
        nodes = bucket_of(BUDGET) if pair.on_device else BUDGET
        for rows in sorted({1, block, nodes + 1}):
            self._passes(alone, prompt, ids, rows, expected, held, reading.features)

    def _passes(
        self,
        pair: Pair,
        prompt: EncodedPrompt,
        ids: list[int],
        rows: int,
        expected: Sequence[float],
        held: Held,
        features: Tensor,
    ) -> None:
        def ended(session: Session) -> None:
            copied = Held.copied(session.cache, len(session.ids))
            for layer, (parts, alone) in enumerate(zip(copied.layers, held.layers, strict=True)):
                for what, part in parts.items():
                    self._add(layer, what, part, alone[what])
            waiting = session.waiting_features(len(features))
            taps = pair.target.tapped
            if taps and waiting is not None and len(waiting):
                pieces = zip(taps, waiting.chunk(len(taps), -1), features.chunk(len(taps), -1), strict=True)
                for layer, part, told in pieces:
                    self._add(layer, "features", part, told)

        found: list[float] = []
        for logits, chosen in passes(pair, prompt, ids, rows, ended):
            found += leads(logits, chosen)
        changes = [abs(lead - told) for lead, told in zip(found, expected, strict=True)]
        self._lead = max([self._lead, *changes])

    def _add(self, layer: int, what: What, part: Tensor, alone: Tensor) -> None:
        errors = relative_errors(what, part, alone)
        key = f"{layer} {what}"
        self._errors[key] = max([self._errors.get(key, 0.0), *errors.tolist()])


def _with_context(pair: Pair, context: int) -> Pair:
    """The same weights with caches of their own."""
    target = copy.copy(pair.target)
    target.context_length = context
    return dataclasses.replace(pair, target=target)
