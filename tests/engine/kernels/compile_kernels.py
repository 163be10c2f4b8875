"""Compiles every kernel for a Hopper GPU, without one, and prints the names of those that compiled.

The interpreter takes code that the compiler refuses (a variable of two shapes, say). Triton's compiler needs
no device, only to be told which one to compile for.
"""

from __future__ import annotations

import os
from typing import Any

os.environ.pop("TRITON_INTERPRET", None)

import torch
from torch import empty
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from engine.ddtree import DraftTree
from engine.kernels.attention import LayerBuffers
from engine.kernels.delta import TreeSolution
from engine.kernels.experts import ExpertWeights
from engine.kernels.jit import attention, delta, delta_inputs, delta_state, draft_tree, elementwise, experts
from engine.kernels.jit import logits as jit_logits
from engine.kernels.jit import record as jit_record
from engine.kernels.jit import walk as jit_walk
from engine.kernels.record import Chosen, Drafted
from engine.kernels.walk import Text

HALF, INT, LONG = torch.bfloat16, torch.int32, torch.int64


class Hopper:
    """What the compiler asks of a driver."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: int = 0) -> int:
        return 0


def compile_only(kernel: Any, grid: Any) -> Any:
    def launch(*args: Any, **options: Any) -> None:
        compiled = kernel.run(*args, grid=grid, warmup=True, **options)
        assert compiled.asm["cubin"]
        print(kernel.fn.__name__)

    return launch


def main() -> None:
    driver.set_active(Hopper())
    JITFunction.__getitem__ = compile_only
    rows, (HK, HV), D = 20, (1, 2), 32
    one, path, parents = empty(1, dtype=INT), empty(4, dtype=INT), empty(rows, dtype=INT)

    q, v, g, state = empty(rows, HK, D), empty(rows, HV, D, dtype=HALF), empty(rows, HV), empty(HV, D, D)
    for count, dtype in ((1, HALF), (9, HALF), (20, HALF), (200, HALF), (200, torch.float32)):
        delta.tree_delta(
            empty(count, HK, D), empty(count, HK, D), empty(count, HV, D, dtype=dtype), empty(count, HV),
            empty(count, HV), empty(count, count, dtype=torch.bool), state,
        )  # fmt: skip
    solution = TreeSolution(q, empty(rows, HV, D), g)
    delta_state.tree_delta_commit(state, solution, path, one, state)
    delta.node_serial(q, q, v, g, g, parents, state, empty(rows, HV, D, D), empty(rows, HV, D))

    channels = 2 * HK * D + HV * D
    mixed, window, taps = (
        empty(rows, channels, dtype=HALF),
        empty(3, channels, dtype=HALF),
        empty(channels, 4),
    )
    gate, rate = empty(rows, HV, dtype=HALF), empty(HV)
    delta_inputs.tree_conv(mixed, window, parents, taps, empty(channels))
    delta_inputs.conv_window(window, mixed, path, one, window)
    delta_inputs.delta_inputs(
        mixed, window, parents, taps, None, gate, gate, rate, rate, (HK, HV), (D, D), kept=mixed
    )

    query, keys = empty(rows, 4, 64, dtype=HALF), empty(2, 100, 64, dtype=HALF)
    visible = empty(rows, rows, dtype=torch.bool)
    for options in (
        {"splits": 1, "gate": query},
        {"splits": 2, "window": 9, "depths": parents, "sinks": rate},
    ):
        attention.tree_attention(query, keys, keys, one, visible, 0.125, **options)
    attention.kv_write(query[:, :2], query[:, :2], keys, keys, one)
    attention.kv_commit(LayerBuffers([keys, keys]), path, one, one)

    logits, ids, place = empty(rows, 9000, dtype=HALF), empty(rows, dtype=LONG), empty((), dtype=INT)
    found = jit_logits.row_statistics(logits)
    better = jit_logits.count_better(logits, place, ids[0])
    flags, floats, zero = empty(rows - 1, dtype=torch.bool), empty(rows - 1), empty((), dtype=LONG)
    tree = DraftTree(ids[1:], ids[1:].clone(), ids[1:].clone(), floats, ids[1:].clone(), rows - 1)
    text = Text(place, ids[:1], zero, empty((), dtype=torch.bool), zero, ids[:16])
    walk = jit_walk.walk_tree(ids, tree, flags, text, 16)
    jit_walk.append_rows(logits, zero, logits, walk.path)
    for drafted in (None, Drafted(logits, floats, better)):
        jit_record.close_round(tree, flags, Chosen(logits, found, ids), drafted, walk, text)

    number = empty((), dtype=torch.int64)
    for dtype, count, budget in ((HALF, 1024, number), (torch.float32, 1, None)):
        found = draft_tree.tree_candidates(empty(15, 20_000, dtype=dtype), count)
        draft_tree.build_tree(found, count, number, number, budget)

    x, weight, cos = empty(rows, 64, dtype=HALF), empty(64, dtype=HALF), empty(rows, 8)
    for one_plus in (False, True):
        elementwise.rms_norm(x, weight, 1e-6, residual=x, one_plus=one_plus)
    elementwise.gated_rms_norm(query.float(), query, weight, 1e-6)
    elementwise.swiglu(x, x)
    elementwise.rotary_angles(one, parents, rate, 1.0, HALF)
    elementwise.rotate_heads(query, cos, cos, weight=weight)
    elementwise.attention_inputs(
        query, query[:, :2], query[:, :2], cos, cos, keys, keys, one, q_weight=weight, k_weight=weight
    )

    chosen, scores = experts.route(x[:, :20], 4, normalise=True)
    plain = ExpertWeights(empty(20, 96, 64, dtype=HALF), empty(20, 64, 48, dtype=HALF))
    turned = empty(20, 64, 96, dtype=HALF), empty(20, 48, 64, dtype=HALF)
    biases = empty(20, 96, dtype=HALF), empty(20, 64, dtype=HALF)
    for some in (1, rows):
        args = x[:some], chosen[:some], scores[:some]
        experts.experts(*args, plain, shared=x[:some], shared_gate=weight)
        experts.experts(*args, ExpertWeights(*turned, *biases, clamp=(7.0, 1.7)))


if __name__ == "__main__":
    main()
