"""Times of every kernel, per layer of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from kernel_checks import DeltaCase, Tree, one
from kernel_report import Clock, Report, Sizes, layer_type
from round_checks import STEPS, RoundCase
from torch import Tensor
from tree_checks import scalars

from engine.kernels.attention import LayerBuffers
from engine.kernels.delta import TreeSolution
from engine.kernels.record import Chosen, Drafted

MIB = 2**20


def measure_copy(report: Report, clock: Clock, sizes: Sizes) -> None:
    """Bytes read and written per second by a device copy: what the other bandwidths compare with."""
    source = torch.empty(sizes.copy_bytes // 2, dtype=torch.int8, device=report.device)
    target = torch.empty_like(source)
    us = clock([lambda: target.copy_(source)])
    report.ratios["copy_TB_per_s"] = sizes.copy_bytes / us / 1e6


def time_delta(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """Solve, commit and the node-serial kernel, per layer."""
    for rows in sizes.rows:
        report.attempt(f"time tree_delta {rows}", lambda r=rows: time_solve(report, kernels, clock, sizes, r))
    report.attempt("time commit", lambda: time_commit(report, kernels, clock, sizes))
    for rows in sizes.serial_rows:
        report.attempt(f"time node_serial {rows}", lambda r=rows: time_serial(report, clock, sizes, r))


def time_solve(report: Report, kernels: Any, clock: Clock, sizes: Sizes, rows: int) -> None:
    tree = Tree.random(rows, 1, report.device)
    cases = [delta_layer(rows, sizes, report.device, seed) for seed in range(sizes.delta_layers)]
    us = clock([lambda c=c: kernels.tree_delta(*c[:5], tree.visible, c[5]) for c in cases])
    bytes_of_state = cases[0][5].numel() * 4
    report.time("tree_delta", rows, us, state_TB_per_s=bytes_of_state / us / 1e6)


def time_commit(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """All layers in one launch, a path of half a block."""
    states, kept, path = commit_inputs(sizes, report.device)
    count = one(sizes.block // 2, report.device)
    us = clock([lambda: kernels.tree_delta_commit(states, kept, path, count, states)])
    report.time("tree_delta_commit, all layers", len(path), us, TB_per_s=2 * states.numel() * 4 / us / 1e6)
    per_node = sum(x[:, 0].numel() * 4 for x in (kept.k, kept.u, kept.decay))
    report.ratios["kept per node, all layers, MiB"] = per_node / MIB


def commit_inputs(sizes: Sizes, device: str) -> tuple[Tensor, TreeSolution, Tensor]:
    """States of all layers, the solution of a block's rows, and their path."""
    layers, rows = sizes.delta_layers, sizes.block
    (HK, HV), (DK, DV) = sizes.delta_heads, sizes.delta_dims
    kept = TreeSolution(
        torch.randn(layers, rows, HK, DK, device=device),
        torch.randn(layers, rows, HV, DV, device=device),
        -torch.rand(layers, rows, HV, device=device),
    )
    states = torch.randn(layers, HV, DK, DV, device=device)
    return states, kept, torch.arange(rows, dtype=torch.int32, device=device)


def delta_layer(rows: int, sizes: Sizes, device: str, seed: int) -> list[Tensor]:
    """q, k, v, g, beta and state, made on the device."""
    torch.manual_seed(seed)
    (HK, HV), (DK, DV) = sizes.delta_heads, sizes.delta_dims
    q, k = torch.nn.functional.normalize(torch.randn(2, rows, HK, DK, device=device), dim=-1)
    v = torch.randn(rows, HV, DV, device=device).to(layer_type(device))
    g, beta = -torch.rand(rows, HV, device=device), torch.rand(rows, HV, device=device)
    return [q, k, v, g, beta, torch.randn(HV, DK, DV, device=device)]


