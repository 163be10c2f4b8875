"""Whether a target and a drafter can work here and with each other, told from their configs and file headers.

A drafter of another target runs without complaint and is never right, so everything that can be compared
is, before any weight is read. Imports no torch.
"""

from __future__ import annotations

from typing import Any

from engine.checkpoint import Checkpoint
from engine.drafter_config import DFlashConfig
from engine.errors import EngineError

READABLE_QUANTIZATIONS = {"gpt_oss": ("mxfp4",)}
"""By text model type, the quantised weights that are turned into plain ones as they are read."""
_DFLASH_KEYS = ("dflash_config", "block_size", "mask_token_id", "target_layer_ids")


def text_model_type(config: dict[str, Any]) -> str | None:
    """The text model's type; of a multimodal model that of the part that writes text."""
    inner = config.get("text_config")
    value = inner.get("model_type") if isinstance(inner, dict) else config.get("model_type")
    return value if isinstance(value, str) else None


def check_architecture(target: Checkpoint, supported: tuple[str, ...]) -> None:
    """Refuse a target whose class cannot be verified here.

    Raises:
        EngineError: ``is_a_drafter``, ``unsupported_architecture``.
    """
    if "dflash_config" in target.config:
        raise EngineError(
            "is_a_drafter",
            f"The model in {target.folder} is a DFlash drafter, which cannot be a target.",
            "Give it as --drafter, and the target it was trained for as --model.",
        )
    kind = text_model_type(target.config)
    if kind not in supported:
        raise EngineError(
            "unsupported_architecture",
            f"The target in {target.folder} is of type {kind}, which is not supported.",
            "Supported types are " + ", ".join(supported) + ".",
        )


def check_layers(target_config: Any, supported: tuple[str, ...]) -> None:
    """Refuse a target with layers of a kind that cannot be verified here.

    Args:
        target_config: the target's text config, as transformers reads it.

    Raises:
        EngineError: ``unsupported_architecture``.
    """
    unknown = sorted(set(getattr(target_config, "layer_types", None) or ()) - set(supported))
    if unknown:
        raise EngineError(
            "unsupported_architecture",
            f"The target has layers of the kind {unknown[0]}, which is not supported.",
            "Supported kinds of layers are " + ", ".join(supported) + ".",
        )


def read_drafter_config(drafter: Checkpoint) -> DFlashConfig:
    """The drafter's config, checked on its own.

    Raises:
        EngineError: ``not_a_drafter``, ``drafter_config``, ``drafter_unsupported``.
    """
    if not any(key in drafter.config for key in _DFLASH_KEYS):
        raise EngineError(
            "not_a_drafter",
            f"The model in {drafter.folder} is no DFlash drafter: its config.json names no block and mask.",
            "Give --drafter a DFlash checkpoint that was trained for this target.",
        )
    return DFlashConfig.from_dict(drafter.config)


def check_pair(drafter: Checkpoint, config: DFlashConfig, target_config: Any) -> None:
    """Refuse a drafter that was made for another target.

    Args:
        target_config: the target's text config, as transformers reads it.

    Raises:
        EngineError: ``drafter_mismatch``.
    """
    layers = int(target_config.num_hidden_layers)
    config.check_target(
        hidden_size=target_config.hidden_size, num_layers=layers, vocab_size=target_config.vocab_size
    )
    nested = drafter.config.get("dflash_config") or {}
    expected = nested.get("num_target_layers", drafter.config.get("num_target_layers"))
    if expected is not None and expected != layers:
        raise EngineError(
            "drafter_mismatch",
            f"This drafter belongs to another target: it expects {expected} layers, "
            f"but the target has {layers}.",
            "Choose the drafter that was trained for this target.",
        )


def check_feature_inputs(drafter: Checkpoint, config: DFlashConfig) -> None:
    """Refuse weights that read another number of target layers than the config names.

    Raises:
        EngineError: ``drafter_weights``.
    """
    expected = (config.hidden_size, len(config.target_layer_ids) * config.hidden_size)
    found = drafter.shapes.get("fc.weight")
    if found != expected:
        raise EngineError(
            "drafter_weights",
            f"The drafter's fc.weight has shape {found and list(found)}, but its config.json implies "
            f"{list(expected)} ({len(config.target_layer_ids)} target layers).",
            "Take the config.json that belongs to the drafter's weights, or choose another drafter.",
        )
