"""What a cache holds after some tokens, in a form that the engine's and transformers' caches share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from engine.cache import DeltaState, TargetCache

What = Literal["output", "features", "keys", "values", "window", "state"]
BY_ROW: frozenset[What] = frozenset({"features", "keys", "values"})
"""Compared token by token; the others as a whole."""
BROKEN = 1e30
"""The error of what is of another shape, or no number."""


@dataclass(frozen=True)
class Held:
    """Per layer, ``keys`` and ``values`` (rows, H, d) of the last tokens, or ``window`` (K - 1, C) and
    ``state`` (H, dk, dv) of a recurrent layer."""

    layers: list[dict[What, Tensor]]

    @classmethod
    @torch.inference_mode()
    def copied(cls, cache: TargetCache, rows: int) -> Held:
        """What the engine's cache holds: keys and values of the last ``rows`` of its tokens. Copies."""
        layers: list[dict[What, Tensor]] = []
        for layer in cache.layers:
            if isinstance(layer, DeltaState):
                assert layer.window is not None
                assert layer.state is not None
                layers.append({"window": layer.window.clone(), "state": layer.state.clone()})
            else:
                first = max(0, layer.length - rows)
                keys, values = (part[0, :, first:].transpose(0, 1).clone() for part in layer.committed())
                layers.append({"keys": keys, "values": values})
        return cls(layers)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(part.nbytes for parts in self.layers for part in parts.values())


def relative_errors(what: What, found: Tensor, alone: Tensor) -> Tensor:
    """Norm of the difference over that of the target alone: float64, of every row, or (1,) of the whole.

    Where one of the two has fewer rows, the last ones are compared.
    """
    if what in BY_ROW:
        rows = min(len(found), len(alone))
        found, alone = found[len(found) - rows :], alone[len(alone) - rows :]
    else:
        found, alone = found[None], alone[None]
    if found.shape != alone.shape:
        return torch.full((len(found),), BROKEN, dtype=torch.float64)
    found, alone = (part.to(alone.device, torch.float64).flatten(1) for part in (found, alone))
    smallest = torch.finfo(torch.float32).tiny
    errors = (found - alone).norm(dim=1) / alone.norm(dim=1).clamp(min=smallest)
    bounded: Tensor = errors.nan_to_num(BROKEN, BROKEN).clamp(max=BROKEN)
    return bounded
