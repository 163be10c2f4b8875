"""Times launch parameters of the kernels with the most to choose; of ``tree_delta``, ``sweep_delta.py`` does.

``python tests/gpu/sweep_kernels.py OUT.json [KERNEL …]``, on a GPU.
What this finds goes into the launchers' defaults; nothing is tuned while decoding. Compiling takes longer
than timing: first so many processes run every variant once, side by side, and leave it in Triton's cache.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from kernel_checks import Tree, one
from kernel_report import Clock, Report, Sizes
from kernel_times import commit_inputs

from engine.kernels.jit.attention import tree_attention
from engine.kernels.jit.delta_inputs import delta_inputs
from engine.kernels.jit.delta_state import tree_delta_commit
from engine.kernels.jit.elementwise import gated_rms_norm, swiglu
from engine.kernels.jit.logits import row_statistics

COMPILERS = 14
CONTEXTS = (1024, 32768)

Variant = tuple[str, int, dict[str, Any], Callable[[], list[Callable[[], object]]]]


def attention_variants(sizes: Sizes, rows: int, context: int) -> Iterator[Variant]:
    (HQ, HKV), D, device = sizes.attention_heads, sizes.attention_dim, torch.device("cuda")
    tree, length = Tree.random(rows, 1, device), one(context, device)
    buffers = [torch.randn(2, HKV, context + rows, D, dtype=torch.bfloat16, device=device) for _ in range(8)]
    q = torch.randn(rows, HQ, D, dtype=torch.bfloat16, device=device)
    low = [(16, 32, 4, 4), (16, 64, 4, 2), (16, 64, 4, 3), (16, 64, 8, 3), (16, 128, 4, 2), (16, 128, 8, 2)]
    tall = [
        (64, 32, 4, 3),
        (64, 64, 4, 2),
        (64, 64, 8, 2),
        (128, 32, 8, 3),
        (128, 64, 8, 2),
        (128, 128, 8, 1),
    ]
    shapes = low if rows * HQ // HKV <= 16 else tall
    for shape, splits in itertools.product(shapes, (None, 2, 4, 8, 16, 32, 64)):
        options = {"context": context, "shape": shape, "splits": splits}

        def calls(
            shape: tuple[int, int, int, int] = shape, splits: int | None = splits
        ) -> list[Callable[[], object]]:
            return [
                lambda b=b: tree_attention(
                    q, b[0], b[1], length, tree.visible, D**-0.5, shape=shape, splits=splits
                )
                for b in buffers
            ]

        yield "attention", rows, options, calls


def commit_variants(sizes: Sizes) -> Iterator[Variant]:
    """For paths of 1, 5 and all rows of a block."""
    device, states, kept, path = "cuda", *commit_inputs(sizes, "cuda")
    shapes = itertools.product((16, 32, 64, 128), (2, 4, 8), (1, 2, 4))
    for count, (tile, warps, together) in itertools.product((1, 5, 16), shapes):
        if 2 <= tile // warps <= 16:
            options = {"tile": tile, "warps": warps, "together": together}

            def calls(count: int = count, options: dict[str, int] = options) -> list[Callable[[], object]]:
                n = one(count, device)
                return [lambda: tree_delta_commit(states, kept, path, n, states, **options)] * 2

            yield "tree_delta_commit", count, options, calls


def statistics_variants(sizes: Sizes) -> Iterator[Variant]:
    vocab = sizes.vocabularies[0]
    for rows in (1, 65):
        logits = [torch.randn(rows, vocab, dtype=torch.bfloat16, device="cuda") for _ in range(4)]
        for share, warps in itertools.product((1024, 2048, 4096, 8192), (1, 2, 4, 8)):
            if 16 <= share // (32 * warps) <= 64:
                options = {"share": share, "warps": warps}

                def calls(
                    logits: list[torch.Tensor] = logits, options: dict[str, int] = options
                ) -> list[Callable[[], object]]:
                    return [lambda x=x: row_statistics(x, **options) for x in logits]

                yield "row_statistics", rows, options, calls


def small_variants(sizes: Sizes, rows: int) -> Iterator[Variant]:
    """What runs between the projections, with its launch parameters."""
    layers, device, kind = 16, "cuda", torch.bfloat16
    (HK, HV), (DK, DV) = sizes.delta_heads, sizes.delta_dims
    channels = 2 * HK * DK + HV * DV

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, dtype=kind, device=device)

    # Strided, as the merged projections leave them.
    projected = draw(layers, rows, channels + HV * DV + 2 * HV)
    mixed, z, b, a = projected.split((channels, HV * DV, HV, HV), dim=-1)
    z, out = z.unflatten(-1, (HV, DV)), torch.randn(layers, rows, HV, DV, device=device)
    halves = [draw(rows, 2 * sizes.intermediate).chunk(2, dim=-1) for _ in range(layers)]
    window, taps, kept, scale = draw(3, channels), draw(channels, 4), draw(rows, channels), draw(DV)
    rates, parents = [draw(HV) for _ in range(2)], Tree.random(rows, 1, torch.device(device)).parents
    kernels: dict[str, tuple[Callable[..., list[Callable[[], object]]], dict[str, tuple[int, ...]]]] = {
        "gated_rms_norm": (
            lambda **o: [lambda i=i: gated_rms_norm(out[i], z[i], scale, 1e-6, **o) for i in range(layers)],
            {"together": (1, 2, 4, 8, 16), "warps": (1, 2, 4, 8)},
        ),
        "swiglu": (
            lambda **o: [lambda a=a, b=b: swiglu(a, b, **o) for a, b in halves],
            {"share": (256, 512, 1024, 2048, 4096), "warps": (1, 2, 4, 8)},
        ),
        "delta_inputs": (
            lambda **o: [
                lambda i=i: delta_inputs(
                    mixed[i], window, parents, taps, None, a[i], b[i], *rates, (HK, HV), (DK, DV),
                    kept=kept, **o,
                )
                for i in range(layers)
            ],
            {"together": (1, 2, 4, 8, 16), "warps": (1, 2, 4, 8)},
        ),
    }  # fmt: skip
    for name, (calls, choices) in kernels.items():
        for values in itertools.product(*choices.values()):
            options = dict(zip(choices, values, strict=True))
            yield name, rows, options, lambda c=calls, o=options: c(**o)


def variants(sizes: Sizes, wanted: list[str]) -> Iterator[Variant]:
    for kernel, each in (
        (
            "attention",
            [
                lambda c=c, r=r: attention_variants(sizes, r, c)
                for c, r in itertools.product(CONTEXTS, (1, 16, 65))
            ],
        ),
        ("tree_delta_commit", [lambda: commit_variants(sizes)]),
        ("row_statistics", [lambda: statistics_variants(sizes)]),
        ("small", [lambda r=r: small_variants(sizes, r) for r in (1, 16, 65)]),
    ):
        if not wanted or kernel in wanted:
            for some in each:
                yield from some()


def compile_share(sizes: Sizes, share: int, wanted: list[str]) -> None:
    for number, (*_, calls) in enumerate(variants(sizes, wanted)):
        if number % COMPILERS == share:
            with contextlib.suppress(Exception):  # the timing pass reports it
                calls()[0]()


def main(out: Path, wanted: list[str]) -> None:
    report, sizes = Report("cuda"), Sizes()
    clock = Clock("cuda", 7)
    with torch.inference_mode():
        for kernel, rows, options, calls in variants(sizes, wanted):

            def measure(
                kernel: str = kernel,
                rows: int = rows,
                options: dict[str, Any] = options,
                calls: Callable[[], list[Callable[[], object]]] = calls,
            ) -> None:
                report.time(kernel, rows, clock(calls()), **options)

            report.attempt(f"{kernel} {rows} {options}", measure)
    groups: dict[tuple[object, ...], int] = defaultdict(int)
    for t in sorted(report.times, key=lambda t: (t["kernel"], t.get("context", 0), t["rows"], t["us"])):
        group = (t["kernel"], t.get("context"), t["rows"])
        groups[group] += 1
        if groups[group] <= 5:
            print(t)
    for failure in report.failures:
        print("FAILED", failure["name"], failure["error"][:160])
    out.write_text(json.dumps(vars(report), indent=1, default=str), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--compile":
        compile_share(Sizes(), int(sys.argv[2]), sys.argv[3:])
    else:
        processes = [
            subprocess.Popen([sys.executable, __file__, "--compile", str(share), *sys.argv[2:]])
            for share in range(COMPILERS)
        ]
        for process in processes:
            process.wait()
        main(Path(sys.argv[1]), sys.argv[2:])
