"""The memory-bandwidth floor of a round: its weights have to be read once, whatever else it does.

floor = (bytes of target weights read + bytes of drafter weights read) / copy bandwidth
"""

from __future__ import annotations

import statistics
import time

import torch
from torch import nn

from engine.events import Floor
from engine.pair import Pair
from engine.quantization import expert_count, held_bytes

_COPY_BYTES = {"cpu": 2**28, "cuda": 2**32}
"""Far beyond any cache, so that the copy runs from and to memory; less where a GPU is nearly full."""
_COPIES = 9


def measure_floor(pair: Pair) -> Floor:
    """Bytes a round reads, and the bandwidth of the pair's device, measured now."""
    target, drafter = bytes_read(pair)
    return Floor(
        bytes_per_second=copy_bandwidth(pair.target.device), target_bytes=target, drafter_bytes=drafter
    )


def bytes_read(pair: Pair) -> tuple[int, int]:
    """Bytes of weights a round reads: the target's, and the drafter's (0 without one).

    An embedding table does not count, of which a round reads a few rows, unless it is the head too. The
    head counts twice, for the target and for the drafter, which has none of its own. Of a mixture as many
    experts count as one row passes: how many others the rows of a tree need is up to the text. Of a target
    that several ranks hold, this rank's part counts.
    """
    head = _bytes(pair.target.head)
    table = pair.target.embedding.weight
    tied = any(table is weight for weight in pair.target.head.parameters())
    target = _bytes(pair.target.model) - (0 if tied else held_bytes(table)) - _idle_experts(pair)
    return target, 0 if pair.drafter is None else _bytes(pair.drafter) + head


def _idle_experts(pair: Pair) -> int:
    """Bytes of the experts that a row does not pass."""
    config, layers = pair.target.model.config, pair.target.model.model.layers
    count = expert_count(config)
    experts = sum(_bytes(layer.mlp.experts) for layer in layers if hasattr(layer.mlp, "experts"))
    return experts * (count - config.num_experts_per_tok) // count if experts else 0


def copy_bandwidth(device: torch.device) -> float:
    """Bytes per second of a large copy within ``device``, read plus written; median of several."""
    size = _COPY_BYTES[device.type]
    if device.type == "cuda":
        size = min(size, torch.cuda.mem_get_info(device)[0] // 4)
    source = torch.zeros(size, dtype=torch.uint8, device=device)
    copy = torch.empty_like(source)
    seconds = [_copy_seconds(copy, source) for _ in range(_COPIES + 1)]
    return 2 * source.nbytes / statistics.median(seconds[1:])  # the first one maps the pages


def _copy_seconds(copy: torch.Tensor, source: torch.Tensor) -> float:
    """Seconds of one copy; on a GPU it takes far longer than waiting for the GPU does."""
    start = time.perf_counter()
    copy.copy_(source)
    if source.device.type == "cuda":
        torch.cuda.synchronize(source.device)
    return time.perf_counter() - start


def _bytes(module: nn.Module) -> int:
    return sum(held_bytes(weight) for weight in module.parameters())
