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


class _AnyBranch(Stages):
    """Takes at every depth the first node that its own parent's row chose, reached or not."""

    def walk(self, tree: DraftTree, choices: Tensor) -> tuple[list[int], int]:
        agreed = (choices[tree.parents + 1] == tree.token_ids).tolist()
        first: dict[int, int] = {}
        for node, depth in enumerate(tree.depths.tolist()):
            if agreed[node]:
                first.setdefault(depth, node)
        accepted: list[int] = []
        while len(accepted) + 1 in first:
            accepted.append(first[len(accepted) + 1])
        return accepted, int(choices[accepted[-1] + 1 if accepted else 0])


def _verify_naively(planting: Planting) -> None:
    planting.settings = msgspec.structs.replace(planting.settings, verify="naive")


def _convolve_siblings(planting: Planting) -> None:
    planting.vary(planting.pair.target, _Siblings)


def _rotate_by_index(planting: Planting) -> None:
    planting.vary(planting.pair.target, _ByIndex)


def _reverse_rows(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _ChildrenFirst)


def _join_branches(planting: Planting) -> None:
    planting.vary(planting.pair.stages, _AnyBranch)


PLANTS: dict[str, Plant] = {
    "naive-verify": _verify_naively,
    "conv-siblings": _convolve_siblings,
    "rope-by-index": _rotate_by_index,
    "tree-order": _reverse_rows,
    "path-not-closed": _join_branches,
}
