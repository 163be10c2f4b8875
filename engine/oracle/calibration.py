"""Measures how far the engine's kernels are from the target alone where nothing is wrong.

A few short texts are written by ``ar`` and run through the engine in passes of more rows, each the parent of
the next (``engine.kernel_noise``): no branches, so that a fault in how they are kept apart cannot pass for
noise. All of it is compared with the target alone.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator

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
from engine.target import Target

PROMPTS = (
    "Explain in a few sentences why the sky is blue.",
    "What is 127 + 385? Then name three prime numbers.",
    "Write a Python function that reverses a list, and say how fast it is.",
    "Nenne vier St\u00e4dte an der Elbe und schreibe einen kurzen Vers dazu.",
)
TOKENS = 96
BUDGET = 64
LEAD_MARGIN = 4.0
"""A few hundred positions are measured and many thousands are judged, so that the largest found is not the
largest there is: of the demo pair in bfloat16 on an H200 0.16 here, and 0.38 in 48,000 positions of other
answers."""
LAYER_MARGIN = 4.0
"""Errors of layers also grow with the length of a text."""
ANY_LAYER_MARGIN = 2.0
"""What happens to one layer in a short text happens to another in a longer one."""


def calibrate(pair: Pair, control: Control) -> Iterator[Checking]:
    """Measure a pair's tolerance and keep it, unless ``control`` is cancelled."""
    found = _Largest(max(EXACT.every, torch.finfo(pair.target.dtype).eps))
    for number, prompt in enumerate(PROMPTS):
        yield Checking(stage="Measuring rounding on this device", done=number, total=len(PROMPTS))
        if control.cancelled:
            return
        found.measure(pair, [{"role": "user", "content": prompt}])
    keep(pair, found.tolerance())


class _Alone:
    """What the target alone makes of a prompt and its answer.

    Args:
        step: tokens of the answer between two looks at the cache.

    Attributes:
        leads: of the answer's tokens but the first, each over all others.
        features: (prompt + answer - 1, layers · hidden).
        held: what the cache holds, by tokens of the answer in it.
    """

    def __init__(self, target: Target, prompt: list[int], ids: list[int], step: int) -> None:
        reference = Reference(target)
        features = [reference.read(prompt, 1).features]
        self.leads: list[float] = []
        self.held: dict[int, Held] = {}
        for begin in range(0, len(ids) - 1, step):
            piece = ids[begin : begin + step][: len(ids) - 1 - begin]
            reading = reference.read(piece)
            features.append(reading.features)
            self.leads += leads(reading.logits, ids[begin + 1 : begin + 1 + len(piece)])
            self.held[begin + len(piece)] = reference.held(reference.length)
        self.features = torch.cat(features)


class _Largest:
    """The largest change of a lead, and the largest errors by layer and what is compared.

    Args:
        floor: no error is smaller, as what is computed without any today may be rounded once tomorrow.
    """

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._lead = 0.0
        self._errors: dict[tuple[int, What], float] = {}

    def tolerance(self) -> Tolerance:
        largest: dict[What, float] = {}
        for (_, what), error in self._errors.items():
            largest[what] = max(largest.get(what, 0.0), error)
        layers = {
            f"{layer} {what}": max(self._floor, LAYER_MARGIN * error, ANY_LAYER_MARGIN * largest[what])
            for (layer, what), error in self._errors.items()
        }
        return Tolerance(
            noise=max(EXACT.noise, LEAD_MARGIN * self._lead),
            every=max([self._floor, *layers.values()]),
            layers=layers,
        )

    def measure(self, pair: Pair, messages: list[Message]) -> None:
        """Add one text, as far as there is room for it."""
        context = pair.target.context_length
        prompt = pair.codec.encode_chat(messages, False, context=context)
        tokens = min(TOKENS, context - len(prompt.ids))
        if tokens < 2:
            return
        own = _with_context(pair, len(prompt.ids) + tokens)
        _, answer = choices(generate(own, messages, mode="ar", max_new_tokens=tokens))
        ids = [choice.id for choice in answer]
        if len(ids) < 2:
            return
        block = pair.drafter.config.block_size if pair.drafter else 1
        nodes = bucket_of(BUDGET) if pair.on_device else BUDGET
        # A pass commits a row, or a block of them.
        alone = _Alone(pair.target, prompt.ids, ids, block)
        for rows in sorted({1, block, nodes + 1}):
            self._passes(own, prompt, ids, rows, alone)

    def _passes(self, pair: Pair, prompt: EncodedPrompt, ids: list[int], rows: int, alone: _Alone) -> None:
        found: list[float] = []

        def look(session: Session) -> None:
            if len(found) in alone.held:
                self._held(session, alone.held[len(found)])

        def ended(session: Session) -> None:
            look(session)
            self._features(pair, session, alone.features)

        for logits, chosen in passes(pair, prompt, ids, rows, ended):
            found += leads(logits, chosen)
            if not pair.on_device:  # there the caches are the session's at the end only
                look(pair.session)
        changes = [abs(lead - told) for lead, told in zip(found, alone.leads, strict=True)]
        self._lead = max([self._lead, *changes])

    def _held(self, session: Session, alone: Held) -> None:
        copied = Held.copied(session.cache, len(session.ids))
        for layer, (parts, told) in enumerate(zip(copied.layers, alone.layers, strict=True)):
            for what, part in parts.items():
                self._add(layer, what, part, told[what])

    def _features(self, pair: Pair, session: Session, alone: Tensor) -> None:
        taps, waiting = pair.target.tapped, session.waiting_features(len(alone))
        if taps and waiting is not None:
            pieces = zip(taps, waiting.chunk(len(taps), -1), alone.chunk(len(taps), -1), strict=True)
            for layer, part, told in pieces:
                self._add(layer, "features", part, told)

    def _add(self, layer: int, what: What, part: Tensor, alone: Tensor) -> None:
        errors = relative_errors(what, part, alone).tolist()
        self._errors[layer, what] = max([self._errors.get((layer, what), 0.0), *errors])


def _with_context(pair: Pair, context: int) -> Pair:
    """The same weights with caches of their own."""
    target = copy.copy(pair.target)
    target.context_length = context
    return dataclasses.replace(pair, target=target)
