"""Which implementation runs."""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache

import torch
from torch import Tensor

SWITCH = "DDTREE_TRITON"
"""Environment variable: 0 keeps to plain torch on CUDA too."""


@lru_cache(maxsize=1)
def triton_available() -> bool:
    """Triton is installed and not switched off. Looks once; does not import it."""
    return os.environ.get(SWITCH, "1") != "0" and importlib.util.find_spec("triton") is not None


def use_triton(tensor: Tensor) -> bool:
    """Kernels serve CUDA tensors; float64 is left to torch, which has the tensor cores for it."""
    return tensor.is_cuda and tensor.dtype != torch.float64 and triton_available()


def wide(dtype: torch.dtype) -> torch.dtype:
    """The type sums are kept in: float64 for float64, else float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32
