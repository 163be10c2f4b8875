"""Where a pair computes, in which dtype, and whether it fits there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.errors import EngineError
from engine.model_shape import ModelShape, Weights
from engine.ranks import Ranks
from engine.settings import DTYPES
from engine.spread import DeviceMap, check_device_map

LEAST_CONTEXT = 4096
"""Tokens that must find room in the caches, unless fewer are asked for."""
HEADROOM = 1.05
"""What computing takes beside weights and caches, as a factor on them."""
SHORT = torch.bfloat16


@dataclass(frozen=True)
class Place:
    """Device and dtype of all weights.

    Attributes:
        device: the drafter's, and that of the target or of its first part.
        device_map: how the target's layers are spread over several devices; None for one device.
        ranks: the processes that hold the target together, each with a device of its own.
    """

    device: torch.device
    dtype: torch.dtype
    device_map: DeviceMap | None = None
    ranks: Ranks | None = None

    @classmethod
    def choose(
        cls,
        device: str,
        dtype: str,
        target_config: Any,
        *,
        device_map: DeviceMap | None = None,
        ranks: Ranks | None = None,
    ) -> Place:
        """Turn the settings' words into a device and a dtype.

        Args:
            device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``cuda:N``.
            dtype: a name of ``DTYPES``; ``auto`` is float32 on a CPU and the checkpoint's own on a GPU.

        Raises:
            EngineError: ``bad_setting`` for other words, ``no_gpu`` when there is no such GPU,
                ``missing_package``.
        """
        if device_map is not None:
            check_device_map(device_map, device)
        where = _device(device) if ranks is None else ranks.device
        if dtype not in DTYPES:
            raise EngineError(
                "bad_setting", f"The dtype cannot be {dtype}.", "Choose one of " + ", ".join(DTYPES) + "."
            )
        if dtype != "auto":
            named: torch.dtype = getattr(torch, dtype)
            return cls(where, named, device_map, ranks)
        own = target_config.dtype if isinstance(target_config.dtype, torch.dtype) else torch.bfloat16
        return cls(where, torch.float32 if where.type == "cpu" else own, device_map, ranks)

    @property
    def name(self) -> str:
        """The device as people know it."""
        if self.device.type == "cpu":
            name = "cpu"
        else:
            name = f"{self.device} ({torch.cuda.get_device_name(self.device)})"
        return name if self.ranks is None else f"{self.ranks.size} x {name}"

    def fit_context(
        self,
        weights: Weights,
        shapes: Sequence[ModelShape],
        asked: int | None,
        smaller: Mapping[str, Weights] | None = None,
    ) -> int:
        """How many tokens the caches can hold here, told before anything is read.

        Args:
            weights: both models'.
            shapes: the target's, then the drafter's if there is one.
            asked: this many tokens and no fewer; None takes what fits, up to the target's own context.
            smaller: what the weights would be with another option, by the option; suggested if it fits.

        Raises:
            EngineError: ``out_of_memory`` when not even ``LEAST_CONTEXT`` or what was asked for fits,
                ``bad_setting`` for more than the target's own.
        """
        longest = shapes[0].context_length
        if asked is not None and not 1 <= asked <= longest:
            raise EngineError(
                "bad_setting",
                f"The context cannot be {asked:,} tokens with this target.",
                f"Choose a whole number from 1 to {longest:,}.",
            )
        least = asked or min(LEAST_CONTEXT, longest)
        rooms = self.rooms()
        room = sum(size for device, size in rooms.items() if device != "cpu" or len(rooms) == 1)
        fits = _tokens(room, weights, shapes, self.dtype)
        if fits >= least:
            return asked or min(longest, fits)
        # Layers that wait in main memory slow every round down: nothing is added to what was asked for.
        whole = sum(rooms.values())
        if _tokens(whole, weights, shapes, self.dtype) < least:
            raise self._too_large(weights, shapes, least, whole, smaller or {})
        return least

    def check_host(self, weights: Weights) -> None:
        """Refuse weights that must pass through main memory on their way and have no room there.

        Raises:
            EngineError: ``out_of_memory``.
        """
        needed, free = weights.bytes(self.dtype.itemsize), free_memory()
        if needed > free:
            raise EngineError(
                "out_of_memory",
                f"The weights ({needed / 1e9:.1f} GB) pass through main memory on their way to the GPU, "
                f"and that has {free / 1e9:.1f} GB free.",
                "Install accelerate, with which they are read into the GPU directly.",
            )

    def rooms(self) -> dict[int | str, int]:
        """Bytes that weights and caches can have: by a GPU's number, the first one first, and for ``cpu``."""
        free: dict[int | str, int] = {}
        if self.device.type == "cuda":
            gpus = [self.device.index]
            if self.device_map is not None:
                gpus += [gpu for gpu in range(torch.cuda.device_count()) if gpu != self.device.index]
            free |= {gpu: torch.cuda.mem_get_info(gpu)[0] for gpu in gpus}
        if self.device.type == "cpu" or self.device_map is not None:
            free["cpu"] = free_memory()
        return {device: int(size / HEADROOM) for device, size in free.items()}

    def _too_large(
        self,
        weights: Weights,
        shapes: Sequence[ModelShape],
        context: int,
        room: int,
        smaller: Mapping[str, Weights],
    ) -> EngineError:
        size = self.dtype.itemsize
        caches = sum(shape.running_bytes(context, size) for shape in shapes)
        owner = "GPU" if self.device.type == "cuda" and self.device_map is None else "machine"
        remedies = []
        if (fits := _tokens(room, weights, shapes, self.dtype)) >= 256:
            remedies.append(f"--context {fits}")
        if size > SHORT.itemsize and _tokens(room, weights, shapes, SHORT) >= context:
            remedies.append("--dtype bfloat16")
        remedies += [
            f"{option} ({(quantised.bytes(size) + caches) / 1e9:.1f} GB)"
            for option, quantised in smaller.items()
            if _tokens(room, quantised, shapes, self.dtype) >= context
        ]
        return EngineError(
            "out_of_memory",
            f"The weights ({weights.bytes(size) / 1e9:.1f} GB) and caches for {context:,} tokens "
            f"({caches / 1e9:.1f} GB) do not fit into the {room / 1e9:.1f} GB "
            f"that this {owner} can give them.",
            f"It would fit with {' or with '.join(remedies)}."
            if remedies
            else "Choose a smaller model (ddtree-tui models tells what each needs), or free memory.",
        )


