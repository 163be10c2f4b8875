"""Faults of rounds on the device, whose tensors outlive a round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from engine.pair import Pair
from engine.static.round import Bucket, StaticRound
from engine.static.runner import StaticRunner

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _TokensOfBefore(StaticRound):
    """Verifies the tokens of the tree that was drafted a round earlier."""

    _before: Tensor | None = None

    def build(self) -> None:
        super().build()
        if self.bucket.mode == "ar":
            return
        if self._before is None:
            self._before, self._verified = self.row_ids.clone(), self.row_ids.clone()
        self._verified.copy_(self._before)
        self._before.copy_(self.row_ids)
        self.row_ids = self._verified


class _StaleRunner(StaticRunner):
    def _stages(self, bucket: Bucket) -> StaticRound:
        if bucket not in self._rounds:
            self._rounds[bucket] = _TokensOfBefore(
                bucket, self.session.target, self.drafter, self.cache, self.state
            )
        return self._rounds[bucket]


class _Stale(Pair):
    @property
    def runner(self) -> StaticRunner:
        if not self._runners:
            self._runners.append(_StaleRunner(self.session))
        return self._runners[0]


def _verify_before(planting: Planting) -> None:
    planting.vary(planting.pair, _Stale)


PLANTS: dict[str, Plant] = {"stale-buffers": _verify_before}
