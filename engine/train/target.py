"""The target of a training run: found, checked and loaded as for decoding, then left as it is."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import torch

from engine.checkpoint import Checkpoint
from engine.codec import Codec
from engine.find import find_target
from engine.hub import Source, fetch_weights
from engine.model_shape import target_shape
from engine.pair_check import check_architecture, check_layers
from engine.place import Place
from engine.target import LAYER_KINDS, SUPPORTED_MODEL_TYPES
from engine.target_load import load_target, read_target_config

_SHARE = 0.25
"""Of the free memory, for the caches of answers written side by side: each is copied as it grows."""
_MOST_ROWS = 2048


@dataclass(frozen=True)
class FoundTarget:
    """A target that can be trained for: found and checked, its weights not read yet.

    Attributes:
        config: its text config.
    """

    source: Source
    checkpoint: Checkpoint
    codec: Codec
    config: Any
    place: Place

    @classmethod
    def find(cls, model: str, device: str, dtype: str) -> FoundTarget:
        """Find a target by preset name, folder or hub id.

        Raises:
            EngineError: as ``load_pair``.
        """
        source = find_target(model, _report)
        checkpoint = Checkpoint.open("target", source.folder)
        check_architecture(checkpoint, SUPPORTED_MODEL_TYPES)
        config = read_target_config(checkpoint)
        check_layers(config, LAYER_KINDS)
        place = Place.choose(device, dtype, config)
        codec = Codec.from_folder(source.folder, vocab_size=config.vocab_size)
        return cls(source, checkpoint, codec, config, place)

    def load(self) -> TrainTarget:
        """Read its weights.

        Raises:
            EngineError: as ``load_pair``.
        """
        fetch_weights(self.source, self.checkpoint.weight_names, _report)
        self.checkpoint.check_files()
        loaded = load_target(self.checkpoint, self.config, self.place)
        with contextlib.suppress(ValueError, ImportError):  # gpt-oss' sinks have no fused kernel in torch
            loaded.set_attn_implementation("sdpa")
        return TrainTarget(loaded, self.codec, self.config, self.source.name, self.place)


@dataclass(frozen=True)
class TrainTarget:
    """A frozen causal language model of transformers, with its tokenizer.

    Attributes:
        config: its text config.
        name: as it is shown.
    """

    model: Any
    codec: Codec
    config: Any
    name: str
    place: Place

    @property
    def device(self) -> torch.device:
        return self.place.device

    @property
    def pad_id(self) -> int:
        """Fills rows; what stands there is never read."""
        return int(self.config.pad_token_id or 0)

    def rows_at_once(self, tokens: int) -> int:
        """How many answers may be written side by side, prompts and answers of at most ``tokens`` tokens."""
        shape = target_shape(self.config.to_dict())
        each = shape.cache_bytes(tokens, self.place.dtype.itemsize)
        most = int(sum(self.place.rooms().values()) * _SHARE) // each
        return max(1, min(_MOST_ROWS if self.device.type == "cuda" else 32, most))


def _report(stage: str) -> None:
    print(f"target   {stage}", flush=True)
