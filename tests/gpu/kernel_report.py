"""Sizes, clock and report of the kernels' benchmark."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from kernel_checks import worst


@dataclass(frozen=True)
class Sizes:
    """What is measured, and how large."""

    delta_heads: tuple[int, int] = (16, 48)
    delta_dims: tuple[int, int] = (128, 128)
    delta_layers: int = 48
    attention_heads: tuple[int, int] = (24, 4)
    attention_dim: int = 256
    attention_layers: int = 16
    hidden: int = 5120
    intermediate: int = 17408
    block: int = 16
    rows: tuple[int, ...] = (1, 16, 65, 129, 257, 1025)
    serial_rows: tuple[int, ...] = (65, 257)
    contexts: tuple[int, ...] = (1024, 32768)
    vocabularies: tuple[int, ...] = (248_320, 151_936)
    budgets: tuple[int, ...] = (1, 16, 64, 256, 1024)
    replays: int = 15
    copy_bytes: int = 4 * 2**30


TINY = Sizes(
    delta_heads=(1, 2), delta_dims=(16, 16), delta_layers=2, attention_heads=(4, 2), attention_dim=32,
    attention_layers=2, hidden=64, intermediate=96, block=4, rows=(1, 5), serial_rows=(), contexts=(8, 20),
    vocabularies=(99, 70), budgets=(1, 16), replays=2, copy_bytes=2**20,
)  # fmt: skip


@dataclass
class Report:
    """What was found, written as it stands even when a kernel fails."""

    device: str
    checks: list[dict[str, Any]] = field(default_factory=list)
    times: list[dict[str, Any]] = field(default_factory=list)
    ratios: dict[str, float] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)

    def attempt(self, name: str, run: Callable[[], None]) -> None:
        """One kernel that does not compile must not keep the others from being measured."""
        try:
            run()
        except Exception as error:
            self.failures.append(
                {"name": name, "error": repr(error)[:500], "trace": traceback.format_exc()[-3000:]}
            )

    def check(self, name: str, bound: float, run: Callable[[], dict[str, float]]) -> None:
        def checked() -> None:
            errors = run()
            where, error = worst(errors)
            self.checks.append(
                {
                    "name": name,
                    "worst": where,
                    "error": error,
                    "bound": bound,
                    "ok": error < bound,
                    "all": errors,
                }
            )

        self.attempt(name, checked)

    def time(self, kernel: str, rows: int, us: float, **more: Any) -> None:
        self.times.append({"kernel": kernel, "rows": rows, "us": us, **more})

    def us(self, kernel: str, rows: int, **more: Any) -> float | None:
        wanted = {"kernel": kernel, "rows": rows, **more}
        return next((t["us"] for t in self.times if wanted.items() <= t.items()), None)


class Clock:
    """Microseconds per call."""

    def __init__(self, device: str, replays: int) -> None:
        self.device, self.replays = device, replays

    def __call__(self, calls: Sequence[Callable[[], object]]) -> float:
        if self.device == "cpu":
            return self._wall(calls)
        calls[0]()  # compiles
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for call in calls:
                call()
        times = []
        for _ in range(self.replays + 3):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            graph.replay()
            stop.record()
            stop.synchronize()
            times.append(start.elapsed_time(stop) * 1e3 / len(calls))
        return statistics.median(times[3:])

    def _wall(self, calls: Sequence[Callable[[], object]]) -> float:
        times = []
        for _ in range(self.replays):
            begun = time.perf_counter()
            for call in calls:
                call()
            times.append((time.perf_counter() - begun) * 1e6 / len(calls))
        return statistics.median(times)


def layer_type(device: str) -> torch.dtype:
    """What the model computes in."""
    return torch.float32 if device == "cpu" else torch.bfloat16


def table(report: Report) -> str:
    """What a reader wants to know first, last."""
    lines = ["", f"{'check':44} {'worst':>22} {'error':>9}  bound"]
    lines += [
        f"{c['name']:44} {c['worst']:>22} {c['error']:9.1e}  {c['bound']:.0e} {'' if c['ok'] else 'FAILED'}"
        for c in report.checks
    ]
    lines += ["", f"{'kernel':32} {'rows':>5} {'µs':>9}"]
    for t in report.times:
        more = {n: round(x, 3) if isinstance(x, float) else x for n, x in t.items()}
        rest = " ".join(f"{n}={x}" for n, x in more.items() if n not in {"kernel", "rows", "us"})
        lines.append(f"{t['kernel']:32} {t['rows']:5d} {t['us']:9.2f}  {rest}")
    lines += ["", *(f"{name:55} {value:.3f}" for name, value in report.ratios.items())]
    lines += ["", *(f"FAILED {f['name']}: {f['error'][:300]}" for f in report.failures)]
    bad = sum(not c["ok"] for c in report.checks) + len(report.failures)
    lines.append(f"{len(report.checks)} checks, {len(report.times)} times, {bad} failed")
    return "\n".join(lines)
