"""Faults of the drafter itself: which one it is, what it reads, and what is made of its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.ddtree import DraftTree, empty_tree
from engine.drafter import Drafter
from engine.rounds import Stages
from engine.session import Session
from engine.settings import DecodeSettings

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting

WINDOW = 8


class _OfOtherTarget(Drafter):
    """Reads features whose dimensions mean something else, as those of a target trained anew would."""

    def encode(self, features: Tensor) -> Tensor:
        width = self.config.hidden_size
        generator = torch.Generator().manual_seed(0)
        taps = [
            tap[..., torch.randperm(width, generator=generator).to(tap.device)]
            for tap in torch.split(features, width, -1)
        ]
        return super().encode(torch.cat(taps, dim=-1))


class _ShortSighted(Drafter):
    """Reads the last ``WINDOW`` rows of its context, whatever its config says."""

    def _block_mask(self, layer: int, length: int, positions: Tensor) -> tuple[int, Tensor | None]:
        first, mask = super()._block_mask(layer, length, positions)
        nearer = max(first, length - WINDOW)
        return nearer, None if mask is None else mask[..., nearer - first :]


class _UpsideDown(Session):
    """Reads the drafter's list from its end: the least likely token has the probability of the first."""

    def draft(self, root_id: int, block_size: int | None = None) -> Tensor:
        logits = super().draft(root_id, block_size)
        order = logits.argsort(dim=-1)
        return torch.empty_like(logits).scatter_(-1, order, logits.gather(-1, order.flip(-1)))


class _NoTree(Stages):
    """Drafts, and builds nothing of it."""

    def build(self, draft_logits: Tensor | None, settings: DecodeSettings, device: torch.device) -> DraftTree:
        return empty_tree(device=device)


def _change_target(planting: Planting) -> None:
    planting.vary(planting.pair.session.drafter, _OfOtherTarget)


def _narrow(planting: Planting) -> None:
    planting.vary(planting.pair.session.drafter, _ShortSighted)


def _turn_over(planting: Planting) -> None:
    planting.vary(planting.pair.session, _UpsideDown)


def _build_nothing(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _NoTree)


PLANTS: dict[str, Plant] = {
    "other-drafter": _change_target,
    "drafter-window": _narrow,
    "calibration": _turn_over,
    "speculation-off": _build_nothing,
}
