"""Times launch parameters of the gated-delta tree kernels: ``python tests/gpu/sweep_delta.py OUT.json``.

On a GPU, in under 30 s: first each variant compiles in a process of its own, side by side, and leaves what it
compiled in Triton's cache. What this finds goes into the launcher's defaults. Every line is printed, and OUT
written anew, as soon as it is known.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from kernel_checks import DeltaCase, Tree, relative, wide
from kernel_report import Clock, Report, Sizes
from kernel_times import delta_layer, time_serial
from torch import Tensor

from engine.kernels.delta import TreeSolution, tree_delta_torch
from engine.kernels.jit.delta import tree_delta

APART = ("invert", "read", "relate")
FIRST = ("invert", "read relate")
VARIANTS: tuple[tuple[int, dict[str, Any]], ...] = (
    (16, {}),
    (16, {"chunk": 64}),
    (16, {"chunk": 128}),
    (16, {"chunk": 64, "tiles": (64, 32)}),
    (65, {}),
    (65, {"registers": (128, 168)}),
    (65, {"registers": (144, 128)}),
    (65, {"chunk": 16, "registers": (128, None)}),
    (65, {"chunk": 64, "tiles": (64, 32)}),
    (65, {"tiles": (64, 64)}),
    (65, {"chunk": 128, "tiles": (32, 16)}),
    (65, {"launches": APART, "registers": (None, 168)}),
    (65, {"launches": APART, "chunk": 64, "tiles": (32, 16)}),
    (65, {"launches": ("invert relate", "read")}),
    (257, {"sharing": 4}),
    (257, {"launches": FIRST, "sharing": 2, "registers": (None, None, None, 128)}),
    (257, {"launches": FIRST, "sharing": 1, "tiles": (64, 32, 32, 32), "registers": (None, None, None, 96)}),
    (257, {"launches": FIRST, "chunk": 16, "registers": (None, 168, None, None), "tiles": (32, 32, 16, 32)}),
    (257, {"launches": FIRST, "chunk": 64, "registers": (None, 128, 128, 128), "tiles": (64, 32, 32, 32)}),
    (257, {"launches": APART, "chunk": 16, "sharing": 2, "tiles": (64, 64, 16, 16)}),
    (257, {"launches": APART, "sharing": 1, "tiles": (32, 64, 32, 64), "registers": (None, None, None, 168)}),
    (257, {"launches": APART, "chunk": 64, "sharing": 2, "registers": (None, 168, 96, 128)}),
    (257, {"launches": APART, "chunk": 128, "tiles": (64, 32, 32, 16), "registers": (None, 144, None, 96)}),
    (257, {"registers": (168, 128, 128, 128)}),
    (257, {"registers": (128, 168, None, 144), "tiles": (64, 32, 32, 32)}),
    (1025, {}),
    (1025, {"launches": FIRST, "sharing": 2, "registers": (None, None, None, 128)}),
)
"""Rows, and what the launcher is told."""
LAYERS = 24
BOUND = 1e-5


def compile_one(number: int) -> None:
    rows, options = VARIANTS[number]
    case = delta_layer(rows, Sizes(), "cuda", 0)
    tree_delta(*case[:5], Tree.random(rows, 1, "cuda").visible, case[5], **options)


def error_of(found: tuple[Tensor, TreeSolution], exact: tuple[Tensor, TreeSolution]) -> float:
    (out, solution), (right, solved) = found, exact
    return max(relative(out, right), relative(solution.u, solved.u), relative(solution.decay, solved.decay))


@cache
def exact_case(rows: int) -> tuple[DeltaCase, tuple[Tensor, TreeSolution]]:
    """A case with its solution in float64."""
    case = DeltaCase.random(rows, Sizes().delta_heads, Sizes().delta_dims, "cuda")
    return case, tree_delta_torch(*wide(*case.rows, case.tree.visible, case.state))


def profile(calls: list[Any]) -> dict[str, list[float]]:
    """Microseconds of each kernel, of every launch of it in a call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for call in calls:
            call()
        torch.cuda.synchronize()
    spent: dict[str, list[float]] = defaultdict(list)
    for event in sorted(found.events() or (), key=lambda event: event.time_range.start):
        if event.name.startswith("_"):
            spent[event.name].append(event.device_time)
    launches = {name: len(us) // len(calls) for name, us in spent.items()}
    return {
        name: [round(sum(us[place :: launches[name]]) / len(calls), 2) for place in range(launches[name])]
        for name, us in spent.items()
    }


def measure(report: Report, clock: Clock, rows: int, options: dict[str, Any]) -> None:
    sizes, tree = Sizes(), Tree.random(rows, 1, "cuda")
    case, exact = exact_case(rows)
    error = error_of(tree_delta(*case.rows, case.tree.visible, case.state, **options), exact)
    layers = [delta_layer(rows, sizes, "cuda", seed) for seed in range(LAYERS)]
    calls = [lambda c=c: tree_delta(*c[:5], tree.visible, c[5], **options) for c in layers]
    report.time("tree_delta", rows, clock(calls), error=error, options=options, kernels=profile(calls))


def compare(report: Report, clock: Clock) -> None:
    """Each row count's fastest against the kernel that keeps a state per node."""
    sizes = replace(Sizes(), serial_rows=(65, 257))
    for rows in sizes.serial_rows:
        report.attempt(f"node_serial {rows}", lambda r=rows: time_serial(report, clock, sizes, r))
        times = [t["us"] for t in report.times if t["rows"] == rows and t["kernel"] == "tree_delta"]
        serial = report.us("node_serial", rows)
        if times and serial:
            report.ratios[f"node_serial / fastest at {rows} rows"] = serial / min(times)


def main(out: Path) -> int:
    report, clock = Report("cuda"), Clock("cuda", 7)
    with torch.inference_mode():
        for rows, options in VARIANTS:
            before = len(report.times)
            report.attempt(f"{rows} {options}", lambda r=rows, o=options: measure(report, clock, r, o))
            for t in report.times[before:]:
                wrong = "" if t["error"] < BOUND else "WRONG"
                line = f"{rows:5d} {t['us']:8.2f} us {t['error']:.0e} {options} {t['kernels']} {wrong}"
                print(line, flush=True)
            out.write_text(json.dumps(vars(report), indent=1, default=str) + "\n", encoding="utf-8")
        compare(report, clock)
    out.write_text(json.dumps(vars(report), indent=1, default=str) + "\n", encoding="utf-8")
    for name, ratio in report.ratios.items():
        print(f"{name}: {ratio:.2f}")
    for failure in report.failures:
        print("FAILED", failure["name"], failure["error"][:200])
    return int(bool(report.failures) or any(t.get("error", 0.0) >= BOUND for t in report.times))


if __name__ == "__main__":
    if sys.argv[1] == "--compile":
        compile_one(int(sys.argv[2]))
    else:
        began = time.monotonic()
        processes = [
            subprocess.Popen([sys.executable, __file__, "--compile", str(number)])
            for number in range(len(VARIANTS))
        ]
        for process in processes:
            process.wait()
        print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)
        failed = main(Path(sys.argv[1]))
        print(f"{time.monotonic() - began:.0f} s in all")
        sys.exit(failed)