def time_serial(report: Report, clock: Clock, sizes: Sizes, rows: int) -> None:
    """The kernel with one state per node, checked and timed."""
    from engine.gated_delta import DeltaRows, run_nodes
    from engine.kernels.jit.delta import node_serial

    (HK, HV), (DK, DV) = sizes.delta_heads, sizes.delta_dims
    tree = Tree.random(rows, 1, report.device)
    states = torch.empty(rows, HV, DK, DV, device=report.device)
    out = torch.empty(rows, HV, DV, device=report.device)
    cases = [delta_layer(rows, sizes, report.device, seed) for seed in range(4)]
    us = clock([lambda c=c: node_serial(*c[:5], tree.parents, c[5], states, out) for c in cases])
    report.time("node_serial", rows, us)
    fast = report.us("tree_delta", rows)
    if fast:
        report.ratios[f"node_serial / tree_delta at {rows} rows"] = us / fast
    if rows == sizes.serial_rows[0]:
        case = DeltaCase.random(rows, (HK, HV), (DK, DV), report.device)
        node_serial(*case.rows, case.tree.parents, case.state, states, out)
        q, k, v, g, beta = (x.double() for x in case.rows)
        q, k = (x.repeat_interleave(HV // HK, dim=1) for x in (q, k))
        expected, _ = run_nodes(DeltaRows(q, k, v, g, beta), case.tree.parents, case.state.double())
        report.check("node_serial", 1e-5, lambda: {"out": float((out - expected).norm() / expected.norm())})


def time_attention(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """Attention per layer; the bandwidth counts the committed keys and values once."""
    device, (_, HKV), D = report.device, sizes.attention_heads, sizes.attention_dim
    for context in sizes.contexts:
        layers = sizes.attention_layers * (1 if context > 4096 else 2)
        shape = 2, HKV, context + max(sizes.rows) + 64, D
        buffers = [torch.randn(*shape, dtype=layer_type(device), device=device) for _ in range(layers)]
        for rows in sizes.rows:
            if rows <= 300 or context <= 4096:
                report.attempt(
                    f"time attention {rows} after {context}",
                    lambda b=buffers, r=rows, c=context: time_attention_of(
                        report, kernels, clock, sizes, b, r, c
                    ),
                )
    few, many = sizes.contexts
    for rows in sizes.rows:
        short, long = (report.us("attention", rows, context=context) for context in sizes.contexts)
        if short and long:
            more = 2 * HKV * (many - few) * D * layer_type(device).itemsize
            reading = more / report.ratios["copy_TB_per_s"] / 1e6
            report.ratios[f"{many} instead of {few}, {rows} rows: time / reading it"] = (
                long - short
            ) / reading


def time_attention_of(
    report: Report, kernels: Any, clock: Clock, sizes: Sizes, buffers: list[Tensor], rows: int, context: int
) -> None:
    (HQ, HKV), D = sizes.attention_heads, sizes.attention_dim
    tree, length = Tree.random(rows, 1, report.device), one(context, report.device)
    q = torch.randn(rows, HQ, D, dtype=layer_type(report.device), device=report.device)
    us = clock([
        lambda b=b: kernels.tree_attention(q, b[0], b[1], length, tree.visible, D**-0.5, gate=q)
        for b in buffers
    ])  # fmt: skip
    report.time(
        "attention", rows, us, context=context,
        kv_TB_per_s=2 * HKV * context * D * q.element_size() / us / 1e6,
        TFLOP_per_s=4 * rows * HQ * (context + rows) * D / us / 1e6,
    )  # fmt: skip


def time_small(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """What runs between the projections, per layer."""
    for rows in (r for r in sizes.rows if r <= 300):
        for name, calls in small_calls(kernels, sizes, report.device, rows).items():
            report.attempt(f"time {name} {rows}", lambda n=name, c=calls, r=rows: report.time(n, r, clock(c)))


def small_calls(kernels: Any, sizes: Sizes, device: str, rows: int) -> dict[str, list[Callable[[], object]]]:
    (HK, HV), (DK, DV) = sizes.delta_heads, sizes.delta_dims
    (HQ, HKV), D = sizes.attention_heads, sizes.attention_dim
    channels, layers = 2 * HK * DK + HV * DV, 16

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=layer_type(device), device=device)

    tree = Tree.random(rows, 1, device)
    path, count = tree.padded_path(rows - 1)
    n, zero = one(count, device), one(0, device)
    window, weight = draw(3, channels), draw(channels, 4)
    gates = draw(rows, HV), draw(rows, HV), draw(HV), draw(HV)
    mixed = [draw(rows, channels) for _ in range(layers)]
    x, scale = draw(rows, sizes.hidden), draw(sizes.hidden)
    out, z = draw(rows, HV, DV).float(), draw(rows, HV, DV)
    gate, up = draw(rows, 2 * sizes.intermediate).chunk(2, dim=-1)
    q, k, cos = draw(rows, HQ, 2 * D)[..., :D], draw(rows, HKV, D), draw(rows, D // 8)
    keys, values = draw(2, sizes.attention_layers, HKV, rows + 64, D)
    buffers = LayerBuffers([*keys, *values])
    shape = (HK, HV), (DK, DV)
    norms = {"q_weight": scale[:D], "k_weight": scale[:D], "one_plus": True}
    return {
        "delta_inputs": [
            lambda m=m: kernels.delta_inputs(m, window, tree.parents, weight, None, *gates, *shape)
            for m in mixed
        ],
        "tree_conv": [lambda m=m: kernels.tree_conv(m, window, tree.parents, weight) for m in mixed],
        "conv_window": [lambda m=m: kernels.conv_window(window, m, path, n, window) for m in mixed],
        "rms_norm + residual": [
            lambda: kernels.rms_norm(x, scale, 1e-6, residual=x, one_plus=True)
        ] * layers,
        "gated_rms_norm": [lambda: kernels.gated_rms_norm(out, z, scale[:DV], 1e-6)] * layers,
        "swiglu": [lambda: kernels.swiglu(gate, up)] * layers,
        "attention_inputs": [
            lambda a=a, b=b: kernels.attention_inputs(q, k, k, cos, cos, a, b, zero, **norms)
            for a, b in zip(keys, values, strict=True)
        ],
        "kv_commit, all layers": [lambda: kernels.kv_commit(buffers, path, n, zero)],
    }  # fmt: skip


def time_build(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """Candidates, the tree from them, and both, per round; ``rows`` is the budget."""
    vocab, depths = sizes.vocabularies[0], sizes.block - 1
    # A round's logits fit into the L2 cache, so the same few serve all calls.
    logits = [
        4 * torch.randn(depths, vocab, dtype=layer_type(report.device), device=report.device)
        for _ in range(2)
    ]
    for budget in sizes.budgets:
        report.attempt(
            f"time build {budget}", lambda b=budget: time_build_of(report, kernels, clock, logits, b)
        )


def time_build_of(report: Report, kernels: Any, clock: Clock, logits: list[Tensor], budget: int) -> None:
    limits = scalars(report.device, 7, 10**6, budget)
    found = [kernels.tree_candidates(x, budget) for x in logits]
    steps: dict[str, list[Callable[[], object]]] = {
        "tree_candidates": [lambda x=x: kernels.tree_candidates(x, budget) for x in logits],
        "build_tree": [lambda c=c: kernels.build_tree(c, budget, *limits) for c in found],
        "build": [
            lambda x=x: kernels.build_tree(kernels.tree_candidates(x, budget), budget, *limits)
            for x in logits
        ],
    }  # fmt: skip
    for name, calls in steps.items():
        report.time(name, budget, clock(calls))


def time_round(report: Report, kernels: Any, clock: Clock, sizes: Sizes) -> None:
    """Walk and commit but for the caches: once a round, each call repeated with data of its own."""
    for rows in sizes.rows:
        for name, calls in round_calls(kernels, sizes, report.device, rows).items():
            report.attempt(f"time {name} {rows}", lambda n=name, c=calls, r=rows: report.time(n, r, clock(c)))


def round_calls(kernels: Any, sizes: Sizes, device: str, rows: int) -> dict[str, list[Callable[[], object]]]:
    kind, vocab = layer_type(device), sizes.vocabularies[0]
    case = RoundCase.random(rows, device)
    logits = [torch.randn(rows, vocab, device=device, dtype=kind) for _ in range(4)]
    drafts = [torch.randn(sizes.block - 1, vocab, device=device, dtype=kind) for _ in range(4)]
    tree = case.choices, case.tree, case.is_node, case.text, STEPS
    walk, start = kernels.walk_tree(*tree), torch.zeros((), dtype=torch.int64, device=device)
    found, sums = kernels.row_statistics(logits[0]), kernels.row_statistics(drafts[0]).logsumexp
    better = kernels.count_better(drafts[0], walk.accepted, walk.bonus)
    features = torch.randn(rows, 5 * sizes.hidden, device=device, dtype=kind)
    buffer = torch.zeros(2 * STEPS, 5 * sizes.hidden, device=device, dtype=kind)
    end = (case.tree, case.is_node, Chosen(logits[0], found, case.choices), Drafted(drafts[0], sums, better))
    return {
        "row_statistics": [lambda x=x: kernels.row_statistics(x) for x in logits],
        "count_better": [lambda x=x: kernels.count_better(x, walk.accepted, walk.bonus) for x in drafts],
        "walk_tree": [lambda: kernels.walk_tree(*tree)] * 16,
        "append_rows": [lambda: kernels.append_rows(buffer, start, features, walk.path)] * 16,
        "close_round": [lambda: kernels.close_round(*end, walk, case.text)] * 16,
    }
