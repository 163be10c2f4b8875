"""Checks and times every kernel at the shapes of Qwen3.6-27B: ``python tests/gpu/bench_kernels.py OUT.json``.

Each time is the median over replays of a CUDA graph that runs one call per layer, every layer with inputs of
its own, so that nothing is read from the L2 cache that the model would read from memory. ``--cpu`` tries the
script itself with tiny sizes and the plain torch twins.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from kernel_checks import (
    check_attention,
    check_delta,
    check_elementwise,
    check_inputs,
    check_stacked_commit,
    dispatched,
    triton_kernels,
)
from kernel_report import TINY, Clock, Report, Sizes, layer_type, table
from kernel_times import measure_copy, time_attention, time_build, time_delta, time_round, time_small
from round_checks import check_append, check_close, check_rank, check_statistics, check_walk
from tree_checks import check_broken_candidates, check_candidates, check_tree, check_whole_build


def check_all(report: Report, kernels: Any, sizes: Sizes) -> None:
    """Errors at the sizes that are timed."""
    device, dtype = report.device, layer_type(report.device)
    heads, dims = sizes.delta_heads, sizes.delta_dims
    for rows in sizes.rows:
        report.check(
            f"tree_delta {rows}", 1e-5, lambda r=rows: check_delta(kernels, device, r, heads, dims, seed=r)
        )
    middle = sizes.rows[len(sizes.rows) // 2]
    for kind in ("alike", "decaying"):
        report.check(
            f"tree_delta {middle} {kind}", 1e-5,
            lambda k=kind: check_delta(kernels, device, middle, heads, dims, kind=k),
        )  # fmt: skip
    report.check(
        f"tree_delta {middle} + padding", 1e-5,
        lambda: check_delta(kernels, device, middle, heads, dims, padding=middle // 2),
    )  # fmt: skip
    report.check("commit, stacked", 1e-5, lambda: check_stacked_commit(kernels, device))
    # Two roundings to bfloat16 of results near one another: at most about 2⁻⁸.
    coarse = 1e-5 if dtype == torch.float32 else 6e-3
    for rows in (sizes.rows[0], middle):
        report.check(
            f"delta_inputs {rows} {dtype}", coarse,
            lambda r=rows: check_inputs(kernels, device, r, heads, dims, dtype=dtype),
        )  # fmt: skip
        report.check(f"elementwise {rows}", 1e-5, lambda r=rows: check_elementwise(kernels, device, r))
        report.check(
            f"elementwise {rows} {dtype}", coarse,
            lambda r=rows: check_elementwise(kernels, device, r, dtype=dtype),
        )  # fmt: skip
    report.check(
        "delta_inputs float32", 1e-5, lambda: check_inputs(kernels, device, middle, heads, dims, bias=True)
    )
    check_all_attention(report, kernels, sizes, coarse, middle)
    check_all_builds(report, kernels, sizes)


def check_all_builds(report: Report, kernels: Any, sizes: Sizes) -> None:
    """Ids and trees must be equal; log-probabilities differ by the order of a float32 sum."""
    device, depths = report.device, sizes.block - 1
    for vocab, budget in itertools.product(sizes.vocabularies, sizes.budgets):
        for name, bound, check in (
            ("candidates", 2e-6, check_candidates),
            ("build", 0.5, check_whole_build),
            ("build within limits", 0.5, check_tree),
        ):
            report.check(
                f"{name}, {budget} of {vocab}", bound,
                lambda c=check, v=vocab, b=budget: c(kernels, device, depths, v, b, dtype=torch.bfloat16),
            )  # fmt: skip
    for dtype in (torch.float16, torch.float32):
        report.check(
            f"candidates {dtype}", 2e-6,
            lambda d=dtype: check_candidates(kernels, device, depths, sizes.vocabularies[0], 64, dtype=d),
        )  # fmt: skip
    report.check(
        "candidates, not finite",
        0.5,
        lambda: check_broken_candidates(kernels, device, 1000, sizes.budgets[-1]),
    )
    check_rounds(report, kernels, sizes)


def check_rounds(report: Report, kernels: Any, sizes: Sizes) -> None:
    """Walk and commit; integers are equal, so any bound below 1 does for them."""
    device, dtype, vocab = report.device, layer_type(report.device), sizes.vocabularies[0]
    for kind in {torch.float32, dtype}:
        report.check(
            f"row_statistics {kind}", 1e-6, lambda k=kind: check_statistics(kernels, device, 9, vocab, k)
        )
        report.check(f"count_better {kind}", 1e-6, lambda k=kind: check_rank(kernels, device, vocab, k))
    for rows in sizes.rows:
        report.check(f"walk_tree {rows}", 1e-6, lambda r=rows: check_walk(kernels, device, r))
        report.check(f"close_round {rows}", 1e-6, lambda r=rows: check_close(kernels, device, r, 1000, dtype))
    report.check("append_rows", 1e-6, lambda: check_append(kernels, device, sizes.hidden, dtype))


def check_all_attention(report: Report, kernels: Any, sizes: Sizes, coarse: float, middle: int) -> None:
    device, dtype = report.device, layer_type(report.device)
    usual = sizes.attention_heads, sizes.attention_dim
    for rows, context in itertools.product(sizes.rows, sizes.contexts):
        if rows <= middle or context == sizes.contexts[0]:
            report.check(
                f"attention {rows} after {context}", coarse,
                lambda r=rows, c=context: check_attention(
                    kernels, device, r, *usual, c, dtype=dtype, gate=True
                ),
            )  # fmt: skip
    variants: dict[str, tuple[tuple[int, int], int, dict[str, Any]]] = {
        "window, sinks, 64": ((8, 1), 64, {"window": 16, "sinks": True}),
        "wide window, 128": ((4, 1), 128, {"window": 10**6}),
        "96": ((4, 4), 96, {}),
        "112": ((6, 2), 112, {"sinks": True}),
        "one split": ((9, 3), 64, {"splits": 1, "sinks": True, "gate": True}),
    }
    if device == "cpu":
        variants.pop("one split")  # an option of the launcher, not of the twin
    bounds = {torch.float32: 1e-5, torch.float16: 2e-3} | {dtype: coarse}
    for (name, (heads, width, more)), (kind, bound) in itertools.product(variants.items(), bounds.items()):
        report.check(
            f"attention {name} {kind}", bound,
            lambda h=heads, w=width, m=more, k=kind: check_attention(
                kernels, device, middle, h, w, 300, dtype=k, **m
            ),
        )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="JSON file to write")
    parser.add_argument("--only", choices=["checks", "times"])
    parser.add_argument("--cpu", action="store_true", help="dry run: tiny sizes, plain torch")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    sizes, device = (TINY, "cpu") if options.cpu else (Sizes(), "cuda")
    kernels = dispatched() if options.cpu else triton_kernels()
    report, clock = Report(device), Clock(device, sizes.replays)
    torch.manual_seed(0)
    stages: dict[str, Callable[[], None]] = {
        "copy": lambda: measure_copy(report, clock, sizes),
        "checks": lambda: check_all(report, kernels, sizes),
        "delta": lambda: time_delta(report, kernels, clock, sizes),
        "attention": lambda: time_attention(report, kernels, clock, sizes),
        "round": lambda: time_round(report, kernels, clock, sizes),
        "small": lambda: time_small(report, kernels, clock, sizes),
        "build": lambda: time_build(report, kernels, clock, sizes),
    }
    seconds = {}
    for name, stage in stages.items():
        if options.only and (options.only == "checks") != (name == "checks"):
            continue
        before = time.monotonic()
        with torch.inference_mode():
            report.attempt(name, stage)
        seconds[name] = round(time.monotonic() - before, 1)
    print(table(report))
    print(f"seconds: {seconds}, {time.monotonic() - begun:.0f} in all")
    gpu = "" if options.cpu else torch.cuda.get_device_name()
    found = vars(report) | {
        "command": " ".join(sys.argv), "torch": torch.__version__, "gpu": gpu, "seconds": seconds,
    }  # fmt: skip
    options.out.write_text(json.dumps(found, indent=1, default=str), encoding="utf-8")
    return int(bool(report.failures) or not all(check["ok"] for check in report.checks))


if __name__ == "__main__":
    sys.exit(main())
