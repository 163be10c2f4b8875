"""Kernels of the walk: one program for the tree, one per row and block of the features that follow it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels.jit.launch import innermost_contiguous, on_device, packed, power_of_two
from engine.kernels.walk import Text, Walk


@triton.jit
def _walk(
    choices, token_ids, parents, is_node, remaining_at, done_at, stop_ids,
    tokens, path, accepted_at, bonus_at, count_at, ended_at, n, stops,
    STEPS: tl.constexpr, BS: tl.constexpr, BN: tl.constexpr, BI: tl.constexpr,
):  # fmt: skip
    nodes = tl.arange(0, BN)
    known = nodes < n
    above = tl.load(parents + nodes, mask=known, other=-1).to(tl.int32) + 1
    known &= tl.load(is_node + nodes, mask=known, other=0) != 0
    agreed = known & (tl.load(token_ids + nodes, mask=known, other=-1) == tl.load(choices + above))
    # Rows that the target chose below their parent's; nobody walks to the others.
    above = tl.where(agreed, above, -1)
    steps = tl.arange(0, BS)
    rows = tl.zeros([BS], tl.int32)
    leaf = 0
    accepted = 0
    for step in range(1, STEPS):
        child = tl.max(tl.where(above == leaf, nodes + 1, 0), axis=0)
        accepted += (child > 0).to(tl.int32)
        leaf = tl.where(child > 0, child, leaf)
        rows = tl.where(steps >= step, leaf, rows)
    tl.store(path + steps, rows, mask=steps < STEPS)
    # What the target chose at a row of the path is the token of the next, behind the last the bonus token.
    added = tl.load(choices + rows)
    tl.store(tokens + steps, added, mask=steps < STEPS)

    places = tl.arange(0, BI)
    stop = tl.load(stop_ids + places, mask=places < stops, other=-1)
    is_stop = tl.max((added[:, None] == stop[None, :]).to(tl.int32), axis=1) > 0
    first_stop = tl.min(tl.where(is_stop & (steps <= accepted), steps, STEPS), axis=0)
    remaining = tl.load(remaining_at)
    done = tl.load(done_at) != 0
    whole = tl.minimum(accepted + 1, remaining)
    count = tl.minimum(whole, first_stop + 1)
    tl.store(accepted_at, accepted)
    tl.store(bonus_at, tl.load(choices + leaf))
    tl.store(count_at, tl.where(done, 0, count).to(tl.int32))
    tl.store(ended_at, (done | (first_stop < whole) | (count >= remaining)).to(tl.uint8))


@triton.jit
def _append_rows(buffer, start_at, rows, path, buffer_row, rows_row, F, BF: tl.constexpr):
    step = tl.program_id(0)
    places = tl.program_id(1) * BF + tl.arange(0, BF)
    row = tl.load(path + step).to(tl.int64)
    to = (tl.load(start_at) + step).to(tl.int64)
    x = tl.load(rows + row * rows_row + places, mask=places < F, other=0.0)
    tl.store(buffer + to * buffer_row + places, x.to(buffer.dtype.element_ty), mask=places < F)


def walk_tree(choices: Tensor, tree: DraftTree, is_node: Tensor, text: Text, steps: int) -> Walk:
    """``engine.kernels.walk.walk_tree``."""
    n, stops = tree.token_ids.shape[0], text.stop_ids.shape[0]
    ids = choices.new_empty(steps + 1)
    numbers = choices.new_empty(steps + 2, dtype=torch.int32)
    ended = choices.new_empty((), dtype=torch.bool)
    walk = Walk(ids[:steps], numbers[:steps], numbers[steps], ids[steps], numbers[steps + 1], ended)
    BN = power_of_two(n)
    with on_device(choices):
        _walk[(1,)](
            packed(choices), packed(tree.token_ids), packed(tree.parents), packed(is_node).view(torch.uint8),
            text.remaining, text.done.view(torch.uint8), text.stop_ids,
            walk.tokens, walk.path, walk.accepted, walk.bonus, walk.count, ended.view(torch.uint8), n, stops,
            steps, power_of_two(steps), BN, power_of_two(stops), num_warps=4 if BN > 128 else 1,
        )  # fmt: skip
    return walk


def append_rows(buffer: Tensor, start: Tensor, rows: Tensor, path: Tensor) -> None:
    """``engine.kernels.walk.append_rows``."""
    F = rows.shape[1]
    innermost_contiguous(buffer, rows)
    if not F:
        return
    BF = min(2048, power_of_two(F))
    with on_device(buffer):
        _append_rows[(path.shape[0], triton.cdiv(F, BF))](
            buffer, start, rows, packed(path), buffer.stride(0), rows.stride(0), F, BF, num_warps=4
        )
