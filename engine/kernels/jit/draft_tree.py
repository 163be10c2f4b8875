"""Kernels that build the draft tree.

Candidates in two passes. The first reads the logits once, in their own type, and leaves the best of every
group of neighbouring ids, and sums for the softmax. The K best entries of a depth stand in the K groups whose
bests are largest (were one elsewhere, K groups would hold something better), so the second pass finds
these groups, then the K best of what they hold. Either search is for the K-th largest of some thousand
integers, a bit at a time; nothing but the K found is sorted, and nothing depends on how the logits lie.

The tree best-first, one node at a time: a node's two successors are its next sibling and its first child, so
at most one more node is open than was taken, and the open ones fit into the registers of one program.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels.draft_tree import BuiltTree, Candidates
from engine.kernels.jit.launch import innermost_contiguous, on_device, packed, power_of_two

EMPTY_BITS = {torch.bfloat16: 16, torch.float16: 13, torch.float32: 0}
"""Low bits that are the same in all floats of a type, when written as float32."""

CHUNK = 4096
"""Most logits per program of the first pass."""

LARGEST = tl.constexpr(0x7FFFFFFF)
INFINITY = tl.constexpr(0x7F800000)  # its bits
# A node as one integer in tie order: depth from 0, parent + 1 (0 is the root), rank.
FIELD = tl.constexpr(10)
FIELD_MASK = tl.constexpr(1023)
MAX_PLACES = 1 << FIELD.value
MAX_DEPTHS = 1 << (31 - 2 * FIELD.value)


@triton.jit
def _ordered(x, SHIFT: tl.constexpr):
    """Integers in the order of the floats, -0.0 like 0.0."""
    bits = tl.where(x == 0.0, 0.0, x).to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits) >> SHIFT


@triton.jit
def _largest(keys, wanted, BITS: tl.constexpr):
    """The ``wanted`` largest of some integers of BITS bits, of equals the first: which, and places for them
    in the order they stand in."""
    least = tl.where(tl.sum((keys >= 0).to(tl.int32), axis=0) >= wanted, 0, -(1 << (BITS - 1)))
    for step in range(BITS - 1):
        higher = least + (1 << (BITS - 2 - step))
        enough = tl.sum((keys >= higher).to(tl.int32), axis=0) >= wanted
        least = tl.where(enough, higher, least)
    above = keys > least
    tied = keys == least
    room = wanted - tl.sum(above.to(tl.int32), axis=0)
    chosen = above | (tied & (tl.cumsum(tied.to(tl.int32), axis=0) <= room))
    return chosen, tl.cumsum(chosen.to(tl.int32), axis=0) - 1


@triton.jit
def _summarise(
    logits, bests, highs, sums, row, V, groups,
    GROUP: tl.constexpr, CHUNK: tl.constexpr, SHIFT: tl.constexpr,
):  # fmt: skip
    chunk = tl.program_id(0)
    depth = tl.program_id(1)
    group = chunk * (CHUNK // GROUP) + tl.arange(0, CHUNK // GROUP)
    ids = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]
    x = tl.load(logits + depth.to(tl.int64) * row + ids, mask=ids < V, other=float("-inf")).to(tl.float32)
    tl.store(bests + depth * groups + group, tl.max(_ordered(x, SHIFT), axis=1), mask=group < groups)
    high = tl.max(tl.max(x, axis=1), axis=0)
    anchor = tl.where(high == float("-inf"), 0.0, high)
    total = tl.sum(tl.sum(tl.exp(x - anchor), axis=1), axis=0)
    place = depth * tl.num_programs(0) + chunk
    tl.store(highs + place, high)
    tl.store(sums + place, total)


@triton.jit
def _candidates(
    logits, bests, highs, sums, kept, found, ids_out, logprobs, lse, row, V, K, groups, wanted, chunks,
    GROUP: tl.constexpr, BG: tl.constexpr, BK: tl.constexpr, BC: tl.constexpr, SHIFT: tl.constexpr,
):  # fmt: skip
    BITS: tl.constexpr = 32 - SHIFT
    LOWEST: tl.constexpr = -(1 << (BITS - 1))
    depth = tl.program_id(0)
    line = logits + depth.to(tl.int64) * row
    # What pads stands behind all that is real, hence is never chosen.
    group = tl.arange(0, BG)
    best = tl.load(bests + depth * groups + group, mask=group < groups, other=LOWEST)
    chosen, place = _largest(best, wanted, BITS)
    tl.store(kept + depth * BK + place, group, mask=chosen)
    tl.debug_barrier()

    entry = tl.arange(0, BK * GROUP)
    place = entry // GROUP
    ids = tl.load(kept + depth * BK + place, mask=place < wanted, other=0) * GROUP + entry % GROUP
    real = (place < wanted) & (ids < V)
    x = tl.load(line + ids, mask=real, other=0.0).to(tl.float32)
    keys = tl.where(real, _ordered(x, SHIFT), LOWEST)
    chosen, place = _largest(keys, K, BITS)
    tl.store(found + depth * BK + place, (keys.to(tl.int64) << 32) | (LARGEST - ids), mask=chosen)
    tl.debug_barrier()

    rank = tl.arange(0, BK)
    both = tl.load(found + depth * BK + rank, mask=rank < K, other=-(1 << 63))
    best_ids = LARGEST - (tl.sort(both, descending=True) & LARGEST)
    score = tl.load(line + best_ids, mask=rank < K, other=0.0).to(tl.float32)
    chunk = tl.arange(0, BC)
    highs_c = tl.load(highs + depth * chunks + chunk, mask=chunk < chunks, other=float("-inf"))
    sums_c = tl.load(sums + depth * chunks + chunk, mask=chunk < chunks, other=0.0)
    high = tl.max(highs_c, axis=0)
    # NaN when anything is, or when the highest is infinite.
    weight = tl.log(tl.sum(sums_c * tl.exp(highs_c - high), axis=0))
    logprob = (score - high) - weight
    tl.store(ids_out + depth * K + rank, best_ids.to(tl.int64), mask=rank < K)
    tl.store(logprobs + depth * K + rank, tl.where(logprob > 0.0, 0.0, logprob), mask=rank < K)
    tl.store(lse + depth, high + weight)


@triton.jit
def _further(cost, logprob):
    """The cost, -Σ log q, of a path that goes on, as its bits: no cost is negative, so they sort like it."""
    longer = cost.to(tl.float32, bitcast=True) - logprob
    return tl.where(longer >= 0.0, longer, float("inf")).to(tl.int32, bitcast=True)


@triton.jit
def _grow(
    logprobs, remaining, budget, nodes, drafted, D, K, places,
    SLOTS: tl.constexpr, HAS_BUDGET: tl.constexpr,
):  # fmt: skip
    deepest = tl.minimum(tl.load(remaining) - 1, D).to(tl.int32)  # the bonus token takes one
    most = places
    if HAS_BUDGET:
        most = tl.minimum(tl.load(budget), places).to(tl.int32)
    slot = tl.arange(0, SLOTS)
    first = tl.load(logprobs, mask=deepest > 0, other=float("-inf"))
    # The open nodes: costs of their paths and of those of their parents, and what they are.
    costs = tl.where(slot == 0, _further(slot * 0, first), INFINITY)
    above = slot * 0
    codes = tl.where(slot == 0, 0, -1)
    count = 0
    best = tl.min(costs, axis=0)
    while (count < most) & (best < INFINITY):
        code = tl.min(tl.where(costs == best, codes, LARGEST), axis=0)
        taken = codes == code
        parent_cost = tl.min(tl.where(taken, above, LARGEST), axis=0)
        tl.store(nodes + count, code)
        depth = code >> (2 * FIELD)
        rank = code & FIELD_MASK
        another = rank + 1 < K
        deeper = depth + 1 < deepest
        sibling = tl.load(logprobs + depth * K + rank + 1, mask=another, other=float("-inf"))
        child = tl.load(logprobs + (depth + 1) * K, mask=deeper, other=float("-inf"))
        count += 1
        # The sibling takes the place of the node, the child a new one.
        costs = tl.where(taken, _further(parent_cost, sibling), costs)
        codes = tl.where(taken, tl.where(another, code + 1, -1), codes)
        new = slot == count
        costs = tl.where(new, _further(best, child), costs)
        above = tl.where(new, best, above)
        codes = tl.where(new, ((depth + 1) << (2 * FIELD)) | (count << FIELD), codes)
        best = tl.min(costs, axis=0)
    tl.store(drafted, count)


@triton.jit
def _lay_out(
    ids, logprobs, root_id, nodes, drafted,
    row_ids, parents, row_parents, row_depths, node_logprobs, ranks, is_node, visible, D, K, R,
    BR: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    node = row - 1
    of_tree = node < tl.load(drafted)
    # What is no node: the code of the first node.
    code = tl.load(nodes + node, mask=(node >= 0) & of_tree, other=0)
    depth = code >> (2 * FIELD)
    rank = code & FIELD_MASK
    parent = ((code >> FIELD) & FIELD_MASK) - 1
    place = (node >= 0) & (row < R)
    token = tl.load(ids + depth * K + rank, mask=place, other=0)
    logprob = tl.load(logprobs + depth * K + rank, mask=place & of_tree, other=float("-inf"))
    tl.store(row_ids + row, tl.where(node < 0, tl.load(root_id), token), mask=row < R)
    tl.store(row_parents + row, tl.where(node < 0, -1, parent + 1).to(tl.int64), mask=row < R)
    tl.store(row_depths + row, tl.where(node < 0, 0, depth + 1).to(tl.int64), mask=row < R)
    tl.store(parents + node, parent.to(tl.int64), mask=place)
    tl.store(ranks + node, rank.to(tl.int64), mask=place)
    tl.store(node_logprobs + node, logprob, mask=place)
    tl.store(is_node + node, of_tree.to(tl.uint8), mask=place)

    column = tl.arange(0, BC)[None, :]
    seen = (column == 0) | (column == row[:, None])
    for _ in range(D - 1):
        seen |= column == parent[:, None] + 1
        code = tl.load(nodes + parent, mask=parent >= 0, other=0)
        parent = ((code >> FIELD) & FIELD_MASK) - 1
    tl.store(visible + row[:, None] * R + column, seen.to(tl.uint8), mask=(row[:, None] < R) & (column < R))


def tree_candidates(logits: Tensor, count: int) -> Candidates:
    """``engine.kernels.draft_tree.tree_candidates``."""
    innermost_contiguous(logits)
    (D, V), K = logits.shape, min(count, logits.shape[-1])
    BK, shift = power_of_two(K), EMPTY_BITS[logits.dtype]
    group = _group(V, BK)
    groups = triton.cdiv(V, group)
    chunk = max(group, min(CHUNK, power_of_two(V)))
    chunks = triton.cdiv(V, chunk)
    bests = logits.new_empty(D, groups, dtype=torch.int32)
    highs, sums = logits.new_empty(2, D, chunks, dtype=torch.float32)
    kept, found = logits.new_empty(D, BK, dtype=torch.int32), logits.new_empty(D, BK, dtype=torch.int64)
    ids = logits.new_empty(D, K, dtype=torch.int64)
    logprobs, lse = (logits.new_empty(shape, dtype=torch.float32) for shape in ((D, K), (D,)))
    BG = power_of_two(groups)
    with on_device(logits):
        _summarise[(chunks, D)](
            logits, bests, highs, sums, logits.stride(0), V, groups, group, chunk, shift, num_warps=4
        )
        _candidates[(D,)](
            logits, bests, highs, sums, kept, found, ids, logprobs, lse, logits.stride(0), V, K, groups,
            min(K, groups), chunks, group, BG, BK, power_of_two(chunks), shift,
            num_warps=min(16, max(4, max(BG, BK * group) // 512)),
        )  # fmt: skip
    return Candidates(ids, logprobs, lse)


def _group(vocab: int, count: int) -> int:
    """Ids per group: with about as many groups as entries in those that are kept, there is least to do."""
    return min(512, max(16, power_of_two(round((vocab / count) ** 0.5))))


def build_tree(
    candidates: Candidates, places: int, root_id: Tensor, remaining: Tensor, budget: Tensor | None = None
) -> BuiltTree:
    """``engine.kernels.draft_tree.build_tree``."""
    ids, logprobs = packed(candidates.ids), packed(candidates.logprobs)
    (D, K), R = ids.shape, places + 1
    if places > MAX_PLACES or D > MAX_DEPTHS or K > MAX_PLACES:
        raise ValueError(f"{places} places, {D} depths, {K} candidates: at most {MAX_PLACES}, {MAX_DEPTHS}")
    nodes = ids.new_empty(places + 1, dtype=torch.int32)
    row_ids, row_parents, row_depths = ids.new_empty(3, R)
    parents, ranks = ids.new_empty(2, places)
    node_logprobs, is_node = logprobs.new_empty(places), ids.new_empty(places, dtype=torch.bool)
    visible = ids.new_empty(R, R, dtype=torch.bool)
    slots, BC = max(32, power_of_two(places)), power_of_two(R)  # a warp reduces 32 in one instruction
    BR = min(8, max(1, 8192 // BC))
    with on_device(ids):
        _grow[(1,)](
            logprobs, remaining, remaining if budget is None else budget, nodes, nodes[places:], D, K, places,
            slots, budget is not None, num_warps=1 if slots <= 256 else 4,
        )  # fmt: skip
        _lay_out[(triton.cdiv(R, BR),)](
            ids, logprobs, root_id, nodes, nodes[places:], row_ids, parents, row_parents, row_depths,
            node_logprobs, ranks, is_node.view(torch.uint8), visible.view(torch.uint8), D, K, R, BR, BC,
            num_warps=4,
        )  # fmt: skip
    tree = DraftTree(row_ids[1:], parents, row_depths[1:], node_logprobs, ranks, places)
    return BuiltTree(tree, is_node, row_ids, row_parents, row_depths, visible)
