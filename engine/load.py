"""Loads a pair: from names to folders, through the checks, to a target and a drafter ready to decode.

Importing torch and transformers takes seconds, so their part begins in its own stage: whoever waits sees the
first stage at once, and what is no model is refused before.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from engine.checkpoint import Checkpoint
from engine.errors import EngineError
from engine.events import Loaded, Loading, ModelInfo
from engine.find import find_drafter, find_target
from engine.hub import Source, fetch_weights
from engine.pair_check import (
    check_architecture,
    check_feature_inputs,
    check_layers,
    check_pair,
    read_drafter_config,
)
from engine.settings import DecodeSettings, LoadSettings

if TYPE_CHECKING:
    import torch

    from engine.codec import Codec
    from engine.demand import Demand
    from engine.drafter import Drafter
    from engine.drafter_config import DFlashConfig
    from engine.pair import Pair
    from engine.place import Place
    from engine.ranks import Ranks
    from engine.spread import DeviceMap
    from engine.target import Target

logger = logging.getLogger(__name__)

STAGES = (
    "Finding the models",
    "Starting torch and transformers",
    "Checking that the pair fits together",
    "Reading the tokenizer",
    "Loading target weights",
    "Loading drafter weights",
    "Warming up",
)
_WARM = 3
"""Tokens: the prefill's, then room for a draft of one token and the one behind it."""
_PACKAGES = {
    "torch": "torch",
    "transformers": "transformers",
    "fla": "flash-linear-attention",
    "ddtree-tui": "ddtree-tui",
}


def load_pair(
    model: str = "demo",
    drafter: str | None = None,
    *,
    device: str = "auto",
    dtype: str = "auto",
    context: int | None = None,
    device_map: DeviceMap | None = None,
    tp: int | None = None,
    quantize: str | None = None,
    progress: Callable[[Loading], None] | None = None,
) -> Pair:
    """Load a target and its drafter, ready to decode.

    Nothing that comes with a checkpoint is executed: transformers' own classes, safetensors weights only.

    Args:
        model: preset name, folder or hub id of the target, looked up in this order.
        drafter: folder or hub id; None takes the preset's own, or none (mode ``ar`` only).
        device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``cuda:N``.
        dtype: of all weights; ``auto`` is float32 on a CPU and the checkpoint's own on a GPU.
        context: most tokens of prompt and answer together; None is the target's own, or what fits.
        device_map: ``auto`` spreads the target's layers over all GPUs, and main memory where these are too
            small; or a device for each part of the model, as accelerate takes it. None is one device.
        tp: this many processes hold the target together; ``torchrun`` started them, and all of them call
            this function, and ``generate`` with the same arguments.
        quantize: make the target's weights smaller while they are loaded, see ``engine.quantization``.
        progress: told every stage as it begins.

    Raises:
        EngineError: one clear sentence for whatever is missing, broken, or does not fit together.
    """
    LoadSettings(
        model=model,
        drafter=drafter,
        device=device,
        dtype=dtype,
        context=context,
        device_map=None if device_map is None else "auto",  # what a map may be, the place knows
        tp=tp,
        quantize=quantize,
    ).check()
    stages = _Stages(progress)
    stages.begin(0)
    ranks = _join(tp, device, stages.report)
    with _together(ranks):
        target, draft = _find(model, drafter, stages.report)
        stages.begin(1)
        _start()
        stages.begin(2)
        checked = _check(
            target, draft, _Wish(device, dtype, context, device_map, ranks, quantize), stages.report
        )
        config, dflash, place = checked.config, checked.dflash, checked.place
        stages.begin(3)
        codec = _read_codec(target.folder, config)
    with _together(ranks):
        stages.begin(4)
        network = _load_target(target, checked)
        stages.begin(5)
        drafting = None if draft is None else _load_drafter(draft.folder, network.device, place.dtype)
    stages.begin(6)
    from engine.pair import Pair

    info = Loaded(
        target=_describe_target(target, network, checked),
        drafter=None if draft is None or drafting is None else _describe_drafter(draft, drafting),
        device=place.name,
        versions=_versions(),
        block_size=None if dflash is None else dflash.block_size,
        mask_token_id=None if dflash is None else dflash.mask_token_id,
        target_layer_ids=list(network.tapped),
        memory_bytes=sum(_bytes(module) for module in (network.model, drafting) if module is not None),
        seconds=0.0,
        context_length=network.context_length,
        vocab_size=network.vocab_size,
        thinking=codec.supports_thinking,
        layers_on=network.layers_on,
        processes=1 if ranks is None else ranks.size,
    )
    pair = Pair(network, drafting, codec, info)
    warm_up(pair)
    check(pair)
    seconds = stages.seconds
    return pair.described(msgspec.structs.replace(info, t=seconds, seconds=seconds))


