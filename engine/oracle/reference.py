"""The target alone: transformers' own forward over transformers' own cache.

The weights are those of ``Target.model``; outside its own passes the model is untouched, and a cache that is
not the engine's takes transformers' way through every layer.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from engine.kernels.backend import wide
from engine.oracle.held import Held, What
from engine.room import PREFILL_CHUNK
from engine.target import Target


@dataclass(frozen=True)
class Reading:
    """What the target alone makes of a piece of text.

    Attributes:
        logits: (k, V), in float32 at least, after each of the last k tokens.
        features: (n, layers · hidden), the outputs of the tapped layers for all n tokens.
    """

    logits: Tensor
    features: Tensor


class Reference:
    """Reads a text from its beginning.

    Args:
        target: its model, and the layers its drafter reads.
        held: what to go on from instead of an empty cache, for ``length`` tokens.
    """

    def __init__(self, target: Target, held: Held | None = None, length: int = 0) -> None:
        self._model = target.model
        self._kinds = target.layer_kinds
        self._tapped = target.tapped
        self._device = target.device
        self._cache: Any = DynamicCache(config=target.model.config)
        self._cache_argument = _cache_argument(target.model)
        self.length = 0
        if held is not None:
            self._go_on_from(held, length)

    @torch.inference_mode()
    def read(self, ids: Sequence[int], last: int | None = None) -> Reading:
        """Read on, ``PREFILL_CHUNK`` tokens in a pass.

        Args:
            ids: at least one token.
            last: for how many of the last tokens logits are wanted; None for all.
        """
        wanted = len(ids) if last is None else last
        logits, features = [], []
        for start in range(0, len(ids), PREFILL_CHUNK):
            piece = ids[start : start + PREFILL_CHUNK]
            # Logits of the tokens from here on; of a piece before them transformers still makes one row.
            kept = min(len(piece), wanted - (len(ids) - start - len(piece)))
            out = self._pass(piece, max(1, kept))
            if kept > 0:
                logits.append(out.logits[0].to(self._device))
            features.append(self._features(out.hidden_states))
        found = torch.cat(logits)
        return Reading(found.to(wide(found.dtype)), torch.cat(features))

    def _pass(self, ids: Sequence[int], kept: int) -> Any:
        out = self._model(
            torch.tensor([ids], device=self._device),
            use_cache=True,
            output_hidden_states=True,
            logits_to_keep=kept,
            **{self._cache_argument: self._cache},
        )
        self.length += len(ids)
        return out

    def _features(self, hidden: Sequence[Tensor]) -> Tensor:
        """Layer i's output is ``hidden_states[i + 1]``, the last one's after the final norm."""
        tapped = [hidden[layer + 1][0].to(self._device) for layer in self._tapped]
        return torch.cat(tapped, dim=-1) if tapped else hidden[0][0, :, :0]

    def held(self, rows: int) -> Held:
        """What the cache holds: keys and values of the last ``rows`` tokens, fewer in a layer whose sliding
        window has dropped some; conv windows and states after all tokens so far."""
        layers: list[dict[What, Tensor]] = []
        for layer, kind in zip(self._cache.layers, self._kinds, strict=True):
            if kind == "linear_attention":
                window = layer.conv_states[0][0].T  # (K, C), of which a convolution reads K - 1
                layers.append({"window": window[1:].clone(), "state": layer.recurrent_states[0][0].clone()})
            else:
                first = max(0, layer.keys.shape[2] - rows)
                keys, values = (part[0, :, first:].transpose(0, 1) for part in (layer.keys, layer.values))
                layers.append({"keys": keys, "values": values})
        return Held(layers)

    @torch.inference_mode()
    def _go_on_from(self, held: Held, length: int) -> None:
        for layer, parts in zip(self._cache.layers, held.layers, strict=True):
            if "state" in parts:
                window = parts["window"]
                layer.update_conv_state(torch.cat((torch.zeros_like(window[:1]), window)).T[None])
                layer.update_recurrent_state(parts["state"][None])
            else:
                keys, values = (parts[name].transpose(0, 1)[None] for name in ("keys", "values"))
                layer.update(keys, values)
        self.length = length


def _cache_argument(model: Any) -> str:
    """Transformers renamed the argument within 5.x."""
    names = inspect.signature(type(model).forward).parameters
    return "cache" if "cache" in names else "past_key_values"
