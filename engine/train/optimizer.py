"""AdamW as both the demo's target and every drafter are trained with."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def adamw(model: nn.Module, rate: float, decay: float, device: torch.device) -> torch.optim.Optimizer:
    """AdamW with decay on matrices only; ``base`` keeps each group's peak rate."""
    weights = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in weights if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in weights if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), fused=device.type == "cuda")
    for group in optimizer.param_groups:
        group["base"] = rate
    return optimizer


def optimize(
    optimizer: torch.optim.Optimizer, model: nn.Module, loss: Tensor, clip: float, factor: float
) -> None:
    """Backward pass, clipping, and a step at ``factor`` of the peak rate."""
    for group in optimizer.param_groups:
        group["lr"] = group["base"] * factor
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
