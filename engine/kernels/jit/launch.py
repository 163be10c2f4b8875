"""What all launchers need."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache

import torch
from torch import Tensor

MIN_DOT = 16
"""No side of a ``tl.dot`` may be smaller."""


def power_of_two(size: int) -> int:
    """The smallest power of two not below ``size``."""
    return 1 << (size - 1).bit_length()


def on_device(tensor: Tensor) -> AbstractContextManager[object]:
    """Kernels start on the current device; make that the tensor's."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()


@lru_cache(maxsize=16)
def multiprocessors(device: torch.device) -> int:
    """How many programs of a large tile run at a time."""
    return torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 4


def innermost_contiguous(*tensors: Tensor) -> None:
    """Kernels step through the last dimension one element at a time.

    Raises:
        ValueError: some tensor's last dimension is strided.
    """
    for tensor in tensors:
        if tensor.stride(-1) != 1 and tensor.shape[-1] > 1:
            raise ValueError(f"the last dimension of {tuple(tensor.shape)} must be contiguous")


def packed(tensor: Tensor) -> Tensor:
    """``tensor``, which must be contiguous: a copy would be written in vain.

    Raises:
        ValueError: it is not.
    """
    if not tensor.is_contiguous():
        raise ValueError(f"a tensor of shape {tuple(tensor.shape)} must be contiguous")
    return tensor
