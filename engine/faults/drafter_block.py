"""Faults of the block that the drafter is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.drafter import Drafter

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _RootMasked(Drafter):
    def block_ids(self, root_id: int, device: torch.device | None = None, size: int | None = None) -> Tensor:
        return super().block_ids(self.config.mask_token_id, device, size)


class _OtherMask(Drafter):
    def block_ids(self, root_id: int, device: torch.device | None = None, size: int | None = None) -> Tensor:
        block = super().block_ids(root_id, device, size)
        block[0, 1:] = (self.config.mask_token_id + 1) // 2  # some word
        return block


def _mask_root(planting: Planting) -> None:
    planting.vary(planting.pair.session.drafter, _RootMasked)


def _change_mask(planting: Planting) -> None:
    planting.vary(planting.pair.session.drafter, _OtherMask)


PLANTS: dict[str, Plant] = {"drafter-root-masked": _mask_root, "mask-id": _change_mask}
