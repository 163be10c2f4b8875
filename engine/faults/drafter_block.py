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
        block = super().block_ids(root_id, device, size)
        block[0, 0] = self.config.mask_token_id
        return block


class _OtherMask(Drafter):
    def block_ids(self, root_id: int, device: torch.device | None = None, size: int | None = None) -> Tensor:
        block = super().block_ids(root_id, device, size)
        mask = self.config.mask_token_id
        # A word from the middle of the vocabulary, and never the mask.
        block[0, 1:] = (mask + self.config.vocab_size // 2) % self.config.vocab_size
        return block


class _HalfBlock(Drafter):
    def block_ids(self, root_id: int, device: torch.device | None = None, size: int | None = None) -> Tensor:
        return super().block_ids(root_id, device, max(2, (size or self.config.block_size) // 2))


class _OnePositionLate(Drafter):
    def block_positions(self, length: int, size: int) -> Tensor:
        return super().block_positions(length + 1, size)


def _varied_by(variant: type[Drafter]) -> Plant:
    def plant(planting: Planting) -> None:
        planting.vary(planting.pair.session.drafter, variant)

    return plant


PLANTS: dict[str, Plant] = {
    "drafter-root-masked": _varied_by(_RootMasked),
    "mask-id": _varied_by(_OtherMask),
    "block-size": _varied_by(_HalfBlock),
    "drafter-positions": _varied_by(_OnePositionLate),
}
