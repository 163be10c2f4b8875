"""Reads a target folder with transformers' own classes: no code of the checkpoint's, safetensors only."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.distributed.configuration_utils import DistributedConfig
from transformers.utils.quantization_config import Mxfp4Config

import engine.cpu  # noqa: F401 - before transformers' models are imported
from engine.checkpoint import Checkpoint
from engine.errors import EngineError
from engine.place import Place
from engine.quantization import quantization_config

NOT_TEXT = ("mtp.", "model.visual.", "visual.")
"""Beginnings of the names of tensors that the text model leaves out."""


def read_target_config(target: Checkpoint) -> Any:
    """The target's text config; of a multimodal model that of the part that writes text.

    Raises:
        EngineError: ``bad_config`` with transformers' complaint.
    """
    try:
        whole = AutoConfig.from_pretrained(str(target.folder), local_files_only=True, trust_remote_code=False)
        config = whole.get_text_config(decoder=True)
    except Exception as error:  # config classes raise what they like for values of the wrong type
        raise EngineError(
            "bad_config",
            f"transformers cannot read the target's {target.folder / 'config.json'}.",
            "Download the file again, or install the transformers version it was written for.",
            repr(error),
        ) from error
    if config is not whole:
        # Of a multimodal model these are read at the top level, if they stand there.
        if config.dtype is None:
            config.dtype = whole.dtype
        if "tie_word_embeddings" in target.config:
            config.tie_word_embeddings = whole.tie_word_embeddings
        if target.quantization is not None:
            config.quantization_config = _of_text_model(target.quantization_config)
    return config


def _of_text_model(quantization: Any) -> Any:
    """A multimodal model's quantisation with its modules' names as the text model has them."""
    if not isinstance(quantization, dict):
        return quantization
    names = ("modules_to_not_convert", "llm_int8_skip_modules", "ignore")
    return quantization | {
        key: [name.replace("model.language_model.", "model.") for name in quantization[key]]
        for key in names
        if isinstance(quantization.get(key), list)
    }


def reads_directly(place: Place) -> bool:
    """Whether weights are read into the device without passing through main memory as a whole.

    transformers does that with accelerate only.
    """
    return place.device.type == "cpu" or importlib.util.find_spec("accelerate") is not None


def is_made_plain(target: Checkpoint, place: Place) -> bool:
    """Whether the checkpoint's quantised weights are turned into plain ones as they are read: gpt-oss, for
    whose weights the engine has its own kernels, and FP8 where the device has no matrix product of it."""
    if target.quantization == "fp8":
        return place.device.type == "cpu" or torch.cuda.get_device_capability(place.device) < (8, 9)
    return target.quantization == "mxfp4"


def is_quantised(target: Checkpoint, place: Place, quantize: str | None) -> bool:
    """Whether the target's weights are quantised once it is loaded."""
    stored = target.quantization is not None and not is_made_plain(target, place)
    return quantize is not None or stored


def load_target(
    target: Checkpoint,
    config: Any,
    place: Place,
    budgets: Mapping[int | str, int] | None = None,
    quantize: str | None = None,
) -> Any:
    """The causal language model in eval mode, without gradients.

    Args:
        budgets: with the device map ``auto``, the bytes of weights each device may take.
        quantize: how to quantise the weights as they are read, of ``engine.quantization.WAYS``.

    Raises:
        EngineError: ``bad_weights`` when the weights do not fill the model the config describes,
            ``out_of_memory``.
    """
    auto_class: Any = AutoModelForCausalLM
    quantised = is_quantised(target, place, quantize)
    options: dict[str, Any] = {}
    if place.device.type == "cpu":
        # One expert after another: the batched kernels round each row as its neighbours happen to fall.
        options["experts_implementation"] = "eager"
    if place.ranks is not None:
        options["distributed_config"] = DistributedConfig(tp_size=place.ranks.size)
    elif place.device_map is not None:
        options |= {"device_map": place.device_map, "max_memory": budgets}
    elif quantised or (place.device.type != "cpu" and reads_directly(place)):
        options["device_map"] = {"": place.device}
    if quantize is not None:
        options["quantization_config"] = quantization_config(quantize, place.dtype)
    if target.quantization == "mxfp4":
        options["quantization_config"] = Mxfp4Config(dequantize=True)
    try:
        model, report = auto_class.from_pretrained(
            str(target.folder),
            config=config,
            dtype=place.dtype,
            attn_implementation="eager",  # Target swaps in its own for every pass.
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
        if place.device_map is None and place.ranks is None and not quantised:
            model.to(device=place.device)
        if target.quantization is not None and not quantised:
            _cast(model, place.dtype)
    except torch.OutOfMemoryError as error:
        raise EngineError(
            "out_of_memory",
            "The GPU has not enough free memory for the target.",
            "Close other programs that use it, choose a smaller model, or use --device cpu.",
            repr(error),
        ) from error
    except MemoryError:
        raise
    except Exception as error:  # model classes raise what they like for values that make no sense together
        if budgets is not None and "offload_folder" in str(error):
            raise _no_room_for_layers(repr(error)) from error
        raise _bad_weights(target, repr(error)) from error
    if budgets is not None and "disk" in getattr(model, "hf_device_map", {}).values():
        raise _no_room_for_layers(f"{model.hf_device_map}")
    if report["missing_keys"]:
        raise _bad_weights(target, "missing: " + ", ".join(sorted(report["missing_keys"])))
    if model.get_input_embeddings().weight.is_meta:  # read in every round, by the drafter too
        raise EngineError(
            "out_of_memory",
            "The first GPU has no room for the target's embedding beside the caches and the drafter.",
            "Choose a smaller --context, or a smaller model.",
            f"{getattr(model, 'hf_device_map', None)}",
        )
    return model.eval().requires_grad_(False)


def _cast(model: Any, dtype: torch.dtype) -> None:
    """Weights that were quantised come out as bfloat16 (transformers 5.17), whatever was asked for."""
    for parameter in model.parameters():
        if parameter.dtype == torch.bfloat16:
            parameter.data = parameter.data.to(dtype)


def _no_room_for_layers(detail: str) -> EngineError:
    """Layers are placed whole, so that a little more than their sizes' sum is needed. What transformers would
    do next is to read the rest from disk in every round."""
    return EngineError(
        "out_of_memory",
        "The GPUs and main memory have not enough room for the target's layers.",
        "Free memory, choose a smaller --context, or a smaller model.",
        detail,
    )


def _bad_weights(target: Checkpoint, detail: str) -> EngineError:
    return EngineError(
        "bad_weights",
        f"The weights in {target.folder} do not fill the model that its config.json describes.",
        "Download the model again, or take the config.json that belongs to the weights.",
        detail,
    )
