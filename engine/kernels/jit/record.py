"""The kernel that ends a round."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels.jit.launch import innermost_contiguous, on_device, packed, power_of_two
from engine.kernels.record import DRAFTER, NO_MISS, TARGET, Chosen, Drafted
from engine.kernels.walk import Text, Walk

ROWS = 128
"""Rows of the tree a program writes."""


@triton.jit
def _put(record, values, mask):
    """Integers as they are, floats as their bits."""
    if values.dtype.is_floating():
        values = values.to(tl.float32).to(tl.int32, bitcast=True)
    tl.store(record, values.to(tl.int32), mask=mask)


@triton.jit
def _close_round(
    record, token_ids, parents, depths, ranks, logprobs, is_node, choices, logits, best_at, second_at,
    logsumexp_at, draft_logits, draft_logsumexp, better,
    tokens, path, accepted_at, bonus_at, count_at, ended_at, length_at, root_id_at,
    remaining_at, done_at, feature_rows_at, logits_row, draft_row, R, D, parts,
    STEPS: tl.constexpr, BS: tl.constexpr, BR: tl.constexpr, BALL: tl.constexpr, BD: tl.constexpr,
    BP: tl.constexpr, DRAFTED: tl.constexpr, NO_MISS: tl.constexpr, DRAFTER: tl.constexpr,
    TARGET: tl.constexpr,
):  # fmt: skip
    n = R - 1
    rows = tl.program_id(0) * BR + tl.arange(0, BR)
    known = rows < R
    choice = tl.load(choices + rows, mask=known, other=0)
    best = tl.load(best_at + rows, mask=known, other=0.0)
    second = tl.load(second_at + rows, mask=known, other=0.0)
    logsumexp = tl.load(logsumexp_at + rows, mask=known, other=0.0)
    score = tl.load(logits + rows.to(tl.int64) * logits_row + choice, mask=known, other=0.0).to(tl.float32)
    by_row = record + 8 + 2 * STEPS
    _put(by_row + rows, choice, known)
    by_node = by_row + R
    nodes = rows < n
    _put(by_node + rows, tl.load(token_ids + rows, mask=nodes, other=0), nodes)
    _put(by_node + n + rows, tl.load(parents + rows, mask=nodes, other=0), nodes)
    _put(by_node + 2 * n + rows, tl.load(depths + rows, mask=nodes, other=0), nodes)
    _put(by_node + 3 * n + rows, tl.load(ranks + rows, mask=nodes, other=0), nodes)
    _put(by_node + 4 * n + rows, tl.load(is_node + rows, mask=nodes, other=0), nodes)
    floats = by_node + 5 * n
    _put(floats + 1 + rows, score - logsumexp, known)
    _put(floats + 1 + R + rows, best - second, known)
    _put(floats + 1 + 2 * R + rows, tl.load(logprobs + rows, mask=nodes, other=0.0), nodes)
    if tl.program_id(0) == 0:
        length = tl.load(length_at)
        root_id = tl.load(root_id_at)
        accepted = tl.load(accepted_at)
        bonus = tl.load(bonus_at)
        count = tl.load(count_at)
        remaining = tl.load(remaining_at)
        done = tl.load(done_at)
        ended = tl.load(ended_at)
        steps = tl.arange(0, BS)
        inside = steps < STEPS
        _put(record + 8 + steps, tl.load(tokens + steps, mask=inside, other=0), inside)
        _put(record + 8 + STEPS + steps, tl.load(path + steps, mask=inside, other=0), inside)

        every = tl.arange(0, BALL)
        sums = tl.load(logsumexp_at + every, mask=every < R, other=0.0)
        finite = tl.min((tl.abs(sums) < float("inf")).to(tl.int32), axis=0)  # not NaN either
        wrong = tl.where(finite != 0, 0, TARGET)
        rank = tl.full((), NO_MISS, tl.int32)
        logprob = tl.full((), 0.0, tl.float32)
        if DRAFTED:
            drafts = tl.arange(0, BD)
            sums = tl.load(draft_logsumexp + drafts, mask=drafts < D, other=0.0)
            finite = tl.min((tl.abs(sums) < float("inf")).to(tl.int32), axis=0)
            wrong = tl.where(finite != 0, wrong, DRAFTER)
            depth = tl.minimum(accepted, D - 1)
            logprob = tl.load(draft_logits + depth.to(tl.int64) * draft_row + bonus).to(tl.float32)
            logprob -= tl.load(draft_logsumexp + depth)
            shares = tl.arange(0, BP)
            before = tl.sum(tl.load(better + shares, mask=shares < parts, other=0), axis=0)
            rank = tl.where((accepted < D) & (accepted + 1 < remaining), before, NO_MISS)
        _put(record, length, None)
        _put(record + 1, root_id, None)
        _put(record + 2, accepted, None)
        _put(record + 3, bonus, None)
        _put(record + 4, count, None)
        _put(record + 5, ended, None)
        _put(record + 6, rank, None)
        _put(record + 7, wrong, None)
        _put(floats, logprob, None)

        tl.debug_barrier()  # all warps have read what one now writes
        if done == 0:
            tl.store(root_id_at, tl.load(tokens + tl.maximum(count - 1, 0)))
        tl.store(length_at, length + count)
        tl.store(feature_rows_at, tl.load(feature_rows_at) + count)
        tl.store(remaining_at, remaining - count)
        tl.store(done_at, ended)


def close_round(
    tree: DraftTree, is_node: Tensor, chosen: Chosen, drafted: Drafted | None, walk: Walk, text: Text
) -> Tensor:
    """``engine.kernels.record.close_round``."""
    logits, statistics, choices = chosen
    R, steps = logits.shape[0], walk.path.shape[0]
    innermost_contiguous(logits, *([] if drafted is None else [drafted.logits]))
    record = choices.new_empty(9 + 2 * steps + 3 * R + 6 * (R - 1), dtype=torch.int32)
    # Any tensors do where there is no drafter.
    draft_logits, sums, better = (logits, statistics.logsumexp, choices) if drafted is None else drafted
    D, parts = sums.shape[0], better.shape[0]
    done, ended = text.done.view(torch.uint8), walk.ended.view(torch.uint8)
    with on_device(logits):
        _close_round[(triton.cdiv(R, ROWS),)](
            record, packed(tree.token_ids), packed(tree.parents), packed(tree.depths), packed(tree.ranks),
            packed(tree.logprobs), packed(is_node).view(torch.uint8), packed(choices), logits,
            *map(packed, statistics[1:]), draft_logits, packed(sums), packed(better),
            walk.tokens, walk.path, walk.accepted, walk.bonus, walk.count, ended,
            text.length, text.root_id, text.remaining, done, text.feature_rows,
            logits.stride(0), draft_logits.stride(0), R, D, parts,
            steps, power_of_two(steps), min(ROWS, power_of_two(R)), power_of_two(R), power_of_two(D),
            power_of_two(parts), drafted is not None, NO_MISS, DRAFTER, TARGET, num_warps=4,
        )  # fmt: skip
    return record
