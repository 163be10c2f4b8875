"""The kernels that build draft trees against their twins: same order, same nodes, place for place.

Shared like ``kernel_checks``; an error of 1 says that something is not equal.
"""

from __future__ import annotations

from types import SimpleNamespace

import torch
from kernel_checks import Errors
from torch import Tensor

from engine.ddtree import DraftTree, build_tree_from_candidates
from engine.kernels import draft_tree
from engine.kernels.draft_tree import BuiltTree, Candidates

COLUMNS = "token_ids parents depths logprobs ranks".split()


def draft_logits(
    depths: int, vocab: int, dtype: torch.dtype = torch.float32, device: str = "cpu", seed: int = 0
) -> Tensor:
    """Logits (D, V); depths take turns at being usual, full of ties, zeros of both signs, partly -inf,
    ascending and descending."""
    generator = torch.Generator().manual_seed(seed)
    logits = 4 * torch.randn(depths, vocab, generator=generator)
    for depth in range(depths):
        row, kind = logits[depth], (depth + seed) % 6
        if kind == 1:
            row.copy_((row / 2).round())
        if kind == 2:
            row.copy_(torch.where(row > 0, 0.0, -0.0))
        if kind == 3:
            row[: vocab // 3] = -torch.inf
        if kind in (4, 5):
            row.copy_(row.sort(descending=kind == 5).values)
    return logits.to(dtype).to(device)


def check_candidates(
    kernels: SimpleNamespace,
    device: str,
    depths: int,
    vocab: int,
    count: int,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Errors:
    """Ids in the twin's order; log-probabilities and their normaliser up to the order of a float32 sum."""
    logits = draft_logits(depths, vocab, dtype, device, seed)
    got = kernels.tree_candidates(logits, count)
    expected = draft_tree.tree_candidates_torch(logits, count)
    gap = (got.logprobs.double() - expected.logprobs.double()).nan_to_num(0.0, 0.0, 0.0).abs()
    infinite = torch.equal(got.logprobs.isfinite(), expected.logprobs.isfinite())
    return {
        "ids": unequal(got.ids, expected.ids),
        "logprobs": float((gap / expected.lse[:, None].abs().clamp(min=1.0)).max()),
        "-inf": float(not infinite),
        "lse": float(((got.lse - expected.lse) / expected.lse.abs().clamp(min=1.0)).abs().max()),
        "above 0": float((got.logprobs > 0).any()),
    }


def check_broken_candidates(kernels: SimpleNamespace, device: str, vocab: int, count: int) -> Errors:
    """Logits that are not finite are told, depth by depth, and lead to no id beyond the vocabulary."""
    logits = draft_logits(4, vocab, torch.bfloat16, device)
    logits[0, vocab // 2 :: 7] = torch.nan
    logits[1] = -torch.inf
    logits[2, vocab - 1] = torch.inf
    got = kernels.tree_candidates(logits, count)
    expected = draft_tree.tree_candidates_torch(logits, count)
    built = kernels.build_tree(got, count, *scalars(device, 7, 10**6))
    return {
        "ids": unequal(got.ids, expected.ids),
        "lse": unequal(got.lse.isfinite(), torch.tensor([False, False, False, True], device=device)),
        "nan": float(not got.logprobs[0].isnan().all()),
        "nodes": float(built.is_node.any()),  # none without a first depth
        "row ids": float(not ((built.row_ids >= 0) & (built.row_ids < vocab)).all()),
    }


def check_tree(
    kernels: SimpleNamespace,
    device: str,
    depths: int,
    vocab: int,
    places: int,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Errors:
    """Trees and chains from the twin's candidates, with limits on depth and nodes."""
    logits = draft_logits(depths, vocab, dtype, device, seed)
    errors: Errors = {}
    for count in (places, 1):
        candidates = draft_tree.tree_candidates_torch(logits, count)
        for remaining in (10**6, depths // 2 + 1, 1):
            for budget in (None, max(1, places // 2)):
                limits = scalars(device, 7, remaining, *([] if budget is None else [budget]))
                got = kernels.build_tree(candidates, places, *limits)
                expected = draft_tree.build_tree_torch(candidates, places, *limits)
                errors[f"{count} {remaining} {budget}"] = differs(got, expected)
    return errors


def check_whole_build(
    kernels: SimpleNamespace,
    device: str,
    depths: int,
    vocab: int,
    places: int,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Errors:
    """From the kernels' own candidates, the plain builder's tree."""
    own: Candidates = kernels.tree_candidates(draft_logits(depths, vocab, dtype, device, seed), places)
    built: BuiltTree = kernels.build_tree(own, places, *scalars(device, 7, 10**6))
    plain = build_tree_from_candidates(own.ids.cpu(), own.logprobs.cpu(), places)
    return {
        "tree": trees_differ(built.tree.keep(built.is_node), plain),
        "rows": unequal(built.visible, built.tree.visibility()),
    }


def scalars(device: str, *values: int) -> list[Tensor]:
    """Root id, tokens remaining and budget as the engine keeps them."""
    root, *limits = values
    return [torch.tensor([root], device=device), *(torch.tensor(limit, device=device) for limit in limits)]


def unequal(got: Tensor, expected: Tensor) -> float:
    return float(got.dtype != expected.dtype or not torch.equal(got, expected))


def trees_differ(got: DraftTree, expected: DraftTree) -> float:
    return max(unequal(getattr(got, name).cpu(), getattr(expected, name).cpu()) for name in COLUMNS)


def differs(got: BuiltTree, expected: BuiltTree) -> float:
    """1 when anything is not equal."""
    rows = max(unequal(a, b) for a, b in zip(got[1:], expected[1:], strict=True))
    return max(rows, trees_differ(got.tree, expected.tree))
