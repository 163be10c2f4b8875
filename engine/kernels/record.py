"""The end of a round: its record for the host, and the text moved on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels.backend import use_triton
from engine.kernels.logits import RowStatistics
from engine.kernels.walk import Text, Walk, pick

NO_MISS = -1
DRAFTER, TARGET = 1, 2


class Chosen(NamedTuple):
    """What the target said: logits (n + 1, V), their statistics, and the tokens it chose, int64 (n + 1,)."""

    logits: Tensor
    statistics: RowStatistics
    choices: Tensor


class Drafted(NamedTuple):
    """What the drafter said: logits (D, V), their log-sum-exp (D,), and integers (parts,) that sum up to the
    rank of the bonus token at its depth."""

    logits: Tensor
    logsumexp: Tensor
    better: Tensor


def close_round(
    tree: DraftTree, is_node: Tensor, chosen: Chosen, drafted: Drafted | None, walk: Walk, text: Text
) -> Tensor:
    """Record a round and move the text on, in place.

    Args:
        tree: n places.
        is_node: bool (n,).
        drafted: None in rounds without a drafter.

    Returns:
        The record, int32, in this order: position, root, accepted nodes, bonus token, count, whether the
        text ends, rank of the bonus token (``NO_MISS`` beyond the block), 0 or whose logits are not finite;
        tokens (B), path (B), choices (n + 1); token ids, parents, depths, ranks and which are nodes (n
        each); then the bits of float32: log-probability of the bonus token in the drafter, of the choices
        (n + 1) in the target, gaps between the best two logits (n + 1), log-probabilities of the tree (n).
    """
    if use_triton(chosen.logits):
        import engine.kernels.jit.record as jit

        return jit.close_round(tree, is_node, chosen, drafted, walk, text)
    return close_round_torch(tree, is_node, chosen, drafted, walk, text)


def close_round_torch(
    tree: DraftTree, is_node: Tensor, chosen: Chosen, drafted: Drafted | None, walk: Walk, text: Text
) -> Tensor:
    """``close_round`` in plain torch."""
    logits, statistics, choices = chosen
    logprobs = logits.gather(-1, choices[:, None])[:, 0] - statistics.logsumexp
    gaps = statistics.best - statistics.second
    rank, logprob = _miss(drafted, walk, text)
    numbers = (
        *(text.length, text.root_id, walk.accepted, walk.bonus, walk.count, walk.ended, rank),
        *(_not_finite(statistics, drafted), walk.tokens, walk.path, choices),
        *(tree.token_ids, tree.parents, tree.depths, tree.ranks, is_node),
    )
    parts = [number.reshape(-1).to(torch.int32) for number in numbers]
    floats = (logprob, logprobs, gaps, tree.logprobs)
    parts += [value.reshape(-1).float().view(torch.int32) for value in floats]
    record = torch.cat(parts)

    last = pick(walk.tokens, (walk.count - 1).clamp(min=0))
    text.root_id.copy_(torch.where(text.done, text.root_id, last))
    text.length.add_(walk.count)
    text.feature_rows.add_(walk.count)
    text.remaining.sub_(walk.count)
    text.done.copy_(walk.ended)
    return record


def _miss(drafted: Drafted | None, walk: Walk, text: Text) -> tuple[Tensor, Tensor]:
    """Rank and log-probability of the bonus token in the drafter's distribution at its depth."""
    none = torch.full_like(walk.accepted, NO_MISS)
    if drafted is None:
        return none, torch.zeros_like(none)
    depths = drafted.logits.shape[0]
    depth = walk.accepted.clamp(max=depths - 1)
    score = pick(pick(drafted.logits, depth), walk.bonus)
    was_drafted = (walk.accepted < depths) & (walk.accepted + 1 < text.remaining)
    rank = torch.where(was_drafted, drafted.better.sum(), none)
    return rank, score - pick(drafted.logsumexp, depth)


def _not_finite(statistics: RowStatistics, drafted: Drafted | None) -> Tensor:
    finite = torch.where(torch.isfinite(statistics.logsumexp).all(), 0, TARGET)
    if drafted is None:
        return finite
    return torch.where(torch.isfinite(drafted.logsumexp).all(), finite, DRAFTER)
