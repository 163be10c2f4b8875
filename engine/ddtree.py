"""Draft trees: build, look at, walk. Needs torch and the standard library only, so that this one file
can be dropped into another engine.

A block-diffusion drafter gives, in one forward pass, a distribution q_d for every depth d = 1..D of the
continuation, independent of what stands at the other depths. The weight of a path t_1..t_d is
Σ log q_i(t_i). The draft tree is the ``budget`` paths of largest weight (DDTree, arXiv 2604.12989).
No log-probability is positive, so a prefix never weighs less than its extension: the best paths are closed
under prefixes and form a tree.

Index spaces. *Nodes* are 0..n-1 without the root; ``parents`` index into nodes and -1 is the root.
*Rows* are what the target verifies: row 0 is the root, row i + 1 is node i.

Ties. Nodes are ordered by (weight descending, depth, place of the parent in this order, rank), and the
candidates of one depth by (logit descending, token id). Every build gives that one order.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class DraftTree:
    """A draft tree as parallel arrays in topological (and best-first) order.

    Attributes:
        token_ids: int64 (n,).
        parents: int64 (n,), index into nodes, -1 for the root.
        depths: int64 (n,), the root's children are 1.
        logprobs: float32 (n,), log q_depth(token).
        ranks: int64 (n,), 0 is the drafter's first choice at that depth.
        budget: most nodes asked for.
    """

    token_ids: Tensor
    parents: Tensor
    depths: Tensor
    logprobs: Tensor
    ranks: Tensor
    budget: int

    def __len__(self) -> int:
        return int(self.token_ids.shape[0])

    def keep(self, nodes: Tensor) -> DraftTree:
        """The tree of the first few nodes only; ``nodes``: bool (n,), True for these."""
        return DraftTree(
            self.token_ids[nodes],
            self.parents[nodes],
            self.depths[nodes],
            self.logprobs[nodes],
            self.ranks[nodes],
            self.budget,
        )

    def path_weights(self) -> Tensor:
        """Σ log q along the path to each node: float32 (n,)."""
        ancestors = self.visibility()[1:, 1:]
        return (ancestors * self.logprobs[None, :]).sum(1)

    def row_parents(self) -> Tensor:
        """Parents over rows: int64 (n + 1,), -1 for the root's row."""
        return torch.cat((self.parents.new_full((1,), -1), self.parents + 1))

    def row_depths(self) -> Tensor:
        """Depths over rows: int64 (n + 1,), 0 for the root."""
        return torch.cat((self.depths.new_zeros(1), self.depths))

    def visibility(self) -> Tensor:
        """Which rows a row sees: bool (n + 1, n + 1), its ancestors and itself."""
        return ancestors_or_self(self.row_parents())

    def path_to(self, node: int) -> list[int]:
        """Nodes from a child of the root down to ``node``; empty for -1, the root."""
        parents = self.parents.tolist()
        path: list[int] = []
        while node >= 0:
            path.append(node)
            node = parents[node]
        return path[::-1]

    def to_networkx(self, root_id: int | None = None) -> Any:
        """The tree as ``networkx.DiGraph``: node -1 is the root, attributes are those of this class.

        Raises:
            ModuleNotFoundError: networkx is not installed.
        """
        graph = importlib.import_module("networkx").DiGraph()
        graph.add_node(-1, depth=0, **({} if root_id is None else {"token_id": root_id}))
        columns = (self.token_ids, self.parents, self.depths, self.logprobs, self.ranks)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for node, (token_id, parent, depth, logprob, rank) in enumerate(rows):
            graph.add_node(node, token_id=token_id, depth=depth, logprob=logprob, rank=rank)
            graph.add_edge(parent, node)
        return graph


def empty_tree(budget: int = 0, device: torch.device | str = "cpu") -> DraftTree:
    """A tree of the root alone: what plain decoding verifies."""
    none = torch.empty(0, dtype=torch.int64, device=device)
    return DraftTree(none, none, none, none.to(torch.float32), none, budget)


