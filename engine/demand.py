"""What a pair takes of the memory, told from its configs and the headers of its files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.checkpoint import Checkpoint
from engine.drafter_config import DFlashConfig
from engine.model_shape import ModelShape, Weights, drafter_shape, target_shape
from engine.place import Place
from engine.quantization import quantised_weights
from engine.spread import weight_budgets
from engine.target_load import NOT_TEXT, is_made_plain, reads_directly


@dataclass(frozen=True)
class Demand:
    """Of one process.

    Attributes:
        target: its weights.
        drafter: values of its weights.
        shapes: the target's, then the drafter's if there is one.
    """

    target: Weights
    drafter: int
    shapes: tuple[ModelShape, ...]

    def weights(self, target: Weights | None = None) -> Weights:
        """Both models'; ``target``: as if its weights were these."""
        target = target or self.target
        return dataclasses.replace(target, values=target.values + self.drafter)

    def budgets(self, place: Place, context: int) -> Mapping[int | str, int]:
        """Bytes of the target's weights that each device may take, see ``engine.spread``."""
        size = place.dtype.itemsize
        caches = [shape.running_bytes(context, size) for shape in self.shapes]
        drafter = self.drafter * size + sum(caches[1:])
        return weight_budgets(place.rooms(), self.target.bytes(size), caches[0], drafter)


def measure(
    target: Checkpoint,
    drafter: Checkpoint | None,
    config: Any,
    dflash: DFlashConfig | None,
    place: Place,
    quantize: str | None,
) -> Demand:
    """What the pair takes once it is loaded.

    Args:
        config: the target's text config, as transformers reads it.
        quantize: how the target's weights are quantised while they are loaded.

    Raises:
        EngineError: ``bad_weights``; ``out_of_memory`` for weights that pass through main memory and have no
            room there.
    """
    shape = target_shape(config.to_dict())
    if quantize is not None:
        weights = quantised_weights(quantize, shape, config)
    elif is_made_plain(target, place):
        weights = Weights(shape.parameters)
    else:
        weights = Weights(*target.count_stored(skip=NOT_TEXT))
    if not reads_directly(place):
        place.check_host(weights)
    if place.ranks is not None:
        weights, shape = _share(weights, shape, config, place.ranks.size)
    if drafter is None or dflash is None:
        return Demand(weights, 0, (shape,))
    return Demand(weights, drafter.count_parameters(), (shape, drafter_shape(vars(dflash))))


def _share(weights: Weights, shape: ModelShape, config: Any, ranks: int) -> tuple[Weights, ModelShape]:
    """What one rank holds: at most its part of all weights but the embedding, and the keys and values of its
    heads. Recurrent states are in every rank."""
    whole = config.vocab_size * config.hidden_size
    part = dataclasses.replace(weights, values=whole + (weights.values - whole) // ranks)
    return part, dataclasses.replace(shape, per_token=shape.per_token // ranks)