def _join(tp: int | None, device: str, report: Callable[[str], None]) -> Ranks | None:
    if tp is None or tp == 1:
        return None
    report(f"Joining {tp} processes")
    from engine.ranks import join

    return join(tp, device)


def _together(ranks: Ranks | None) -> contextlib.AbstractContextManager[None]:
    """What fails in one rank fails in all; nothing for a process alone."""
    return contextlib.nullcontext() if ranks is None else ranks.together()


class _Stages:
    """Tells how far loading is."""

    def __init__(self, progress: Callable[[Loading], None] | None) -> None:
        self._progress = progress
        self._done = 0
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._started

    def begin(self, number: int) -> None:
        self._done = number
        self.report(STAGES[number])

    def report(self, stage: str) -> None:
        """Say what goes on within the stage under way."""
        logger.info("%.2f s: %s", self.seconds, stage)
        if self._progress is not None:
            self._progress(Loading(t=self.seconds, stage=stage, done=self._done, total=len(STAGES)))


@dataclass(frozen=True)
class _Found:
    """A model that was found: where, and what its config says."""

    source: Source
    checkpoint: Checkpoint

    @property
    def folder(self) -> Path:
        return self.source.folder


def _find(model: str, drafter: str | None, report: Callable[[str], None]) -> tuple[_Found, _Found | None]:
    target, draft = find_target(model, report), find_drafter(model, drafter, report)
    return (
        _Found(target, Checkpoint.open("target", target.folder)),
        None if draft is None else _Found(draft, Checkpoint.open("drafter", draft.folder)),
    )


def _start() -> None:
    """Import what takes seconds."""
    for module in ("engine.target", "engine.target_load"):
        importlib.import_module(module)


@dataclass(frozen=True)
class _Wish:
    """Where to compute and how long a text, in the settings' words."""

    device: str
    dtype: str
    context: int | None
    device_map: DeviceMap | None
    ranks: Ranks | None
    quantize: str | None


@dataclass(frozen=True)
class _Checked:
    """A pair that fits together and into the memory.

    Attributes:
        config: the target's text config, as transformers reads it.
        context: tokens for which there is room.
    """

    config: Any
    dflash: DFlashConfig | None
    place: Place
    context: int
    demand: Demand
    quantize: str | None


def _check(target: _Found, draft: _Found | None, wish: _Wish, report: Callable[[str], None]) -> _Checked:
    """Everything that can be known before weights are read; weights of hub models are fetched in between."""
    from engine.demand import measure
    from engine.place import Place
    from engine.quantization import check_stored, check_way, smaller_weights
    from engine.ranks import check_shares
    from engine.target import LAYER_KINDS, SUPPORTED_MODEL_TYPES
    from engine.target_load import read_target_config

    check_architecture(target.checkpoint, SUPPORTED_MODEL_TYPES)
    config = read_target_config(target.checkpoint)
    check_layers(config, LAYER_KINDS)
    if wish.ranks is not None:
        check_shares(config, wish.ranks.size)
    place = Place.choose(wish.device, wish.dtype, config, device_map=wish.device_map, ranks=wish.ranks)
    stored = target.checkpoint.quantization
    check_stored(target.checkpoint, config.model_type)
    if wish.quantize is not None:
        check_way(wish.quantize, place, config, stored)
    quantised = wish.quantize is not None or stored is not None
    if quantised and wish.ranks is not None:
        raise EngineError(
            "unsupported_quantization",
            "Quantised weights cannot be divided among processes here.",
            "Leave --tp away, or choose the same model in bfloat16.",
        )
    dflash = None
    if draft is not None:
        dflash = read_drafter_config(draft.checkpoint)
        check_pair(draft.checkpoint, dflash, config)
    for found in (target, draft):
        if found is not None:
            fetch_weights(found.source, found.checkpoint.weight_names, report)
            found.checkpoint.check_files()
    if draft is not None and dflash is not None:
        check_feature_inputs(draft.checkpoint, dflash)
    demand = measure(
        target.checkpoint, None if draft is None else draft.checkpoint, config, dflash, place, wish.quantize
    )
    shape = demand.shapes[0]
    smaller = {} if quantised or wish.ranks else smaller_weights(place, shape, config)
    options = {option: demand.weights(weights) for option, weights in smaller.items()}
    fitting = place.fit_context(demand.weights(), demand.shapes, wish.context, options)
    if wish.context is None and fitting < shape.context_length:
        logger.warning("room for %d of the target's %d tokens", fitting, shape.context_length)
    return _Checked(config, dflash, place, fitting, demand, wish.quantize)


