"""Many replies at once through transformers' own ``generate``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import GenerationConfig

# Those that give zeros, not NaN, for a row that may see nothing: the padding's.
_KERNELS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@torch.inference_mode()
def generate_batch(
    model: Any,
    prompts: Sequence[Sequence[int]],
    limit: int,
    *,
    temperature: float = 0.0,
    seed: int = 0,
    stop_ids: Iterable[int] | None = None,
) -> list[list[int]]:
    """Replies to prompts of any lengths, each ending in its stop token unless it hit the limit.

    Prompts are padded on the left; the padding is masked, so it enters neither attention, convolution nor
    recurrent state, and positions start at 0 behind it.

    Args:
        limit: most tokens of a reply.
        temperature: 0 is greedy.
        stop_ids: None takes those of the model's config.
    """
    device = model.device
    pad_id = model.config.pad_token_id or 0
    stops = set(_stop_ids(model) if stop_ids is None else stop_ids)
    width = max(len(prompt) for prompt in prompts)
    ids = torch.full((len(prompts), width), pad_id, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(list(prompt), dtype=torch.long)
        mask[row, width - len(prompt) :] = 1
    sampled = (
        {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
        if temperature > 0
        else {"do_sample": False}
    )
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=limit,
        pad_token_id=pad_id,
        eos_token_id=sorted(stops),
        repetition_penalty=1.0,  # what is not said is taken from the model's own generation config
        **sampled,
    )
    torch.manual_seed(seed)
    with sdpa_kernel(_KERNELS):
        rows = model.generate(
            input_ids=ids.to(device), attention_mask=mask.to(device), generation_config=config
        )
    return [_cut(row, stops) for row in rows[:, width:].tolist()]


def _stop_ids(model: Any) -> list[int]:
    stops = model.config.eos_token_id
    return [stops] if isinstance(stops, int) else list(stops or [])


def _cut(row: list[int], stops: set[int]) -> list[int]:
    """Up to and with the first stop token; what follows it is padding."""
    for place, token in enumerate(row):
        if token in stops:
            return row[: place + 1]
    return row
