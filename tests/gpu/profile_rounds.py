"""Where the time of a round goes, kernel by kernel, in two modes side by side.

``python tests/gpu/profile_rounds.py --shape qwen3.6-27b --out FILE.json``: replays the graphs of a ``chain``
and of a ``tree`` round under the profiler and prints what differs most first. Kernels of libraries have names
that say nothing and change with the number of rows: they are called by the kernels of ours they run between
(``rms_norm > swiglu`` is the projection to gate and up). ``rest`` is when no kernel ran. Times that count are
those of ``bench_rounds.py``, since a profiled replay is a little slower. ``--cpu`` is a dry run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from round_pairs import SHAPES, fill, random_pair
from torch.profiler import ProfilerActivity, profile

from engine.control import Control
from engine.decode import generate
from engine.events import Round
from engine.pair import Pair
from engine.static.runner import STAGES

REPLAYS = 5
SHOWN = 45
"""Lines of the table."""


@dataclass(frozen=True)
class Ran:
    """A kernel that ran: when it began, in microseconds, and for how long."""

    name: str
    start: float
    us: float


@dataclass
class Line:
    """What one kernel, or one place between two of ours, takes in a replay."""

    calls: float = 0.0
    us: float = 0.0
    kernels: list[str] = field(default_factory=list)


def warm(pair: Pair, context: int, **settings: Any) -> None:
    """Run a few rounds, whose graphs are then there."""
    fill(pair, context)
    control = Control()
    for event in generate(pair, "x", max_new_tokens=500, control=control, **settings):
        if isinstance(event, Round) and event.index >= 3:
            control.cancel()


def recorded(run: Callable[[], object]) -> list[Ran]:
    """The kernels of ``REPLAYS`` runs in the order they ran in; without a GPU, torch's operations."""
    cuda = torch.cuda.is_available()
    run()
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as profiler:
        for _ in range(REPLAYS):
            run()
        if cuda:
            torch.cuda.synchronize()
    events = [
        event
        for event in profiler.events() or ()
        if (event.device_type.name == "CUDA" if cuda else event.cpu_parent is None)
    ]
    ran = [Ran(event.name, event.time_range.start, event.time_range.elapsed_us()) for event in events]
    return sorted(ran, key=lambda one: one.start)


def ours(name: str) -> bool:
    """Whether a kernel is one of ours, as Triton names them."""
    return name.startswith("_")


def lines(ran: Sequence[Ran]) -> dict[str, Line]:
    """Kernels by name, those of libraries by their place; of one replay."""
    found: dict[str, Line] = {}
    runs = [(key, list(group)) for key, group in groupby(ran, key=lambda one: ours(one.name))]
    for number, (is_ours, group) in enumerate(runs):
        before = runs[number - 1][1][-1].name if number else ""
        after = runs[number + 1][1][0].name if number + 1 < len(runs) else ""
        place = f"{before[1:]} > {after[1:]}"
        for one in group:
            line = found.setdefault(one.name[1:] if is_ours else place, Line())
            line.calls += 1 / REPLAYS
            line.us += one.us / REPLAYS
            if one.name not in line.kernels:
                line.kernels.append(one.name)
    return found


def stage_lines(run: Callable[[], object]) -> dict[str, Line]:
    """``lines`` of a stage, and what of its time no kernel took."""
    ran = recorded(run)
    found = lines(ran)
    if ran:
        busy = sum(line.us for line in found.values())
        span = (max(one.start + one.us for one in ran) - ran[0].start) / REPLAYS
        found["rest"] = Line(1, span - busy)
    return found


def stages_of(pair: Pair, mode: str) -> dict[str, Callable[[], object]]:
    """What runs each stage of the mode's last bucket."""
    runner = pair.runner
    assert runner is not None
    bucket = [bucket for bucket in runner._rounds if bucket.mode == mode][-1]
    if bucket in runner._graphs:
        graphs = zip(STAGES, runner._graphs[bucket], strict=True)
        return {stage: graph.replay for stage, graph in graphs if graph is not None}
    stages = runner._rounds[bucket]
    return {stage: getattr(stages, stage) for stage in STAGES}


def table(found: dict[str, dict[str, dict[str, Line]]]) -> str:
    """Stages and kernels of both modes, the largest difference first."""
    (one, first), (other, second) = found.items()
    head = f"{'stage':7} {'kernel':44} {'calls':>6} {one:>10} {'calls':>6} {other:>10} {'µs more':>9}"
    totals, rows = [], []
    for stage in STAGES:
        a, b = first.get(stage, {}), second.get(stage, {})
        x, y = (sum(line.us for line in side.values()) for side in (a, b))
        totals.append(f"{stage:7} {'all of it':44} {'':6} {x:10.1f} {'':6} {y:10.1f} {y - x:9.1f}")
        for name in a | b:
            was, now = a.get(name, Line()), b.get(name, Line())
            text = f"{stage:7} {name[:44]:44} {was.calls:6.0f} {was.us:10.1f} {now.calls:6.0f} {now.us:10.1f}"
            rows.append((now.us - was.us, f"{text} {now.us - was.us:9.1f}"))
    rows.sort(key=lambda row: -abs(row[0]))
    return "\n".join([head, *totals, "", *(text for _, text in rows[:SHOWN])])


@torch.inference_mode()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES], default="qwen3.6-27b")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--modes", nargs=2, choices=["ar", "chain", "tree"], default=["chain", "tree"])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    kind = ("cpu", torch.float32) if options.cpu else ("cuda", torch.bfloat16)
    shape = "tiny" if options.cpu else options.shape
    pair = random_pair(shape, options.context + 1024, torch.device(kind[0]), kind[1])
    found: dict[str, dict[str, dict[str, Line]]] = {}
    for mode in options.modes:
        warm(pair, options.context, mode=mode, budget=options.budget)
        found[mode] = {stage: stage_lines(run) for stage, run in stages_of(pair, mode).items()}
    report = {
        "command": " ".join(sys.argv),
        "device": "cpu" if options.cpu else torch.cuda.get_device_name(),
        "shape": shape,
        "context": options.context,
        "budget": options.budget,
        "us": {
            mode: {stage: {name: vars(line) for name, line in part.items()} for stage, part in stages.items()}
            for mode, stages in found.items()
        },
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
