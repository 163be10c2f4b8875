"""Tree attention on the device, against its twin in float64."""

from __future__ import annotations

import pytest
import torch
from kernel_checks import check_attention, dispatched, worst

pytestmark = pytest.mark.gpu

KERNELS = dispatched()
COARSE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 6e-3}
SHAPES = [((9, 3), 64), ((4, 4), 96), ((6, 2), 112), ((8, 2), 128), ((6, 1), 256)]
CASES = [(dtype, *shape) for dtype in (torch.float32, torch.bfloat16) for shape in SHAPES]
CASES.append((torch.float16, (8, 2), 128))


@pytest.mark.parametrize(("dtype", "heads", "width"), CASES)
@pytest.mark.parametrize("rows", [1, 65])
def test_tree_attention(rows: int, heads: tuple[int, int], width: int, dtype: torch.dtype) -> None:
    for options in ({}, {"window": 20, "sinks": True, "gate": True}):
        errors = check_attention(KERNELS, "cuda", rows, heads, width, 700, dtype=dtype, **options)
        name, error = worst(errors)
        assert error < COARSE[dtype], (name, options)


def test_a_graph_replays_with_another_length() -> None:
    """Lengths are read on the device: what was captured at one holds for the next."""
    from engine.kernels.attention import tree_attention, tree_attention_torch

    length = torch.tensor([3], dtype=torch.int32, device="cuda")
    keys, values = torch.randn(2, 2, 500, 64, device="cuda")
    q, visible = (
        torch.randn(4, 4, 64, device="cuda"),
        torch.ones(4, 4, dtype=torch.bool, device="cuda").tril(),
    )
    tree_attention(q, keys, values, length, visible, 0.125)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = tree_attention(q, keys, values, length, visible, 0.125)
    for now in (0, 65, 490, 3):
        length.fill_(now)
        graph.replay()
        exact = tree_attention_torch(q.double(), keys.double(), values.double(), length, visible, 0.125)
        assert (out - exact).abs().max() < 1e-5
