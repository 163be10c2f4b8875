"""Trains the target: next-token loss on the replies, from random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import Qwen3_5ForCausalLM

from engine.demo.delta import training_delta_rule
from engine.demo.export import target_config
from engine.demo.recipe import Recipe
from engine.train.batches import Batch, batches
from engine.train.corpus import Corpus
from engine.train.optimizer import adamw, optimize, parameters
from engine.train.progress import Progress
from engine.train.schedule import Schedule
from engine.train.state import progress_facts, resume, save_state


def train_target(
    data: Corpus,
    recipe: Recipe,
    *,
    vocab_size: int,
    pad_id: int,
    stop_ids: list[int],
    state: Path,
    device: torch.device,
) -> tuple[Qwen3_5ForCausalLM, dict[str, Any]]:
    """Train until the recipe's steps or seconds are over, from ``state`` if that file is there.

    Returns:
        The model (float32, on ``device``) and facts for the report.
    """
    torch.manual_seed(recipe.seed)
    torch.set_float32_matmul_precision("high")
    model = Qwen3_5ForCausalLM(target_config(recipe, vocab_size, pad_id, stop_ids))
    nn.Module.to(model, device).train()
    optimizer = adamw(model, recipe.target_rate, recipe.weight_decay, device)
    with training_delta_rule(device, recipe.delta_head_dim * recipe.compile_delta) as compiled:
        schedule, facts = resume(
            state, model, optimizer, recipe.target_steps, recipe.target_seconds, recipe.warmup_steps
        )
        tokens, real, shown = facts.get("tokens", 0), facts.get("real_tokens", 0), 0.0
        progress, saved, losses = Progress("target"), schedule.elapsed, list[Tensor]()
        print(f"target   {parameters(model):,} parameters, step {schedule.step}", flush=True)
        source = batches(
            data,
            tokens=recipe.batch_tokens,
            pad_id=pad_id,
            seed=recipe.seed,
            skip=schedule.step,
            max_length=recipe.max_length,
        )
        while not schedule.over:
            batch = next(source)
            tokens, real = tokens + batch.ids.numel(), real + int(batch.real.sum())
            losses.append(step(model, optimizer, batch.to(device), recipe, schedule))
            schedule.step += 1
            if len(losses) == 20 or schedule.over:
                shown = float(torch.stack(losses).mean())
                losses.clear()
                rate = real / max(schedule.elapsed, 1e-9)
                progress.update(
                    schedule.fraction, f"step {schedule.step}  loss {shown:.4f}  {rate:,.0f} tokens/s"
                )
            if schedule.elapsed - saved > recipe.checkpoint_seconds:
                saved = schedule.elapsed
                save_state(state, model, optimizer, progress_facts(schedule, tokens, real))
    facts = {
        **progress_facts(schedule, tokens, real),
        "parameters": parameters(model),
        "loss": shown,
        "compiled": compiled,
    }
    return model, facts


def step(
    model: Qwen3_5ForCausalLM,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    recipe: Recipe,
    schedule: Schedule,
) -> Tensor:
    """One optimizer step; returns the loss of the reply tokens, detached."""
    with torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=batch.ids.is_cuda):
        logits = model(input_ids=batch.ids, use_cache=False).logits
    loss, reply_loss = weighted_loss(logits, batch, recipe.prompt_weight)
    optimize(optimizer, model, loss, recipe.clip, schedule.factor())
    return reply_loss.detach()


def weighted_loss(logits: Tensor, batch: Batch, prompt_weight: float) -> tuple[Tensor, Tensor]:
    """Weighted mean loss of all tokens, and plain mean loss of the reply tokens."""
    each = cross_entropy(logits[:, :-1].flatten(0, 1).float(), batch.ids[:, 1:].flatten(), reduction="none")
    reply = batch.reply[:, 1:].flatten().float()
    weights = batch.real[:, 1:].flatten().float() * (prompt_weight + (1 - prompt_weight) * reply)
    return (each * weights).sum() / weights.sum(), (each * reply).sum() / reply.sum().clamp(min=1)