def chain(ids: Tensor, logprobs: Tensor) -> DraftTree:
    """Tokens int64 (n,) with log-probabilities float32 (n,), each the only child of the one before."""
    depths = torch.arange(len(ids), device=ids.device)
    return DraftTree(ids, depths - 1, depths + 1, logprobs, torch.zeros_like(depths), len(ids))


def ancestors_or_self(row_parents: Tensor) -> Tensor:
    """Ancestor-or-self relation of rows in topological order.

    Args:
        row_parents: int64 (R,), -1 for the root.

    Returns:
        bool (R, R): entry (i, j) says that j is i or an ancestor of i.
    """
    rows = row_parents.shape[0]
    visible = torch.eye(rows, dtype=torch.bool, device=row_parents.device)
    # Doubling: after s steps `visible` covers 2^s generations and `jump` leads 2^s generations up.
    jump = row_parents
    for _ in range(max(rows - 1, 1).bit_length()):
        above = visible[jump.clamp(min=0)] & (jump >= 0)[:, None]
        visible = visible | above
        jump = torch.where(jump >= 0, jump[jump.clamp(min=0)], jump)
    return visible


def top_candidates(logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` most likely tokens of each depth, ties to the lower id.

    Args:
        logits: floating (D, V).
        count: at most V are returned.

    Returns:
        ids int64 (D, K) and log-probabilities float32 (D, K), best first.
    """
    scores = logits.float() + 0.0  # -0.0 and 0.0 are the same logit
    count = min(count, scores.shape[-1])
    # One integer key per entry, larger is better, never equal: the float's bits mapped to the order of
    # the floats in the upper half, the complement of the id in the lower.
    bits = scores.contiguous().view(torch.int32).to(torch.int64)
    ordered = torch.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    ids = torch.arange(scores.shape[-1], device=scores.device)
    keys = (ordered << 32) | (0xFFFFFFFF - ids)
    best = 0xFFFFFFFF - (torch.topk(keys, count, dim=-1).values & 0xFFFFFFFF)
    # Rounding must not push a log-probability above zero: prefixes would then weigh less.
    logprobs = torch.log_softmax(scores, dim=-1).gather(-1, best).clamp(max=0.0)
    return best, logprobs


@dataclass(frozen=True)
class TreePlan:
    """Index arrays of a build that depend on shapes alone, so that a build has fixed shapes and never waits
    for the device.

    Attributes:
        places, ranks: per depth, the (parent place, rank) pairs to look at, in tie order.
        levels: int64 (T,), the depth (from 0) of every beam entry, all depths' beams in one row.
        starts: where each depth's parents begin in that row.
        budget: most nodes.
    """

    places: tuple[Tensor, ...]
    ranks: tuple[Tensor, ...]
    levels: Tensor
    starts: tuple[int, ...]
    budget: int


@lru_cache(maxsize=64)
def plan_tree(depths: int, candidates: int, budget: int, device: torch.device) -> TreePlan:
    """What a build of ``budget`` nodes over ``depths`` distributions of ``candidates`` tokens looks at.

    The pair (i, r), the i-th best parent with its r-th candidate, has (i + 1)(r + 1) - 1 pairs
    (i', r') ≤ (i, r) before it, so only pairs with (i + 1)(r + 1) ≤ budget can be among the best
    ``budget`` of their depth: about budget · ln(budget) instead of budget².
    """
    width, places, ranks, widths = 1, [], [], []
    for _ in range(depths):
        pairs = [
            (place, rank) for place in range(width) for rank in range(min(candidates, budget // (place + 1)))
        ]
        places.append(torch.tensor([place for place, _ in pairs], device=device))
        ranks.append(torch.tensor([rank for _, rank in pairs], device=device))
        width = min(len(pairs), budget)
        widths.append(width)
    levels = torch.tensor([depth for depth in range(depths) for _ in range(widths[depth])], device=device)
    starts = (0, *(sum(widths[:depth]) for depth in range(depths)))[:depths]
    return TreePlan(tuple(places), tuple(ranks), levels, starts, budget)


def select_nodes(plan: TreePlan, ids: Tensor, logprobs: Tensor) -> tuple[DraftTree, Tensor]:
    """The best nodes in D vectorised steps, with shapes that depend on the plan alone.

    The best ``budget`` nodes of the whole tree have their parents among the best ``budget`` nodes of the
    depth before, so a beam of that width per depth, then one selection over all depths, is exact.

    Args:
        ids: int64 (D, K), best first.
        logprobs: float32 (D, K), not increasing along a row; -inf candidates are no nodes.

    Returns:
        A tree of min(budget, beam entries) nodes, and bool (n,) saying which are nodes: those come
        first, the others are placeholders below the root.
    """
    beam = logprobs.new_zeros(1)  # weights of the depth before; at first the root's
    weights, places, ranks = [], [], []
    for depth, (place, rank) in enumerate(zip(plan.places, plan.ranks, strict=True)):
        beam, order = torch.sort(beam[place] + logprobs[depth][rank], descending=True, stable=True)
        beam, order = beam[: plan.budget], order[: plan.budget]
        weights.append(beam)
        places.append(place[order])
        ranks.append(rank[order])

    all_weights = torch.cat(weights)
    chosen = torch.sort(all_weights, descending=True, stable=True).indices[: plan.budget]
    is_node = torch.isfinite(all_weights[chosen])
    # Parents as places in the row of all depths' beams, then as places among the chosen.
    parent_at = torch.cat([place + start for place, start in zip(places, plan.starts, strict=True)])
    node_at = torch.zeros_like(parent_at).scatter(0, chosen, torch.arange(len(chosen), device=ids.device))
    level = plan.levels[chosen]
    rank = torch.cat(ranks)[chosen]
    tree = DraftTree(
        token_ids=ids[level, rank],
        parents=torch.where((level == 0) | ~is_node, -1, node_at[parent_at[chosen]]),
        depths=torch.where(is_node, level + 1, 1),
        logprobs=logprobs[level, rank],
        ranks=rank,
        budget=plan.budget,
    )
    return tree, is_node


def build_tree_from_candidates(ids: Tensor, logprobs: Tensor, budget: int) -> DraftTree:
    """Best-first tree from each depth's candidates.

    Args:
        ids: int64 (D, K), best first.
        logprobs: float32 (D, K), not increasing along a row; -inf candidates never enter the tree.
        budget: most nodes, at least 1.
    """
    if not len(ids):
        return empty_tree(budget, ids.device)
    tree, is_node = select_nodes(plan_tree(*ids.shape, budget, ids.device), ids, logprobs)
    return tree.keep(is_node)


def build_ddtree_tree_from_logits(draft_logits: Tensor, budget: int) -> DraftTree:
    """The draft tree of the ``budget`` most likely continuations (arXiv 2604.12989).

    Args:
        draft_logits: floating (D, V), the drafter's logits at depths 1..D.
        budget: most nodes, root excluded.

    Raises:
        ValueError: the budget is below 1, or the logits are not a matrix or hold NaN or +inf.
    """
    if budget < 1:
        raise ValueError(f"the tree budget must be at least 1, not {budget}")
    if draft_logits.ndim != 2:
        raise ValueError(f"draft logits must be (depths, vocabulary), not {tuple(draft_logits.shape)}")
    _check_probabilities(draft_logits)
    return build_tree_from_candidates(*top_candidates(draft_logits, budget), budget)


def build_chain_from_logits(draft_logits: Tensor) -> DraftTree:
    """The drafter's first choice at every depth, one below the other (DFlash, arXiv 2602.06036).

    Raises:
        ValueError: the logits hold NaN or +inf.
    """
    _check_probabilities(draft_logits)
    ids, logprobs = top_candidates(draft_logits, 1)
    return chain(ids[:, 0], logprobs[:, 0])


def _check_probabilities(draft_logits: Tensor) -> None:
    """A row's probabilities are those of its logits over their sum: it must be a number."""
    if not torch.isfinite(draft_logits.amax(-1)).all():
        raise ValueError("draft logits hold NaN or +inf, or nothing but -inf")


def follow_verified_tree(tree: DraftTree, target_ids: Tensor | Sequence[int]) -> tuple[list[int], int]:
    """Walk from the root while the target's own choice is a child.

    Args:
        tree: n nodes.
        target_ids: int64 (n + 1,), the target's choice at every row (row 0 is the root).

    Returns:
        The accepted nodes from the root down, and the target's token after them (the bonus token).
    """
    choice = torch.as_tensor(target_ids, device=tree.token_ids.device)
    if choice.shape != (len(tree) + 1,):
        raise ValueError(f"{len(tree)} nodes need {len(tree) + 1} target ids, not {tuple(choice.shape)}")
    # A node is on the path when it and all its ancestors are what the target chose at their parents.
    # Siblings differ in their token, so no two nodes of one depth can be.
    agreed = torch.cat((choice.new_ones(1, dtype=torch.bool), choice[tree.parents + 1] == tree.token_ids))
    on_path = (agreed[None, :] | ~tree.visibility()).all(1)
    rows = on_path.nonzero()[:, 0]
    return (rows[1:] - 1).tolist(), int(choice[rows[-1]])


def summarize_ddtree(tree: DraftTree, accepted: Sequence[int] = ()) -> dict[str, int]:
    """``budget``, ``node_count``, ``max_depth``, ``leaf_count``, ``branch_count`` (rows with more than one
    child, the root included) and ``accepted_node_count``."""
    children = torch.bincount(tree.parents + 1, minlength=len(tree) + 1)
    return {
        "budget": tree.budget,
        "node_count": len(tree),
        "max_depth": int(tree.depths.max()) if len(tree) else 0,
        "leaf_count": int((children[1:] == 0).sum()),
        "branch_count": int((children > 1).sum()),
        "accepted_node_count": len(accepted),
    }


def assert_prefix_closed(tree: DraftTree, accepted: Sequence[int] | None = None) -> None:
    """Check what every walk relies on; with ``accepted``, also that it is a path from the root.

    Raises:
        AssertionError: a parent does not come before its child, a depth is not its parent's plus one,
            siblings share a token, there are more nodes than the budget, a log-probability is positive
            or NaN, or ``accepted`` skips a node.
    """
    columns = (tree.token_ids, tree.parents, tree.depths, tree.logprobs, tree.ranks)
    lengths = {int(column.shape[0]) for column in columns}
    _require(len(lengths) == 1, f"the arrays of a tree differ in length: {sorted(lengths)}")
    _require(len(tree) <= tree.budget, f"{len(tree)} nodes exceed the budget of {tree.budget}")
    parents, depths = tree.parents.tolist(), tree.depths.tolist()
    seen: set[tuple[int, int]] = set()
    for node, (token, parent, depth) in enumerate(zip(tree.token_ids.tolist(), parents, depths, strict=True)):
        _require(-1 <= parent < node, f"node {node} stands before its parent {parent}")
        above = depths[parent] if parent >= 0 else 0
        _require(depth == above + 1, f"node {node} has depth {depth} below depth {above}")
        _require((parent, token) not in seen, f"node {node} repeats token {token} of a sibling")
        seen.add((parent, token))
    for node, logprob in enumerate(tree.logprobs.tolist()):
        _require(not math.isnan(logprob) and logprob <= 0, f"node {node} has log-probability {logprob}")
    last = -1
    for node in accepted or ():
        _require(0 <= node < len(tree) and parents[node] == last, f"the accepted path skips to node {node}")
        last = node


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)
