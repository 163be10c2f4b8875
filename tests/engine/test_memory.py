from __future__ import annotations

import sys

import pytest
import torch

from engine.memory import memory_use

CPU = torch.device("cpu")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's peak cannot be restarted")
def test_the_peak_is_that_since_the_last_call() -> None:
    memory_use(CPU)
    held = memory_use(CPU).bytes
    torch.ones(64 * 2**20, dtype=torch.uint8).sum()
    with_block, after = memory_use(CPU), memory_use(CPU)
    assert with_block.of == "process"
    assert with_block.peak_bytes - held > 60 * 2**20
    assert with_block.peak_bytes - after.peak_bytes > 40 * 2**20
    assert after.bytes <= after.peak_bytes


@pytest.mark.gpu
def test_on_a_gpu_it_is_what_torch_allocated() -> None:
    device = torch.device("cuda")
    memory_use(device)
    block = torch.ones(64 * 2**20, dtype=torch.uint8, device=device)
    held = memory_use(device)
    del block
    assert held.of == "device"
    assert held.bytes - memory_use(device).bytes >= 64 * 2**20
    assert held.peak_bytes - memory_use(device).peak_bytes >= 64 * 2**20