def _read_codec(folder: Path, config: Any) -> Codec:
    from engine.codec import Codec

    return Codec.from_folder(folder, vocab_size=config.vocab_size)


def _load_target(target: _Found, checked: _Checked) -> Target:
    from engine.target import Target
    from engine.target_load import is_quantised, load_target

    place = checked.place
    budgets = checked.demand.budgets(place, checked.context) if place.device_map == "auto" else None
    model = load_target(target.checkpoint, checked.config, place, budgets, checked.quantize)
    tapped = () if checked.dflash is None else checked.dflash.target_layer_ids
    return Target(
        model,
        tapped,
        context_length=checked.context,
        ranks=place.ranks,
        quantised=is_quantised(target.checkpoint, place, checked.quantize),
    )


def _load_drafter(folder: Path, device: torch.device, dtype: torch.dtype) -> Drafter:
    from engine.drafter_load import load_drafter

    return load_drafter(folder, device=device, dtype=dtype)


def _describe_target(target: _Found, network: Target, checked: _Checked) -> ModelInfo:
    info = _describe(target, network.model, network.layer_kinds)
    if not network.quantised:
        return info
    # Several quantised weights lie in one value.
    return msgspec.structs.replace(
        info,
        parameters=checked.demand.shapes[0].parameters,
        quantization=checked.quantize or target.checkpoint.quantization,
    )


def _describe_drafter(draft: _Found, drafter: Drafter) -> ModelInfo:
    return _describe(draft, drafter, drafter.config.layer_types)


def _describe(found: _Found, module: Any, kinds: Sequence[str]) -> ModelInfo:
    return ModelInfo(
        name=found.source.name,
        path=str(found.folder),
        architecture=type(module).__name__,
        parameters=sum(parameter.numel() for parameter in module.parameters()),
        dtype=str(next(module.parameters()).dtype).removeprefix("torch."),
        revision=found.source.revision,
        layer_kinds=dict(Counter(kinds)),
    )


def _bytes(module: Any) -> int:
    from engine.quantization import held_bytes

    return sum(held_bytes(tensor) for tensor in (*module.parameters(), *module.buffers()))


def _versions() -> dict[str, str]:
    versions: dict[str, str] = {}
    for name, package in _PACKAGES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(package)
    return versions


def check(pair: Pair) -> None:
    """Have the detectors look at the pair; what they cannot look at is no reason not to decode with it."""
    try:
        pair.checked()
    except Exception as error:
        logger.warning("checking the pair failed: %r", error)


def warm_up(pair: Pair) -> None:
    """Decode a round with a draft, so that the first answer pays for no first calls and captures no graphs;
    of the text nothing stays."""
    from engine.decode import generate

    settings = DecodeSettings(mode="tree" if pair.drafter else "ar", max_new_tokens=_WARM)
    try:
        for _ in generate(pair, "Hello", settings):
            pass
    except EngineError as error:  # a template that wants more than a question, for example
        logger.warning("warming up failed: %s %s", error.message, error.detail)
    pair.session.reset()
