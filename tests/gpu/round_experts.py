"""How many experts a round touches, and what reading its weights once takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from round_pairs import fill
from torch import Tensor, nn

from engine.control import Control
from engine.decode import generate
from engine.events import Round
from engine.floor import bytes_read
from engine.pair import Pair
from engine.static import experts
from engine.static.round import StaticRound
from engine.static.runner import STAGES


class Unrecorded:
    """A stage run anew in place of a graph of it."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.replay = run


def mixtures(pair: Pair) -> list[Any]:
    """The mixtures of experts among the target's MLPs."""
    mlps = [layer.mlp for layer in pair.target.model.model.layers]
    return [mlp for mlp in mlps if experts.is_mixture(mlp)]


def reading(
    pair: Pair, context: int, rounds: int, bandwidth: float, settings: dict[str, Any]
) -> dict[str, float]:
    """What rounds read, which are not timed: graphs are left aside, so that the host can look.

    Args:
        bandwidth: bytes per second, as ``engine.floor`` measures it.

    Returns:
        Rows of a round, experts touched per layer (mean, and least and most of a layer in a round), how many
        it would be if rows chose at random, bytes of their weights and of all weights read, and how long
        reading these once takes (ms).
    """
    with _counting(pair) as seen:
        fill(pair, context)
        control = Control()
        for event in generate(pair, "x", max_new_tokens=rounds + 1, control=control, **settings):
            if isinstance(event, Round) and event.index + 1 >= rounds:
                control.cancel()
    counts = [len(torch.unique(chosen)) for chosen in seen]
    mean = sum(counts) / len(counts)
    all_mixtures = mixtures(pair)
    number = all_mixtures[0].experts.down_proj.shape[0]
    one = _bytes(all_mixtures[0].experts) / number
    rows, top_k = seen[0].shape
    target, drafter = bytes_read(pair)  # with the experts of one row
    total = target + (mean - top_k) * one * len(all_mixtures) + (0 if settings["mode"] == "ar" else drafter)
    return {
        "rows": rows,
        "touched": mean,
        "touched_least": min(counts),
        "touched_most": max(counts),
        "touched_at_random": number * (1 - (1 - top_k / number) ** rows),
        "expert_bytes": mean * one * len(all_mixtures),
        "bytes": total,
        "floor_ms": 1000 * total / bandwidth,
    }


@contextmanager
def _counting(pair: Pair) -> Iterator[list[Tensor]]:
    """Rounds run without graphs; what they are routed to in every layer is collected, int32 (R, top_k)."""
    runner, route, seen = pair.runner, experts.route, list[Tensor]()

    def noting(*arguments: Any, **options: Any) -> tuple[Tensor, Tensor]:
        chosen, weights = route(*arguments, **options)
        seen.append(chosen)
        return chosen, weights

    def unrecorded(stages: StaticRound) -> list[Unrecorded]:
        return [Unrecorded(getattr(stages, stage)) for stage in STAGES]

    kept = runner._rounds, runner._graphs
    runner._rounds, runner._graphs = {}, {}
    runner._capture = unrecorded
    experts.route = noting
    try:
        yield seen
    finally:
        experts.route = route
        del runner._capture
        runner._rounds, runner._graphs = kept


def _bytes(module: nn.Module) -> int:
    return sum(weight.nbytes for weight in module.parameters())
