"""Faults of rounds on the device, whose tensors outlive a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.pair import Pair
from engine.static.round import Bucket, StaticRound
from engine.static.runner import StaticRunner

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _TokensOfBefore(StaticRound):
    """Verifies the tokens of the tree drafted a round earlier; at first what a buffer begins with."""

    before: Tensor | None = None

    def build(self) -> None:
        super().build()
        if self.bucket.mode == "ar":
            return
        if self.before is None:
            self.before, self._verified = torch.zeros_like(self.row_ids), self.row_ids.clone()
        self._verified.copy_(self.before)
        self.before.copy_(self.row_ids)
        self.row_ids = self._verified


class _StaleRunner(StaticRunner):
    def _stages(self, bucket: Bucket) -> StaticRound:
        if bucket not in self._rounds:
            self._rounds[bucket] = _TokensOfBefore(
                bucket, self.session.target, self.drafter, self.cache, self.state
            )
        return self._rounds[bucket]

    def _capture(self, stages: StaticRound) -> list[torch.cuda.CUDAGraph | None]:
        graphs = super()._capture(stages)
        assert isinstance(stages, _TokensOfBefore)
        if stages.before is not None:
            stages.before.zero_()  # capturing has run the stages
        return graphs


class _Stale(Pair):
    @property
    def runner(self) -> StaticRunner:
        if not self._runners:
            self._runners.append(_StaleRunner(self.session))
        return self._runners[0]


def _verify_before(planting: Planting) -> None:
    planting.vary(planting.pair, _Stale)


PLANTS: dict[str, Plant] = {"stale-buffers": _verify_before}
