"""Trains a drafter on a frozen target: cross-entropy of each slot's token, near slots weighing most.

Every conversation of a batch gives many blocks in one pass: roots are drawn among the reply's tokens, each
block sees the target's features before its root, and slot i is to name the token i places behind the root.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.checkpoint import checkpoint

from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.train.batches import Batch, batches, usable_rows
from engine.train.corpus import Corpus
from engine.train.frozen import embedding_matrix, tap
from engine.train.interrupt import deferred_interrupt
from engine.train.optimizer import adamw, optimize, parameters
from engine.train.progress import Progress
from engine.train.settings import TrainSettings
from engine.train.state import progress_facts, resume, save_state

_LOGITS_AT_ONCE = 2**28


class DrafterTraining:
    """One run: target and data, the drafter that learns, and how far it is.

    Args:
        target: a transformers causal LM, frozen, on its device.
        config: the drafter's ``config.json``.
        state: file of the checkpoint; if it is there, the run goes on from it.
        heldout: conversations that are only measured on, at every point of the curves.
    """

    def __init__(
        self,
        target: Any,
        data: Corpus,
        settings: TrainSettings,
        config: dict[str, Any],
        *,
        pad_id: int,
        state: Path,
        heldout: Corpus | None = None,
    ) -> None:
        torch.manual_seed(settings.seed)
        torch.set_float32_matmul_precision("high")
        self.target, self.settings, self.state = target, settings, state
        self.device: torch.device = target.device
        self.drafter = new_drafter(config).to(self.device).train()
        self.optimizer = adamw(self.drafter, settings.rate, settings.weight_decay, self.device)
        self.schedule, known = resume(
            state, self.drafter, self.optimizer, settings.steps, settings.seconds, settings.warmup_steps
        )
        self.tokens: int = known.get("tokens", 0)
        self.real_tokens: int = known.get("real_tokens", 0)
        self.curve: list[dict[str, float]] = known.get("curve", [])
        self.left_out = len(data) - len(usable_rows(data, settings.longest))
        self._batches = batches(
            data,
            tokens=settings.batch_tokens,
            pad_id=pad_id,
            seed=settings.seed,
            skip=self.schedule.step,
            max_length=settings.longest,
        )
        self._heldout = [] if heldout is None else self._heldout_batches(heldout, pad_id)

    def run(self) -> dict[str, Any]:
        """Train until the settings' steps or seconds are over.

        Returns:
            Facts for the report: steps, seconds, tokens, parameters, loss, curve, conversations left out.

        Raises:
            EngineError: ``bad_setting`` if no conversation is short enough to be trained on.
            KeyboardInterrupt: after Ctrl-C, with the checkpoint written.
        """
        progress, saved, losses = Progress("drafter"), self.schedule.elapsed, list[Tensor]()
        print(f"drafter  {parameters(self.drafter):,} parameters, step {self.schedule.step}", flush=True)
        if self.left_out:
            print(
                f"drafter  {self.left_out:,} conversations are left out: they are longer than "
                f"{self.settings.longest:,} tokens",
                flush=True,
            )
        with deferred_interrupt() as interrupt:
            while not self.schedule.over:
                losses.append(self._step())
                if self.schedule.step % 20 == 0 or self.schedule.over:
                    loss, length = torch.stack(losses[-20:]).mean(0).tolist()
                    progress.update(
                        self.schedule.fraction,
                        f"step {self.schedule.step}  loss {loss:.4f}  chain {length:.2f} tokens a round",
                    )
                if self.schedule.step % self.settings.curve_steps == 0 or self.schedule.over:
                    self._add_point(losses)
                    losses.clear()
                if self.schedule.elapsed - saved > self.settings.checkpoint_seconds or interrupt.asked:
                    saved = self.schedule.elapsed
                    save_state(self.state, self.drafter, self.optimizer, self.facts())
                if interrupt.asked:
                    raise KeyboardInterrupt
        return {
            **self.facts(),
            "parameters": parameters(self.drafter),
            "loss": self.curve[-1]["loss"] if self.curve else 0.0,
            "blocks": self.settings.blocks_per_row,
            "left_out": self.left_out,
        }

    def facts(self) -> dict[str, Any]:
        """How far the run is."""
        return {
            **progress_facts(self.schedule, self.tokens, self.real_tokens),
            "curve": self.curve,
        }

    def _step(self) -> Tensor:
        """One optimizer step; the loss and the chain's mean acceptance length (2,), detached."""
        settings, batch = self.settings, next(self._batches)
        # A seed of its own for every step, so that a run that goes on draws what it would have drawn.
        draws = torch.Generator(device="cpu").manual_seed(settings.seed * 1_000_003 + self.schedule.step)
        roots = draw_roots(batch, settings.blocks_per_row, draws)
        self.tokens += batch.ids.numel()
        self.real_tokens += int(batch.real.sum())
        loss, length = block_loss(
            self.target, self.drafter, batch.to(self.device), roots.to(self.device), settings.slot_decay
        )
        optimize(self.optimizer, self.drafter, loss, settings.clip, self.schedule.factor())
        self.schedule.step += 1
        return torch.stack([loss.detach(), length])

    def _heldout_batches(self, data: Corpus, pad_id: int) -> list[tuple[Batch, Tensor]]:
        """Up to four batches with fixed roots, the same at every point; none where all are too long."""
        settings = self.settings
        if not len(usable_rows(data, settings.longest)):
            return []
        draws = torch.Generator(device="cpu").manual_seed(settings.seed)
        source = batches(
            data,
            tokens=settings.batch_tokens,
            pad_id=pad_id,
            seed=settings.seed,
            skip=0,
            max_length=settings.longest,
            epochs=1,
        )
        chosen = [batch for batch, _ in zip(source, range(4), strict=False)]
        return [(batch, draw_roots(batch, settings.blocks_per_row, draws)) for batch in chosen]

    def _add_point(self, losses: list[Tensor]) -> None:
        loss, length = torch.stack(losses).mean(0).tolist()
        point = {"step": self.schedule.step, "seconds": self.schedule.elapsed, "loss": loss, "chain": length}
        if self._heldout:
            point |= dict(zip(("heldout_loss", "heldout_chain"), self._measure(), strict=True))
        self.curve.append({name: round(value, 4) for name, value in point.items()})

    @torch.no_grad()
    def _measure(self) -> list[float]:
        self.drafter.eval()
        measured = [
            torch.stack(
                block_loss(
                    self.target,
                    self.drafter,
                    batch.to(self.device),
                    roots.to(self.device),
                    self.settings.slot_decay,
                )
            )
            for batch, roots in self._heldout
        ]
        self.drafter.train()
        values: list[float] = torch.stack(measured).mean(0).tolist()
        return values


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
    target: Any, drafter: Drafter, batch: Batch, roots: Tensor, slot_decay: float
) -> tuple[Tensor, Tensor]:
    """Weighted loss of all slots of all blocks, and the mean chain acceptance length (detached).

    Args:
        roots: (N, K).
    """
    embedding = embedding_matrix(target)
    short = batch.ids.is_cuda or embedding.dtype == torch.bfloat16
    mixed = torch.autocast(batch.ids.device.type, dtype=torch.bfloat16, enabled=short)
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
    embeddings = drafter.embed(ids, embedding)
    with mixed:
        hidden = drafter.forward_blocks(embeddings, features, roots)[..., 1:, :]
        each, right = _judge(drafter, target.get_output_embeddings(), hidden[counted], labels[counted])
    decay = torch.exp(-torch.arange(size - 1, device=roots.device) / slot_decay)
    weights = decay.expand_as(counted)[counted]
    loss = (each * weights).sum() / weights.sum().clamp(min=1e-6)
    agreed = torch.zeros_like(counted).masked_scatter(counted, right)
    return loss, (agreed.cumprod(-1).sum(-1) + 1).float().mean()


def _judge(drafter: Drafter, head: nn.Module, hidden: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of each of S slots, and whether its likeliest token is right: (S, hidden), (S,) -> (S,)
    twice. A vocabulary's worth of logits for every slot at once would fill the memory: some are computed at a
    time, and again when gradients are taken."""

    def judge(some: Tensor, theirs: Tensor) -> tuple[Tensor, Tensor]:
        logits = drafter.slot_logits(some, head).float()
        return cross_entropy(logits, theirs, reduction="none"), logits.detach().argmax(-1) == theirs

    count = max(1, _LOGITS_AT_ONCE // drafter.config.vocab_size)
    parts = [
        checkpoint(judge, some, theirs, use_reentrant=False)
        for some, theirs in zip(torch.split(hidden, count), torch.split(labels, count), strict=True)
    ]
    each, right = zip(*parts, strict=True)
    return torch.cat(each), torch.cat(right)
