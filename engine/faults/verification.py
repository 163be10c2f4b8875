"""Faults of the pass over a tree, and of the walk through it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import msgspec
import torch
from torch import Tensor

from engine.ddtree import DraftTree
from engine.detail import TopRows
from engine.events import Round
from engine.rounds import RoundResult, Stages
from engine.rows import Rows
from engine.settings import DecodeSettings, Verify
from engine.target import Target

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting


class _ConvInRowOrder(Rows):
    """Every row convolves the rows right before it, whoever they are."""

    def conv_index(self, window: int) -> Tensor:
        return self.as_chain.conv_index(window)


class _Siblings(Target):
    def tree_rows(self, tree: DraftTree, backend: Verify) -> Rows:
        rows = super().tree_rows(tree, backend)
        return _ConvInRowOrder(rows.parents, rows.depths, rows.visible, rows.backend)


class _ByIndex(Target):
    def tree_rows(self, tree: DraftTree, backend: Verify) -> Rows:
        rows = super().tree_rows(tree, backend)
        return dataclasses.replace(rows, depths=torch.arange(len(rows), device=rows.depths.device))


class _ChildrenFirst(Stages):
    """Verifies a tree's nodes from the last to the first. The walk can do with any order, and events keep
    theirs, so that only the layers that run in row order are wrong."""

    def build(self, draft_logits: Tensor | None, settings: DecodeSettings, device: torch.device) -> DraftTree:
        return _backwards(super().build(draft_logits, settings, device))

    def walk(self, tree: DraftTree, choices: Tensor) -> tuple[list[int], int]:
        rows = torch.cat((choices[:1], choices[1:].flip(0)))
        accepted, bonus = super().walk(_backwards(tree), rows)
        return [len(tree) - 1 - node for node in accepted], bonus

    def tell(self, result: RoundResult) -> RoundResult:
        told = super().tell(result)
        return _Backwards(*(getattr(told, field.name) for field in dataclasses.fields(told)))


class _Backwards(RoundResult):
    def event(self, index: int, settings: DecodeSettings, now: float) -> Round:
        last = len(self.tree) - 1
        order = torch.tensor([0, *range(last + 1, 0, -1)], device=self.choices.device)
        forwards = RoundResult(*(getattr(self, field.name) for field in dataclasses.fields(RoundResult)))
        top = self.target_top
        return dataclasses.replace(
            forwards,
            tree=_backwards(self.tree),
            target_logits=self.target_logits[order],
            choices=self.choices[order],
            accepted=[last - node for node in self.accepted],
            target_top=None if top is None else TopRows(*(part[order] for part in top)),
        ).event(index, settings, now)


def _backwards(tree: DraftTree) -> DraftTree:
    """The same tree with its nodes in the opposite order."""
    last = len(tree) - 1
    parents = torch.where(tree.parents < 0, -1, last - tree.parents)
    return DraftTree(
        token_ids=tree.token_ids.flip(0),
        parents=parents.flip(0),
        depths=tree.depths.flip(0),
        logprobs=tree.logprobs.flip(0),
        ranks=tree.ranks.flip(0),
        budget=tree.budget,
    )


class _OtherBranch(Stages):
    """Ends the accepted path in another branch, as deep down as there is one."""

    def walk(self, tree: DraftTree, choices: Tensor) -> tuple[list[int], int]:
        accepted, bonus = super().walk(tree, choices)
        nodes = list(enumerate(zip(tree.parents.tolist(), tree.depths.tolist(), strict=True)))
        length = len(accepted)
        for depth in (*range(length, 1, -1), length + 1):
            above = accepted[depth - 2] if depth > 1 else -1
            joined = next((node for node, (parent, at) in nodes if at == depth and parent != above), None)
            if joined is not None:
                return [*accepted[: depth - 1], joined], int(choices[joined + 1])
        return accepted, bonus


def _verify_naively(planting: Planting) -> None:
    planting.settings = msgspec.structs.replace(planting.settings, verify="naive")


def _convolve_siblings(planting: Planting) -> None:
    planting.vary(planting.pair.target, _Siblings)


def _rotate_by_index(planting: Planting) -> None:
    planting.vary(planting.pair.target, _ByIndex)


def _reverse_rows(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _ChildrenFirst)


def _join_branches(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _OtherBranch)


PLANTS: dict[str, Plant] = {
    "naive-verify": _verify_naively,
    "conv-siblings": _convolve_siblings,
    "rope-by-index": _rotate_by_index,
    "tree-order": _reverse_rows,
    "path-not-closed": _join_branches,
}
