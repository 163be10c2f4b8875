"""Everything a training run is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.quantization import has_experts
from engine.train.answers import AnswerSettings
from engine.train.drafter_shape import DrafterShape, spread_taps
from engine.train.settings import TrainSettings


@dataclass(frozen=True, kw_only=True)
class ShapeWish:
    """A drafter's sizes; None takes what suits the target."""

    layers: int = 5
    intermediate_size: int | None = None
    heads: int | None = None
    key_value_heads: int | None = None
    head_dim: int | None = None
    block_size: int = 16
    taps: tuple[int, ...] | int = 5

    def fitted(self, config: Any) -> DrafterShape:
        """For a target: its heads and the width of its MLP unless said otherwise, taps spread over it.

        Args:
            config: the target's text config.

        Raises:
            EngineError: ``bad_setting`` for sizes that no drafter of this target can have.
        """
        heads = self.heads or int(config.num_attention_heads)
        kv_heads = self.key_value_heads or (int(config.num_key_value_heads) if self.heads is None else heads)
        own_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        layers = int(config.num_hidden_layers)
        taps = self.taps if isinstance(self.taps, tuple) else spread_taps(self.taps, layers)
        if not taps or max(taps) >= layers or min(taps) < 0:
            raise _bad(
                f"The taps {taps} are not all layers of this target.", f"It has layers 0 to {layers - 1}."
            )
        if heads % kv_heads:
            raise _bad(
                f"{kv_heads} key/value heads do not divide {heads} heads.",
                "Choose another --key-value-heads.",
            )
        return DrafterShape(
            layers=self.layers,
            intermediate_size=self.intermediate_size or _mlp_width(config),
            heads=heads,
            key_value_heads=kv_heads,
            head_dim=self.head_dim or int(own_dim),
            block_size=self.block_size,
            taps=taps,
        )


def _mlp_width(config: object) -> int:
    """The target's; three times its hidden size where it has experts, whose width means something else."""
    if has_experts(config):
        return 3 * int(getattr(config, "hidden_size"))  # noqa: B009 - any config class
    return int(getattr(config, "intermediate_size"))  # noqa: B009


@dataclass(frozen=True, kw_only=True)
class TrainPlan:
    """What to train on which target, and where to write it.

    Attributes:
        prompts: sources of the prompts to train on, as ``read_prompts`` takes them.
        measure: sources of prompts that are only measured on; empty holds out some of ``prompts``.
        heldout: how many prompts are held out for the curves, and for measuring without ``measure``.
        per_source: prompts measured per source of ``measure``, at most.
        thinking: the modes answered in.
        mask_token_id: None chooses one.
        budgets: trees whose acceptance is measured.
        timed: answers that every mode's speed is measured on.
        workers: processes that walk trees.
    """

    target: str
    prompts: tuple[str, ...]
    out: Path
    measure: tuple[str, ...] = ()
    heldout: int = 64
    per_source: int = 100
    thinking: tuple[bool, ...] = (False,)
    device: str = "auto"
    dtype: str = "auto"
    mask_token_id: int | None = None
    shape: ShapeWish = field(default_factory=ShapeWish)
    answers: AnswerSettings = field(default_factory=AnswerSettings)
    rows: int | None = None
    training: TrainSettings = field(default_factory=TrainSettings)
    budgets: tuple[int, ...] = (16, 64)
    timed: int = 8
    workers: int = 1

    def __post_init__(self) -> None:
        if self.training.steps == inf and self.training.seconds == inf:
            raise _bad("The training has no end.", "Give --minutes or --steps.")


def _bad(message: str, hint: str) -> EngineError:
    return EngineError("bad_setting", message, hint)
