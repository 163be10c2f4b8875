"""Memory of rounds: at its peak against what is told before loading, and whether it grows."""

from __future__ import annotations

from typing import Any

import torch
from round_pairs import SHAPES

from engine.control import Control
from engine.decode import generate
from engine.events import Round
from engine.model_shape import drafter_shape, target_shape
from engine.pair import Pair

SAMPLE_EVERY = 50
ANSWER = 400
"""Most tokens of one answer, so that memory is also taken and given back between them."""


def told_bytes(shape: str, pair: Pair) -> int:
    """Weights and caches as they are counted before a pair of this shape is loaded."""
    target, drafter = SHAPES[shape]
    itemsize, context = pair.target.dtype.itemsize, pair.target.context_length
    sizes = target_shape(target), drafter_shape(drafter)
    return sum(size.bytes(context, itemsize) for size in sizes)


def start_peak() -> None:
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def peak_bytes() -> int:
    """Most memory allocated since ``start_peak``; 0 without a GPU."""
    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0


def soak(pair: Pair, prompt: int, rounds: int, budget: int) -> dict[str, Any]:
    """So many rounds of ``tree``, answer after answer to a prompt of so many tokens, each in fresh caches.

    Returns:
        Bytes asked for, allocated and reserved, sampled every few rounds, and how much the most of what is
        asked for and reserved is above the most of the first half in the second. (What is allocated is
        rounded up, by up to 1 MiB a tensor, to whatever free block the tensor is given.)
    """
    codec: Any = pair.codec
    codec.length = prompt
    samples: list[dict[str, int]] = []
    answers = done = 0
    start_peak()
    while done < rounds:
        pair.session.reset()
        control = Control()
        answers += 1
        for event in generate(pair, "x", mode="tree", budget=budget, max_new_tokens=ANSWER, control=control):
            if isinstance(event, Round):
                done += 1
                if done % SAMPLE_EVERY == 0:
                    samples.append({"round": done, **_use()})
                if done == rounds:
                    control.cancel()
    middle = len(samples) // 2
    growth = {
        kind: max(sample[kind] for sample in samples[middle:])
        - max(sample[kind] for sample in samples[:middle])
        for kind in ("requested", "reserved")
    }
    return {
        "rounds": done,
        "answers": answers,
        "budget": budget,
        "prompt": prompt,
        "peak_bytes": peak_bytes(),
        "peak_reserved_bytes": torch.cuda.max_memory_reserved() if torch.cuda.is_available() else 0,
        "growth_bytes": growth,
        "samples": samples,
    }


def _use() -> dict[str, int]:
    if not torch.cuda.is_available():
        return {"requested": 0, "allocated": 0, "reserved": 0}
    return {
        "requested": torch.cuda.memory_stats()["requested_bytes.all.current"],
        "allocated": torch.cuda.memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
    }
