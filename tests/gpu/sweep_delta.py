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

VARIANTS: tuple[tuple[int, dict[str, Any]], ...] = (
    (16, {}),
    (65, {}),
    (257, {}),
    (257, {"tiles": (64, 32, 32, 32)}),
    (257, {"fine": True}),
    (1025, {}),
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
    case = DeltaCase.random(rows, Sizes().delta_heads, Sizes().delta_dims, "cuda", dtype=torch.bfloat16)
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
    sizes = Sizes()
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
