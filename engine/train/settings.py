"""Every number of a drafter's training."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, kw_only=True)
class TrainSettings:
    """How a drafter is trained. The run ends at its steps or its seconds, whichever comes first, and the
    learning rate has fallen to zero by then.

    Attributes:
        seed: of weights, batches and roots.
        steps, seconds: the limits, infinite for none.
        batch_tokens: tokens per optimizer step, padding included.
        max_length: longer conversations are left out; None leaves out what is longer than a batch.
        rate: peak learning rate.
        warmup_steps: over which the rate rises.
        clip: of the gradient's norm.
        blocks_per_row: drafter blocks trained per conversation and step.
        slot_decay: slot i of a block weighs exp(-(i - 1) / slot_decay) in the loss.
        curve_steps: steps between two points of the curves.
        checkpoint_seconds: between two checkpoints.
    """

    seed: int = 17
    steps: float = inf
    seconds: float = inf
    batch_tokens: int = 16_384
    max_length: int | None = None
    rate: float = 1.5e-3
    weight_decay: float = 0.05
    warmup_steps: int = 100
    clip: float = 1.0
    blocks_per_row: int = 24
    slot_decay: float = 7.0
    curve_steps: int = 100
    checkpoint_seconds: float = 60.0

    @property
    def longest(self) -> int:
        """Tokens of the longest conversation that is trained on."""
        return self.batch_tokens if self.max_length is None else min(self.max_length, self.batch_tokens)
