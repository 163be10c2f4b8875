"""Every number of the training recipe, in one place."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from engine.errors import EngineError
from engine.train.settings import TrainSettings


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the demo pair is made. Times are limits: a stage ends at its steps or its seconds, whichever comes
    first, and the learning rate has fallen to zero by then.

    Attributes:
        seed: of everything that is drawn.
        corpus_tokens: tokens of generated training conversations.
        max_length: longer conversations are left out of training.
        batch_tokens: tokens per optimizer step of the target, padding included.
        prompt_weight: loss weight of a prompt's token; a reply's is 1.
        compile_delta: compile the gated delta rule where the machine can.
        tap_layers: target layers whose outputs the drafter reads.
        reply_tokens, reply_seconds: how much of the target's own text the drafter is trained on.
        sampled_every: every so-manieth batch of replies is sampled (``sampled_temperature``), not greedy.
        blocks_per_row: drafter blocks trained per conversation and step.
        slot_decay: slot i of a block weighs exp(-(i - 1) / slot_decay) in the loss.
        heldout: questions per thinking mode that accuracy is measured on.
        traced: how many of those answers acceptance is measured along, per thinking mode.
    """

    seed: int = 17
    # data
    corpus_tokens: int = 100_000_000
    max_length: int = 384
    # target
    hidden_size: int = 384
    intermediate_size: int = 896
    layers: int = 12
    attention_heads: int = 6
    key_value_heads: int = 2
    head_dim: int = 64
    delta_key_heads: int = 3
    delta_value_heads: int = 6
    delta_head_dim: int = 64
    max_position_embeddings: int = 4096
    rope_theta: float = 10_000.0
    target_steps: int = 6000
    target_seconds: float = 480.0
    batch_tokens: int = 32_768
    target_rate: float = 1.5e-3
    prompt_weight: float = 0.05
    compile_delta: bool = True
    # the target's own replies
    reply_tokens: int = 5_000_000
    reply_seconds: float = 100.0
    reply_batch: int = 3072
    reply_limit: int = 400
    sampled_every: int = 5
    sampled_temperature: float = 0.7
    # drafter
    block_size: int = 16
    tap_layers: tuple[int, ...] = (1, 6, 10)
    drafter_layers: int = 3
    drafter_intermediate_size: int = 768
    drafter_steps: int = 6000
    drafter_seconds: float = 200.0
    drafter_batch_tokens: int = 16_384
    drafter_rate: float = 1.5e-3
    blocks_per_row: int = 24
    slot_decay: float = 7.0
    # both
    weight_decay: float = 0.05
    warmup_steps: int = 100
    clip: float = 1.0
    checkpoint_seconds: float = 60.0
    # report
    heldout: int = 1000
    traced: int = 200
    budgets: tuple[int, ...] = (16, 64, 256)
    shard_megabytes: int = 14

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(dataclasses.asdict(self), indent=1) + "\n", encoding="utf-8")

    def changed(self, **changes: object) -> Recipe:
        """A copy with the values that are not None put in.

        Raises:
            EngineError: ``bad_setting`` for a value below its least.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        for name, value in given.items():
            if isinstance(value, int | float) and value < 0:
                raise EngineError("bad_setting", f"The {name} cannot be {value}.", "Give a positive number.")
        return dataclasses.replace(self, **given)  # type: ignore[arg-type]


def drafter_settings(recipe: Recipe) -> TrainSettings:
    """How the drafter is trained by a recipe. Rows may be longer than the corpus' by what a reply grew."""
    return TrainSettings(
        seed=recipe.seed + 1,
        steps=recipe.drafter_steps,
        seconds=recipe.drafter_seconds,
        batch_tokens=recipe.drafter_batch_tokens,
        max_length=recipe.max_length + 128,
        rate=recipe.drafter_rate,
        weight_decay=recipe.weight_decay,
        warmup_steps=recipe.warmup_steps,
        clip=recipe.clip,
        blocks_per_row=recipe.blocks_per_row,
        slot_decay=recipe.slot_decay,
        checkpoint_seconds=recipe.checkpoint_seconds,
    )


TINY = Recipe(
    corpus_tokens=20_000,
    max_length=384,
    hidden_size=64,
    intermediate_size=96,
    layers=4,
    attention_heads=2,
    key_value_heads=1,
    head_dim=32,
    delta_key_heads=1,
    delta_value_heads=2,
    delta_head_dim=32,
    target_steps=6,
    target_seconds=30.0,
    batch_tokens=1024,
    compile_delta=False,
    reply_tokens=600,
    reply_seconds=15.0,
    reply_batch=16,
    reply_limit=24,
    sampled_every=2,
    tap_layers=(0, 2),
    drafter_layers=2,
    drafter_intermediate_size=96,
    drafter_steps=4,
    drafter_seconds=15.0,
    drafter_batch_tokens=512,
    blocks_per_row=4,
    warmup_steps=2,
    heldout=6,
    traced=2,
    budgets=(4, 16),
)
"""A recipe that trains nothing useful but goes through every step in well under two minutes on a CPU."""
