"""Faults of what a round leaves in the caches and in the text."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.cache import DeltaState, StateAfter, TargetCache
from engine.ddtree import DraftTree
from engine.rounds import Stages
from engine.rows import Rows
from engine.settings import Verify
from engine.target import Target, Verified

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _WrittenWhileVerified(DeltaState):
    """The state runs along with the last row, before anything is accepted."""

    def hold(self, inputs: Tensor, index: Tensor, state_after: StateAfter, rows: Rows) -> None:
        super().hold(inputs, index, state_after, rows)
        if rows.backend is not None and self.state is not None:
            self.state.copy_(state_after(_path_to(rows, len(rows) - 1)))


class _WrongLeaf(DeltaState):
    """Commits the state after another node than the accepted one, one of its depth if there is one."""

    def commit(self, path: Tensor) -> None:
        assert self.rows is not None
        super().commit(path if self.rows.backend is None else _other_path(self.rows, int(path[-1])))


class _Rounded(DeltaState):
    """Keeps the state in bfloat16 between the rounds."""

    def commit(self, path: Tensor) -> None:
        super().commit(path)
        assert self.state is not None
        self.state = self.state.to(torch.bfloat16)


class _NoStop(Stages):
    """Looks for no stop token in what a round commits."""

    def ends(self, token_id: int, stop_ids: Collection[int]) -> bool:
        return False


class _NotFinite(Target):
    def verify(self, cache: TargetCache, root_id: int, tree: DraftTree, backend: Verify) -> Verified:
        verified = super().verify(cache, root_id, tree, backend)
        verified.logits[-1, 0] = torch.nan
        return verified


def _path_to(rows: Rows, row: int) -> Tensor:
    """Rows from the pass's first down to ``row``: int64 (n,)."""
    return rows.visible[row].nonzero()[:, 0]


def _other_path(rows: Rows, leaf: int) -> Tensor:
    """The path to a row that is not ``leaf``; to that where there is no other."""
    depths = rows.visible.sum(1).tolist()
    others = [row for row in range(len(rows)) if row != leaf]
    beside = [row for row in others if depths[row] == depths[leaf]]
    return _path_to(rows, (beside or others[::-1] or [leaf])[0])


def _in_every_state(variant: type[DeltaState]) -> Plant:
    def plant(planting: Planting) -> None:
        for state in planting.pair.session.cache.states:
            planting.vary(state, variant)

    return plant


def _never_stop(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _NoStop)


def _spoil_logits(planting: Planting) -> None:
    planting.vary(planting.pair.target, _NotFinite)


PLANTS: dict[str, Plant] = {
    "state-during-verify": _in_every_state(_WrittenWhileVerified),
    "wrong-leaf": _in_every_state(_WrongLeaf),
    "state-precision": _in_every_state(_Rounded),
    "stop-in-path": _never_stop,
    "not-finite": _spoil_logits,
}
