"""Trains the drafter on a frozen target: cross-entropy of each slot's token, near slots weighing most.

Every conversation of a batch gives many blocks in one pass: roots are drawn among the reply's tokens, each
block sees the target's features before its root, and slot i is to name the token i places behind the root.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import Qwen3_5ForCausalLM

from engine.demo.batches import Batch, batches
from engine.demo.corpus import Corpus
from engine.demo.delta import training_delta_rule
from engine.demo.export import embedding_matrix
from engine.demo.progress import Progress
from engine.demo.recipe import Recipe
from engine.demo.train_state import save_state
from engine.demo.train_target import adamw, optimize, parameters, progress_facts, resume
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig


def train_drafter(
    target: Qwen3_5ForCausalLM,
    data: Corpus,
    recipe: Recipe,
    config: dict[str, Any],
    *,
    pad_id: int,
    state: Path,
    device: torch.device,
) -> tuple[Drafter, dict[str, Any]]:
    """Train until the recipe's steps or seconds are over, from ``state`` if that file is there.

    Args:
        target: frozen, on ``device``.
        config: the drafter's ``config.json``.
    """
    torch.manual_seed(recipe.seed + 1)
    torch.set_float32_matmul_precision("high")
    drafter = new_drafter(config).to(device).train()
    optimizer = adamw(drafter, recipe.drafter_rate, recipe.weight_decay, device)
    schedule, facts = resume(
        state, drafter, optimizer, recipe.drafter_steps, recipe.drafter_seconds, recipe.warmup_steps
    )
    source = batches(
        data,
        tokens=recipe.drafter_batch_tokens,
        pad_id=pad_id,
        seed=recipe.seed + 1,
        skip=schedule.step,
        max_length=recipe.max_length + 128,
    )
    draws = torch.Generator(device="cpu").manual_seed(recipe.seed + schedule.step)
    progress, saved = Progress("drafter"), schedule.elapsed
    tokens, real = facts.get("tokens", 0), facts.get("real_tokens", 0)
    shown, losses = (0.0, 0.0), list[Tensor]()
    print(f"drafter  {parameters(drafter):,} parameters, step {schedule.step}", flush=True)
    with training_delta_rule(device):
        while not schedule.over:
            batch = next(source)
            roots = draw_roots(batch, recipe.blocks_per_row, draws)
            tokens, real = tokens + batch.ids.numel(), real + int(batch.real.sum())
            loss, first = block_loss(target, drafter, batch.to(device), roots.to(device), recipe.slot_decay)
            optimize(optimizer, drafter, loss, recipe.clip, schedule.factor())
            losses.append(torch.stack([loss.detach(), first]))
            schedule.step += 1
            if len(losses) == 20 or schedule.over:
                mean = torch.stack(losses).mean(0).tolist()
                shown = (mean[0], mean[1])
                losses.clear()
                progress.update(
                    schedule.fraction,
                    f"step {schedule.step}  loss {shown[0]:.4f}  chain {shown[1]:.2f} tokens a round",
                )
            if schedule.elapsed - saved > recipe.checkpoint_seconds:
                saved = schedule.elapsed
                save_state(state, drafter, optimizer, progress_facts(schedule, tokens, real))
    facts = {
        **progress_facts(schedule, tokens, real),
        "parameters": parameters(drafter),
        "loss": shown[0],
        "blocks": recipe.blocks_per_row,
    }
    return drafter, facts


def new_drafter(config: dict[str, Any]) -> Drafter:
    """Random weights: matrices of standard deviation 0.02, norms at 1."""
    drafter = Drafter(DFlashConfig.from_dict(config))
    for parameter in drafter.parameters():
        if parameter.dim() >= 2:
            torch.nn.init.normal_(parameter, std=0.02)
    return drafter


def draw_roots(batch: Batch, count: int, draws: torch.Generator) -> Tensor:
    """Positions (N, count) of reply tokens that have a successor, drawn with replacement: where a round can
    start. int64."""
    followed = batch.reply.clone()
    followed[:, :-1] &= batch.real[:, 1:]
    followed[:, -1] = False
    # A conversation of which no reply token is followed by anything teaches nothing; its blocks are masked.
    followed[~followed.any(1), 0] = True
    return torch.multinomial(followed.float(), count, replacement=True, generator=draws)


def block_loss(
    target: Qwen3_5ForCausalLM, drafter: Drafter, batch: Batch, roots: Tensor, slot_decay: float
) -> tuple[Tensor, Tensor]:
    """Weighted loss of all slots of all blocks, and the mean chain acceptance length (detached).

    Args:
        roots: (N, K).
    """
    mixed = torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=batch.ids.is_cuda)
    with torch.no_grad(), mixed:
        features = tap(target, batch.ids, drafter.config.target_layer_ids)
    size = drafter.config.block_size
    slots = roots[..., None] + torch.arange(1, size, device=roots.device)  # (N, K, B - 1)
    inside = slots < batch.ids.shape[1]
    slots = slots.clamp(max=batch.ids.shape[1] - 1)
    rows = torch.arange(len(roots), device=roots.device)[:, None, None]
    labels = batch.ids[rows, slots]
    # A slot behind the end of the reply has nothing to foresee, nor has one behind a turn of the user.
    counted = (inside & batch.reply[rows, slots]).cumprod(-1).bool()

    ids = torch.full((*roots.shape, size), drafter.config.mask_token_id, device=roots.device)
    ids[..., 0] = batch.ids.gather(1, roots)
    embeddings = drafter.embed(ids, embedding_matrix(target))
    with mixed:
        hidden = drafter.forward_blocks(embeddings, features, roots)
        logits = drafter.logits(hidden, target.lm_head)
    each = cross_entropy(logits.flatten(0, 2).float(), labels.flatten(), reduction="none").view(labels.shape)
    weights = counted * torch.exp(-torch.arange(size - 1, device=roots.device) / slot_decay)
    loss = (each * weights).sum() / weights.sum().clamp(min=1e-6)
    with torch.no_grad():
        right = (counted & (logits.argmax(-1) == labels)).cumprod(-1).sum(-1)
        length = (right + 1).float().mean()
    return loss, length


def tap(target: Qwen3_5ForCausalLM, ids: Tensor, layers: tuple[int, ...]) -> Tensor:
    """Outputs of the target's layers side by side: (N, T, taps * hidden). Layer i's output is entry i + 1 of
    transformers' hidden states, whose entry 0 is the embedding."""
    states = target.model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states
    return torch.cat([states[layer + 1] for layer in layers], dim=-1)
