"""The frozen target in training: transformers' own model, run on whole batches."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor


def tap(target: Any, ids: Tensor, layers: tuple[int, ...]) -> Tensor:
    """Outputs of the target's layers side by side: (N, T, taps * hidden). Layer i's output is entry i + 1 of
    transformers' hidden states, whose entry 0 is the embedding and whose last is behind the final norm."""
    states = target.model(input_ids=ids, use_cache=False, output_hidden_states=True).hidden_states
    return torch.cat([states[layer + 1] for layer in layers], dim=-1)


def embedding_matrix(target: Any) -> Tensor:
    """The target's input embeddings: (vocabulary, hidden)."""
    return cast(Tensor, target.get_input_embeddings().weight)
