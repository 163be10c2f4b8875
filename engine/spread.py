"""Layers over several devices: accelerate places them and moves what passes between them.

Its hooks bring a layer's inputs to the layer's device, and the weights too where these wait in main memory or
on disk. The engine's caches are made where each layer computes.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from engine.errors import EngineError

DeviceMap = str | Mapping[str, str | int]
"""``auto``, or a device (``cpu``, ``disk``, a GPU's number) for each part of the model."""


def check_device_map(device_map: DeviceMap, device: str) -> None:
    """Refuse what cannot be asked for.

    Args:
        device: as in the settings.

    Raises:
        EngineError: ``bad_setting``, ``missing_package``.
    """
    if isinstance(device_map, str) and device_map != "auto":
        raise EngineError("bad_setting", f"The device map cannot be {device_map}.", "Choose auto.")
    if device != "auto":
        raise EngineError(
            "bad_setting",
            f"With a device map, the device cannot be {device} as well.",
            "Leave --device away: the layers go where there is room.",
        )
    require("accelerate", "placing layers on several devices", "'ddtree-tui[large]'")


def require(module: str, what: str, install: str) -> None:
    """Refuse ``what`` where the package that does it is not installed.

    Args:
        module: imported for it.
        install: what pip is to install.

    Raises:
        EngineError: ``missing_package``.
    """
    if importlib.util.find_spec(module) is None:
        name = module.replace("_", "-")
        raise EngineError(
            "missing_package",
            f"The package {name} is not installed, which {what} needs.",
            f"Install it with: pip install {install}",
        )


def weight_budgets(
    rooms: Mapping[int | str, int], weights: int, caches: int, drafter: int
) -> dict[int | str, int]:
    """How many bytes of the target's weights each device may take, beside what else lies there.

    A layer's cache lies where the layer computes: in proportion to the weights where the GPUs hold all of
    them. Layers that wait in main memory compute on the first GPU, and so that keeps room for all caches.

    Args:
        rooms: bytes that can be had, by a GPU's number, the first one's first, and for ``cpu``.
        weights, caches: the target's, in bytes.
        drafter: bytes of its weights and caches, all on the first device.
    """
    gpus = [device for device in rooms if device != "cpu"]
    if not gpus:
        return dict(rooms)
    budgets = dict(rooms)
    budgets[gpus[0]] -= drafter
    if weights + caches > sum(budgets[gpu] for gpu in gpus):
        budgets[gpus[0]] -= caches
        gpus = gpus[1:]
    for gpu in gpus:
        budgets[gpu] = budgets[gpu] * weights // max(1, weights + caches)
    return {device: max(0, budget) for device, budget in budgets.items()}


def is_spread(layers: nn.ModuleList) -> bool:
    """Whether accelerate moves what passes between these layers."""
    return any(hasattr(layer, "_hf_hook") for layer in layers)


def layers_by_device(layers: nn.ModuleList) -> dict[str, int]:
    """How many layers compute on each device; none where accelerate placed none."""
    hooks: list[Any] = [getattr(layer, "_hf_hook", None) for layer in layers]
    devices = (str(torch.device(hook.execution_device)) for hook in hooks if hook is not None)
    return dict(Counter(devices))


@contextmanager
def weights_at_hand(module: nn.Module) -> Iterator[None]:
    """Bring a module's own weights to where it computes, to be read outside of its forward."""
    if not hasattr(module, "_hf_hook"):
        yield
        return
    from accelerate.utils import align_module_device

    with align_module_device(module):
        yield
