"""Whether the target is quantised, while its drafter was trained on the unquantised one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from engine.detectors.found import found
from engine.events import Finding

if TYPE_CHECKING:
    from engine.pair import Pair
    from engine.target import Target

STRETCH = 32
"""Weights side by side; the ways to quantise share scales among that many or more."""
STRETCHES = 64
FEW_LEVELS = 16
"""What four bits can tell apart."""


def check_quantised(pair: Pair) -> Iterator[Finding]:
    """By what was loaded, and by the values of the weights themselves: those turned back into plain ones keep
    their few levels."""
    if pair.drafter is None:
        return
    method = pair.info.target.quantization
    if pair.target.quantised or method is not None:
        name = f" ({method})" if method else ""
        yield found(
            "quantised-target",
            f"The target's weights are quantised{name}, and nothing says that its drafter was trained on "
            "such weights.",
            severity="warning",
            method=method,
        )
        return
    share, module = few_levels(pair.target)
    if share > 0.9:
        yield found(
            "quantised-target",
            f"The target's weights are plain, but {share:.0%} of {STRETCHES} stretches of {STRETCH} weights "
            f"in {module} take at most {FEW_LEVELS} values: they were quantised before.",
            severity="note",
            share=round(share, 3),
            module=module,
        )


def few_levels(target: Target) -> tuple[float, str]:
    """Of the widest plain linear layer: the share of stretches that take ``FEW_LEVELS`` values or fewer, and
    the layer's name."""
    name, weight = "", None
    for each, module in target.model.named_modules():
        if not isinstance(module, nn.Linear) or module is target.head or not _is_plain(module.weight):
            continue
        if weight is None or module.weight.numel() > weight.numel():
            name, weight = each, module.weight
    if weight is None or weight.shape[1] < STRETCH:
        return 0.0, name
    rows = torch.linspace(0, weight.shape[0] - 1, STRETCHES, device=weight.device).long()
    stretches = weight[rows, :STRETCH].float().cpu()
    levels = [len(stretch.unique()) for stretch in stretches]
    return sum(count <= FEW_LEVELS for count in levels) / len(levels), name


def _is_plain(weight: Tensor) -> bool:
    return weight.is_floating_point() and not hasattr(type(weight), "__tensor_flatten__")
