"""The draft tree from the drafter's logits, with fixed shapes: candidates of every depth, then the tree.

The tree is that of ``engine.ddtree``, node for node, in as many places as the shapes allow; places without a
node come last.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.ddtree import DraftTree, plan_tree, select_nodes, top_candidates
from engine.kernels.backend import use_triton, wide


class Candidates(NamedTuple):
    """The most likely tokens of every depth.

    Attributes:
        ids: int64 (D, K), best first, ties to the lower id.
        logprobs: float32 (D, K), at most 0.
        lse: float32 (float64 for float64 logits) (D,), log Σ exp of all logits of the depth. Finite exactly
            where these hold no NaN and their largest is finite.
    """

    ids: Tensor
    logprobs: Tensor
    lse: Tensor


class BuiltTree(NamedTuple):
    """A draft tree and the rows that verify it.

    Attributes:
        tree: of n places. What is no node repeats the first candidate below the root: whatever the target
            does for it, it does for node 0 as well.
        is_node: bool (n,), True for the first few.
        row_ids: int64 (n + 1,), the root's token, then the nodes'.
        row_parents: int64 (n + 1,), -1 for the root's row.
        row_depths: int64 (n + 1,), 0 for the root's row.
        visible: bool (n + 1, n + 1), ancestor-or-self.
    """

    tree: DraftTree
    is_node: Tensor
    row_ids: Tensor
    row_parents: Tensor
    row_depths: Tensor
    visible: Tensor


def tree_candidates(logits: Tensor, count: int) -> Candidates:
    """``engine.ddtree.top_candidates`` and each depth's log Σ exp.

    Args:
        logits: floating (D, V); depths may be strided.
        count: at least 1; at most V are returned.
    """
    if use_triton(logits):
        import engine.kernels.jit.draft_tree as jit

        return jit.tree_candidates(logits, count)
    return tree_candidates_torch(logits, count)


def tree_candidates_torch(logits: Tensor, count: int) -> Candidates:
    """``tree_candidates`` in plain torch."""
    return Candidates(*top_candidates(logits, count), torch.logsumexp(logits.to(wide(logits.dtype)), dim=-1))


def build_tree(
    candidates: Candidates, places: int, root_id: Tensor, remaining: Tensor, budget: Tensor | None = None
) -> BuiltTree:
    """The most likely nodes, best first; with one candidate per depth, a chain.

    Args:
        candidates: of D depths; those that are -inf or NaN are no nodes.
        places: room for nodes, 1 to 1,024.
        root_id: int64, one element.
        remaining: int64 (), tokens that may still be added to the text: the bonus token takes one, so nodes
            of this depth and deeper could not be committed and are none.
        budget: int64 (), most nodes; all places by default.
    """
    if use_triton(candidates.logprobs):
        import engine.kernels.jit.draft_tree as jit

        return jit.build_tree(candidates, places, root_id, remaining, budget)
    return build_tree_torch(candidates, places, root_id, remaining, budget)


def build_tree_torch(
    candidates: Candidates, places: int, root_id: Tensor, remaining: Tensor, budget: Tensor | None = None
) -> BuiltTree:
    """``build_tree`` in plain torch."""
    ids, logprobs = candidates.ids, candidates.logprobs
    device = ids.device
    too_deep = torch.arange(1, len(ids) + 1, device=device) >= remaining
    logprobs = logprobs.masked_fill(too_deep[:, None] | logprobs.isnan(), -torch.inf)
    best, is_node = select_nodes(plan_tree(*ids.shape, places, device), ids, logprobs)
    is_node = F.pad(is_node, (0, places - len(best)))
    if budget is not None:
        is_node = is_node & (torch.arange(places, device=device) < budget)

    def placed(column: Tensor, otherwise: Tensor | float) -> Tensor:
        return torch.where(is_node, F.pad(column, (0, places - len(best))), otherwise)

    tree = DraftTree(
        token_ids=placed(best.token_ids, ids[0, 0]),
        parents=placed(best.parents, -1),
        depths=placed(best.depths, 1),
        logprobs=placed(best.logprobs, -torch.inf),
        ranks=placed(best.ranks, 0),
        budget=places,
    )
    row_ids = torch.cat((root_id.reshape(1), tree.token_ids))
    return BuiltTree(tree, is_node, row_ids, tree.row_parents(), tree.row_depths(), tree.visibility())
