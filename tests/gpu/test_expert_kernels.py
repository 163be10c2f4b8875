"""The Triton kernels of the experts on the device, against their twins in float64."""

from __future__ import annotations

import pytest
import torch
from expert_checks import KINDS, check_experts, dispatched_experts, random_experts
from kernel_checks import relative, worst

pytestmark = pytest.mark.gpu

KERNELS = dispatched_experts()
# Gate, up, their product, what an expert gives and its share are rounded one after the other.
COARSE = {torch.float32: 1e-5, torch.float16: 1e-3, torch.bfloat16: 8e-3}
EVEN = {"hidden": 256, "width": 96, "count": 40, "top_k": 8}
ODD = {"hidden": 360, "width": 120, "count": 6, "top_k": 3}
SMALL = {"hidden": 32, "width": 14, "count": 4, "top_k": 2}


@pytest.mark.parametrize("dtype", COARSE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rows", "sizes"),
    [*((rows, EVEN) for rows in (1, 2, 17, 257, 1025)), *((r, s) for r in (1, 65) for s in (ODD, SMALL))],
)
def test_experts(rows: int, sizes: dict[str, int], kind: str, dtype: torch.dtype) -> None:
    errors = check_experts(KERNELS, "cuda", rows, kind=kind, dtype=dtype, seed=rows, **sizes)
    name, error = worst(errors)
    assert error < COARSE[dtype], name


def test_a_graph_replays_with_another_routing() -> None:
    """Captured with all rows at the same experts, replayed with any."""
    of = random_experts(16, 64, 32, "cuda")
    for rows in (1, 65):
        x, logits = torch.randn(rows, 64, device="cuda"), torch.zeros(rows, 16, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            KERNELS.experts(x, *KERNELS.route(logits, 4, normalise=True), of)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = KERNELS.experts(x, *KERNELS.route(logits, 4, normalise=True), of)
        for _ in range(5):
            logits.normal_(std=3)
            graph.replay()
            alone = [
                KERNELS.experts(x[r : r + 1], *KERNELS.route(logits[r : r + 1], 4, normalise=True), of)
                for r in range(rows)
            ]
            assert relative(out, torch.cat(alone)) < 1e-5


def test_rows_give_the_same_in_any_company() -> None:
    """Bit for bit: a draft's rows must not sway the text."""
    of = random_experts(64, 256, 64, "cuda", dtype=torch.bfloat16)
    x = torch.randn(65, 256, device="cuda", dtype=torch.bfloat16)
    chosen, weights = KERNELS.route(torch.randn(65, 64, device="cuda").bfloat16(), 4, normalise=True)
    together = KERNELS.experts(x, chosen, weights, of)
    for rows in (1, 17):
        assert torch.equal(KERNELS.experts(x[:rows], chosen[:rows], weights[:rows], of), together[:rows])
