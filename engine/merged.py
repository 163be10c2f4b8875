"""Linears that read the same rows, run as one: fewer launches, none of them too small to fill a GPU.

Their weights move into one buffer, one behind the other, and the modules' own weights become views of it.
No weight is held twice, and whoever calls a module alone gets what it gave before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

TOGETHER = (
    ("q_proj", "k_proj", "v_proj"),
    ("gate_proj", "up_proj"),
    ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"),
    ("in_proj_qkvz", "in_proj_ba"),
)
"""Names of linears that read the same rows where one module has them all."""

FEW_ROWS = 17
LARGE = 16384
QUARTERED_INPUTS = 5120
QUARTERED_OUTPUTS = range(5120, 20480)
"""Where the matrix library's own choice of a kernel loses time: ``tests/gpu/sweep_linears.py`` on an H200
with the weights of the Qwen3.6-27B shape in bfloat16. It cuts the long sums of ``down_proj`` into pieces to
be added up later, and its tiles for the merged projections of attention (65 rows) and of gated-delta layers
(one row) do not come out even with the chip; in a batch of four, neither happens. The rule looks at sizes
alone, so that the same rows always give the same numbers, and leaves as it is what was not measured."""


def merge_all(model: nn.Module) -> None:
    """Merge the linears of ``TOGETHER`` in every module, one group after another."""
    for module in model.modules():
        for names in TOGETHER:
            if all(isinstance(getattr(module, name, None), nn.Module) for name in names):
                merge([getattr(module, name) for name in names])


@torch.no_grad()
def merge(linears: Sequence[nn.Module]) -> None:
    """Move the weights, and the biases, one behind the other; while they move they are in memory twice.

    Linears stay apart that are not alike or not plain: quantised, sharded, offloaded, hooked, or with weights
    that lie in a larger storage, which moving would not free. So do those for which there is no room.
    """
    if not _alike(linears) or adjacent(linears):
        return
    if any(part.untyped_storage().nbytes() > part.nbytes for parts in _parts(linears) for part in parts):
        return
    try:
        for parts in _parts(linears):
            _move(parts)
    except torch.OutOfMemoryError:
        return


def _move(parts: Sequence[Tensor]) -> None:
    with torch.inference_mode(parts[0].is_inference()):  # a tensor takes no data of the other kind
        whole = torch.cat([part.data for part in parts])
        for part, place in zip(parts, torch.split(whole, [len(part) for part in parts]), strict=True):
            part.data = place
    if whole.is_cuda:
        # The freed pieces are too small for the next group: give them back before it is allocated.
        torch.cuda.empty_cache()


def adjacent(linears: Sequence[nn.Module]) -> bool:
    """Whether the weights lie one behind the other, and so do the biases."""
    return _alike(linears) and all(
        a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
        and a.data_ptr() + a.nbytes == b.data_ptr()
        for parts in _parts(linears)
        for a, b in pairwise(parts)
    )


def project(rows: Tensor, *linears: Any) -> Sequence[Tensor]:
    """What each of the linears makes of rows (..., in): strided views of one result if they are merged.

    Where gradients are recorded each runs by itself: the joined weight is known to autograd as the first's.
    """
    if torch.is_grad_enabled() or not adjacent(linears):
        return [linear(rows) for linear in linears]
    sizes = [linear.out_features for linear in linears]
    if rows.is_cuda and apart(rows.numel() // rows.shape[-1], sizes):
        return [F.linear(rows, linear.weight, linear.bias) for linear in linears]
    firsts = [parts[0] for parts in _parts(linears)]
    whole = [first.as_strided((sum(sizes), *first.shape[1:]), first.stride()) for first in firsts]
    if rows.is_cuda and len(whole) == 1 and quartered(*whole[0].shape):
        return torch.split(project_in_quarters(rows, whole[0]), sizes, dim=-1)
    return torch.split(F.linear(rows, *whole), sizes, dim=-1)


def apart(rows: int, sizes: Sequence[int]) -> bool:
    """Whether merged linears of so many outputs are faster one by one: if all are large, on many rows."""
    return rows > FEW_ROWS and len(sizes) > 1 and min(sizes) >= LARGE


def quartered(outputs: int, inputs: int) -> bool:
    """Whether a weight is faster as four products of a quarter of its outputs each, whatever the rows."""
    return inputs >= QUARTERED_INPUTS and outputs in QUARTERED_OUTPUTS and outputs % 32 == 0


def project_in_quarters(rows: Tensor, weight: Tensor) -> Tensor:
    """``F.linear(rows, weight)`` as a batch of four products, side by side: (..., in) to (..., out)."""
    outputs, inputs = weight.shape
    flat = rows.reshape(-1, inputs)
    result = rows.new_empty(len(flat), 4, outputs // 4)
    torch.bmm(flat.expand(4, -1, -1), weight.view(4, -1, inputs).mT, out=result.transpose(0, 1))
    return result.view(*rows.shape[:-1], outputs)


def project_stacked(rows: Tensor, groups: Sequence[Sequence[Any]]) -> Tensor | None:
    """What groups of merged linears make of rows (R, in), in one launch: (groups, R, out of a group).

    None unless the groups are of the same sizes, without biases, in one buffer and at equal distances.
    """
    sizes = {tuple(linear.out_features for linear in group) for group in groups}
    if len(sizes) > 1 or not all(adjacent(group) and group[0].bias is None for group in groups):
        return None
    firsts = [group[0].weight for group in groups]
    distances = {b.storage_offset() - a.storage_offset() for a, b in pairwise(firsts)}
    if len({first.untyped_storage().data_ptr() for first in firsts}) > 1 or len(distances) > 1:
        return None
    shape = (len(groups), rows.shape[1], sum(sizes.pop()))
    weights = firsts[0].as_strided(shape, (distances.pop() if distances else 0, 1, rows.shape[1]))
    return torch.bmm(rows.expand(len(groups), -1, -1), weights)


def _parts(linears: Sequence[Any]) -> list[list[Tensor]]:
    """The weights of linears that are alike, and their biases if they have some."""
    parts = [[linear.weight for linear in linears], [linear.bias for linear in linears]]
    return parts[:1] if parts[1][0] is None else parts


def _alike(linears: Sequence[Any]) -> bool:
    """Whether all are plain linears of rows of one kind, so that weights say all about them."""
    return all(type(linear) is nn.Linear and not _hooked(linear) for linear in linears) and (
        len({_kind(linear) for linear in linears}) == 1
        and all(_plain(part) for linear in linears for part in (linear.weight, linear.bias))
    )


def _hooked(linear: Any) -> bool:
    return bool(linear._forward_hooks or linear._forward_pre_hooks or "forward" in vars(linear))


def _kind(linear: Any) -> tuple[Any, ...]:
    return linear.in_features, linear.weight.dtype, linear.weight.device, linear.bias is None


def _plain(part: Any) -> bool:
    return part is None or (type(part.data) is Tensor and part.device.type != "meta" and part.is_contiguous())