def _tokens(room: int, weights: Weights, shapes: Sequence[ModelShape], dtype: torch.dtype) -> int:
    """Tokens whose caches fit into ``room`` bytes beside the weights; negative when these alone do not."""
    size = dtype.itemsize
    fixed = sum(shape.running_bytes(0, size) for shape in shapes)
    each = sum(shape.running_bytes(1, size) for shape in shapes) - fixed
    return (room - weights.bytes(size) - fixed) // max(1, each)


def free_memory() -> int:
    """Bytes of main memory that can be had: the kernel's estimate, or else all there is."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    try:
        where = torch.device(name)
    except RuntimeError as error:
        raise _bad_device(name) from error
    if where.type == "cpu":
        return torch.device("cpu")
    if where.type != "cuda":
        raise _bad_device(name)
    index = where.index or 0
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index >= count:
        seen = "no CUDA GPU on this machine" if count == 0 else f"only {count} CUDA GPU(s) on this machine"
        raise EngineError(
            "no_gpu",
            f"The device {name} was asked for, but torch sees {seen}.",
            "Use --device cpu or --device auto, or install a CUDA build of torch and the driver for it.",
            f"torch {torch.__version__}, built for CUDA {torch.version.cuda}",
        )
    return torch.device("cuda", index)


def _bad_device(name: str) -> EngineError:
    return EngineError("bad_setting", f"The device cannot be {name}.", "Choose auto, cpu, cuda or cuda:N.")
