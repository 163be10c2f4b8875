"""Times launch parameters of the two kernels with the most to choose.

``python tests/gpu/sweep_kernels.py OUT.json``, on a GPU.
What this finds goes into the launchers' defaults; nothing is tuned while decoding.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from kernel_checks import Tree, one
from kernel_report import Clock, Report, Sizes
from kernel_times import delta_layer

from engine.kernels.jit.attention import tree_attention
from engine.kernels.jit.delta import tree_delta


def sweep_delta(report: Report, clock: Clock, sizes: Sizes, rows: int) -> None:
    tree = Tree.random(rows, 1, report.device)
    cases = [delta_layer(rows, sizes, report.device, seed) for seed in range(16)]
    for block, tile, warps in itertools.product((16, 32, 64), (16, 32, 64), (2, 4, 8)):
        if (block == 16 and rows > 100) or (warps == 8) != (block == 64 and tile == 64):
            continue
        options = {"block": block, "tile": tile, "warps": warps}

        def measure(options: dict[str, int] = options) -> None:
            calls = [lambda c=c: tree_delta(*c[:5], tree.visible, c[5], **options) for c in cases]
            report.time("tree_delta", rows, clock(calls), **options)

        report.attempt(f"tree_delta {rows} {options}", measure)


def sweep_attention(report: Report, clock: Clock, sizes: Sizes, rows: int, context: int) -> None:
    (HQ, HKV), D = sizes.attention_heads, sizes.attention_dim
    tree, length = Tree.random(rows, 1, report.device), one(context, report.device)
    buffers = [
        torch.randn(2, HKV, context + rows, D, dtype=torch.bfloat16, device=report.device) for _ in range(8)
    ]
    q = torch.randn(rows, HQ, D, dtype=torch.bfloat16, device=report.device)
    shapes = (
        [(16, 32, 4, 4), (16, 64, 4, 2), (16, 64, 4, 3), (16, 64, 8, 3), (16, 128, 4, 2), (16, 128, 8, 2)]
        if rows * HQ // HKV <= 16
        else [
            (64, 32, 4, 3),
            (64, 64, 4, 2),
            (64, 64, 8, 2),
            (128, 32, 8, 3),
            (128, 64, 8, 2),
            (128, 128, 8, 1),
        ]
    )
    for shape, splits in itertools.product(shapes, (None, 8, 16, 32, 64)):

        def measure(shape: tuple[int, int, int, int] = shape, splits: int | None = splits) -> None:
            calls = [
                lambda b=b: tree_attention(
                    q, b[0], b[1], length, tree.visible, D**-0.5, shape=shape, splits=splits
                )
                for b in buffers
            ]
            report.time("attention", rows, clock(calls), context=context, shape=shape, splits=splits)

        report.attempt(f"attention {rows} {shape} {splits}", measure)


def main(out: Path) -> None:
    report, sizes = Report("cuda"), Sizes()
    clock = Clock("cuda", 7)
    with torch.inference_mode():
        for rows in (16, 65, 257):
            sweep_delta(report, clock, sizes, rows)
        for rows in (1, 16, 65):
            sweep_attention(report, clock, sizes, rows, 32768)
    for t in sorted(report.times, key=lambda t: (t["kernel"], t["rows"], t["us"])):
        print(t)
    for failure in report.failures:
        print("FAILED", failure["name"], failure["error"][:160])
    out.write_text(json.dumps(vars(report), indent=1, default=str), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
