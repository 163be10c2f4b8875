"""Where a pair computes, in which dtype, and whether it fits there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.errors import EngineError
from engine.settings import DTYPES


@dataclass(frozen=True)
class Place:
    """Device and dtype of all weights."""

    device: torch.device
    dtype: torch.dtype

    @classmethod
    def choose(cls, device: str, dtype: str, target_config: Any) -> Place:
        """Turn the settings' words into a device and a dtype.

        Args:
            device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda`` or ``cuda:N``.
            dtype: a name of ``DTYPES``; ``auto`` is float32 on a CPU and the checkpoint's own on a GPU.

        Raises:
            EngineError: ``bad_setting`` for other words, ``no_gpu`` when there is no such GPU.
        """
        where = _device(device)
        if dtype not in DTYPES:
            raise EngineError(
                "bad_setting", f"The dtype cannot be {dtype}.", "Choose one of " + ", ".join(DTYPES) + "."
            )
        if dtype != "auto":
            named: torch.dtype = getattr(torch, dtype)
            return cls(where, named)
        own = target_config.dtype if isinstance(target_config.dtype, torch.dtype) else torch.bfloat16
        return cls(where, torch.float32 if where.type == "cpu" else own)

    @property
    def name(self) -> str:
        """The device as people know it."""
        if self.device.type == "cpu":
            return "cpu"
        return f"{self.device} ({torch.cuda.get_device_name(self.device)})"

    def check_memory(self, parameters: int) -> None:
        """Say beforehand what cannot work: weights beyond the free memory.

        Raises:
            EngineError: ``out_of_memory``.
        """
        needed = parameters * self.dtype.itemsize
        if self.device.type == "cpu":
            free, owner = free_memory(), "machine"
        else:
            free, owner = torch.cuda.mem_get_info(self.device)[0], "GPU"
        if needed > free:
            raise EngineError(
                "out_of_memory",
                f"The weights need {needed / 1e9:.1f} GB, but this {owner} has {free / 1e9:.1f} GB free.",
                "Choose a smaller model or a shorter dtype (--dtype bfloat16), or free memory.",
            )


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
