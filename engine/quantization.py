"""Quantised weights of the target: made as it is loaded, or as its checkpoint has them.

Only weights are quantised, and not those that are few and matter much: the embedding, the head, and the
projections of a gated-delta layer's decay and writing strength. The drafter stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from engine.checkpoint import Checkpoint
from engine.errors import EngineError
from engine.model_shape import ModelShape, Weights
from engine.pair_check import READABLE_QUANTIZATIONS
from engine.place import Place
from engine.spread import require

KEPT = ["lm_head", r".*\.in_proj_a", r".*\.in_proj_b", r".*\.in_proj_ba"]
"""Modules that stay as they are, as transformers matches them."""


@dataclass(frozen=True)
class Way:
    """One way to quantise.

    Attributes:
        module: imported for it, and the extra that installs it.
        size: bytes per weight, scales included.
    """

    module: str
    size: float


WAYS = {
    "int8": Way("torchao", 1.0),
    "int4": Way("torchao", 0.5 + 4 / 128),  # a scale and a zero point for 128 weights
    "bnb-int8": Way("bitsandbytes", 1.0),
    "bnb-nf4": Way("bitsandbytes", 0.5 + 4 / 64),  # a scale for 64 weights
}
"""By the names of ``engine.settings.QUANTIZATIONS``."""

METHODS: dict[str, tuple[str, ...]] = {
    "awq": ("gptqmodel",),
    "bitsandbytes": ("bitsandbytes",),
    "compressed-tensors": ("compressed_tensors",),
    "fp8": (),
    "gptq": ("gptqmodel", "optimum"),
    "torchao": ("torchao",),
}
"""Checkpoints that transformers loads as they are, and what is imported for it besides accelerate."""


def check_way(name: str, place: Place, config: Any, stored: str | None) -> None:
    """Refuse to quantise what cannot be quantised, or not here.

    Args:
        name: of ``WAYS``.
        config: the target's text config, as transformers reads it.
        stored: how the checkpoint is quantised already.

    Raises:
        EngineError: ``bad_setting``, ``missing_package``, ``unsupported_quantization``.
    """
    if name not in WAYS:
        raise EngineError("bad_setting", f"Weights cannot be quantised to {name}.", _choose())
    if stored is not None:
        raise EngineError(
            "unsupported_quantization",
            f"The target's weights are quantised already ({stored}).",
            "Leave --quantize away: they are loaded as they are.",
        )
    if has_experts(config):
        raise EngineError(
            "unsupported_quantization",
            "Experts cannot be quantised here, and they are most of this target's weights.",
            "Leave --quantize away, or choose a checkpoint that is quantised already.",
        )
    if name == "int4" and (place.device.type, place.dtype) != ("cuda", torch.bfloat16):
        raise EngineError(
            "unsupported_quantization",
            "Weights of int4 work on a GPU in bfloat16 only.",
            "Choose int8, bnb-int8 or bnb-nf4.",
        )
    way = WAYS[name]
    require("accelerate", "loading quantised weights", f"'ddtree-tui[{way.module}]'")
    require(way.module, f"--quantize {name}", f"'ddtree-tui[{way.module}]'")


def check_stored(target: Checkpoint, kind: str) -> None:
    """Refuse a checkpoint whose quantised weights cannot be read here.

    Args:
        kind: its text model's type.

    Raises:
        EngineError: ``missing_package``, ``unsupported_quantization``.
    """
    method = target.quantization
    if method is None or method in READABLE_QUANTIZATIONS.get(kind, ()):
        return
    if method not in METHODS:
        raise EngineError(
            "unsupported_quantization",
            f"The target in {target.folder} is quantised by {method}, which is not supported.",
            "Choose the same model in bfloat16 or float32, or one of " + ", ".join(METHODS) + ".",
        )
    modules = METHODS[method]
    for module in ("accelerate", *modules):
        require(module, f"reading the target's {method} weights", " ".join(("accelerate", *modules)))
    from transformers.quantizers.auto import AutoHfQuantizer

    try:
        quantizer = AutoHfQuantizer.from_config(target.quantization_config, pre_quantized=True)
        quantizer.validate_environment(device_map=None)
    except Exception as error:  # whatever a library raises that is too old, or misses a GPU
        raise EngineError(
            "unsupported_quantization",
            f"The target's {method} weights cannot be loaded here: {_first_sentence(error)}",
            "Choose the same model in bfloat16 or float32.",
            repr(error),
        ) from error


def quantization_config(name: str, dtype: torch.dtype) -> Any:
    """Transformers' configuration for one of ``WAYS``; ``dtype``: to compute in."""
    from transformers import TorchAoConfig
    from transformers.utils import quantization_config as configs

    BitsAndBytesConfig: Any = configs.BitsAndBytesConfig
    if name == "bnb-int8":
        # Without a threshold: outliers would be looked for in all rows together, so that what a row of a
        # tree comes to would depend on the others.
        return BitsAndBytesConfig(load_in_8bit=True, llm_int8_threshold=0.0, llm_int8_skip_modules=KEPT)
    if name == "bnb-nf4":
        return BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
            llm_int8_skip_modules=KEPT,
        )
    from torchao.quantization import Int4WeightOnlyConfig, Int8WeightOnlyConfig

    if name == "int8":
        return TorchAoConfig(Int8WeightOnlyConfig(set_inductor_config=False), modules_to_not_convert=KEPT)
    packed = Int4WeightOnlyConfig(
        group_size=128, int4_packing_format="tile_packed_to_4d", set_inductor_config=False
    )
    return TorchAoConfig(packed, modules_to_not_convert=KEPT)


def quantised_weights(name: str, shape: ModelShape, config: Any) -> Weights:
    """How large the target is then; ``config``: its text config, as transformers reads it."""
    kept = config.vocab_size * config.hidden_size * (1 if config.tie_word_embeddings else 2)
    return Weights(values=kept, fixed=int((shape.parameters - kept) * WAYS[name].size))


def smaller_weights(place: Place, shape: ModelShape, config: Any) -> dict[str, Weights]:
    """What ``--quantize`` would make of a target, by the option; of two ways of one size the first."""
    if has_experts(config):
        return {}
    found: dict[str, Weights] = {}
    for name in WAYS:
        weights = quantised_weights(name, shape, config)
        if weights not in found.values() and (name != "int4" or place.device.type == "cuda"):
            found[f"--quantize {name}"] = weights
    return found


def expert_count(config: Any) -> int:
    """Experts of a layer, by either of the names that configs have for it; 0 without."""
    return int(getattr(config, "num_experts", 0) or getattr(config, "num_local_experts", 0) or 0)


def has_experts(config: Any) -> bool:
    return bool(expert_count(config))


def held_bytes(weight: Any) -> int:
    """Bytes of a weight that this process holds: of one divided among ranks its part, of a quantised one
    what it is kept in."""
    if hasattr(type(weight), "__tensor_flatten__"):
        names, _ = weight.__tensor_flatten__()
        parts = [getattr(weight, name) for name in names]  # of one divided, also who has the other parts
        return sum(held_bytes(part) for part in parts if isinstance(part, torch.Tensor))
    own: int = weight.nbytes
    scales = getattr(getattr(weight, "quant_state", None), "absmax", None)
    return own if scales is None else own + int(scales.nbytes)


def _choose() -> str:
    return "Choose one of " + ", ".join(WAYS) + "."


def _first_sentence(error: Exception) -> str:
    first = (str(error).strip() or type(error).__name__).splitlines()[0].split(". ")[0].rstrip(".")
    return f"{first[:200]}."
