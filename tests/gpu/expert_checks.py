"""The kernels of a mixture of experts against their twins in float64, as in ``kernel_checks``."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from kernel_checks import Errors, relative, wide
from torch import Tensor

from engine.kernels import experts
from engine.kernels.experts import ExpertWeights

KINDS = ("plain", "shared", "clamped")


def triton_experts() -> SimpleNamespace:
    """The launchers of the Triton kernels."""
    from engine.kernels.jit import experts as jit

    return SimpleNamespace(route=jit.route, experts=jit.experts)


def dispatched_experts() -> SimpleNamespace:
    """What the engine calls: Triton on CUDA, twins elsewhere."""
    return SimpleNamespace(route=experts.route, experts=experts.experts)


def random_experts(
    count: int,
    hidden: int,
    width: int,
    device: str,
    *,
    kind: str = "plain",
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> ExpertWeights:
    """``kind``: ``clamped`` for gpt-oss' experts, whose limits are reached now and then; others alike."""
    generator = torch.Generator(device).manual_seed(seed)

    def draw(*shape: int, scale: float = 1.0) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype, device=device) * scale

    up, down = hidden**-0.5, width**-0.5
    if kind != "clamped":
        return ExpertWeights(draw(count, 2 * width, hidden, scale=up), draw(count, hidden, width, scale=down))
    return ExpertWeights(
        draw(count, hidden, 2 * width, scale=up), draw(count, width, hidden, scale=down),
        draw(count, 2 * width), draw(count, hidden), clamp=(1.5, 1.702),
    )  # fmt: skip


def check_experts(
    kernels: SimpleNamespace,
    device: str,
    rows: int,
    *,
    hidden: int = 72,
    width: int = 40,
    count: int = 6,
    top_k: int = 2,
    kind: str = "plain",
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> Errors:
    """Routing with and without weights that add up to 1, then the experts; the last gets no row."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).to(dtype).to(device)

    of = random_experts(count, hidden, width, device, kind=kind, dtype=dtype, seed=seed)
    x, logits = draw(rows, hidden), 3 * draw(rows, count)
    logits[:, -1] = -100
    shared, gate = (draw(rows, hidden), draw(hidden)) if kind == "shared" else (None, None)
    errors = {}
    for normalise in (False, True):
        chosen, weights = kernels.route(logits, top_k, normalise=normalise)
        # Of equal logits either will do.
        best = torch.topk(logits, top_k, dim=-1).values
        ids = chosen.long()
        alike = torch.equal(logits.gather(1, ids), best) and all(len(set(r)) == top_k for r in ids.tolist())
        errors[f"chosen_{normalise}"] = float(not alike)
        exact = experts.route_torch(logits.double(), top_k, normalise=normalise)[1]
        errors[f"weights_{normalise}"] = relative(weights, exact)
    got = kernels.experts(x, chosen, weights, of, shared=shared, shared_gate=gate)
    tensors = of.gate_up, of.down, of.gate_up_bias, of.down_bias
    expected = experts.experts_torch(
        *wide(x, chosen, weights), ExpertWeights(*wide(*tensors), clamp=of.clamp),
        shared=wide(shared)[0], shared_gate=wide(gate)[0],
    )  # fmt: skip
    errors["out"] = relative(got, expected)
    return errors
