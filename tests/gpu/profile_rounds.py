"""Which kernels a round spends its time in.

``python tests/gpu/profile_rounds.py --shape qwen3.6-27b --budget 64 --out FILE.json``: replays a round's
graphs under the profiler and lists their kernels by stage and total time. Tables are for reading; times
that count come from ``bench_rounds.py``, since a profiled replay is a little slower.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
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
from engine.static.runner import STAGES


def warm(pair: Any, context: int, **settings: Any) -> None:
    fill(pair, context)
    control = Control()
    for event in generate(pair, "x", max_new_tokens=500, control=control, **settings):
        if isinstance(event, Round) and event.index >= 3:
            control.cancel()


def kernels(graph: Any, replays: int) -> list[dict[str, Any]]:
    """Kernels of one graph, the most expensive first: name, calls a replay, microseconds a replay."""
    graph.replay()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(replays):
            graph.replay()
        torch.cuda.synchronize()
    calls: dict[str, int] = defaultdict(int)
    times: dict[str, float] = defaultdict(float)
    for event in profiler.events():
        if event.device_type.name == "CUDA":
            calls[event.name] += 1
            times[event.name] += event.self_device_time_total
    return [
        {"name": name, "calls": calls[name] / replays, "us": times[name] / replays}
        for name in sorted(times, key=times.__getitem__, reverse=True)
    ]


@torch.inference_mode()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES], default="qwen3.6-27b")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--budget", type=int, default=64)
    parser.add_argument("--modes", nargs="+", default=["tree", "chain", "ar"])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    pair = random_pair(options.shape, options.context + 1024, torch.device("cuda"), torch.bfloat16)
    report: dict[str, Any] = {"command": " ".join(sys.argv), "device": torch.cuda.get_device_name()}
    for mode in options.modes:
        warm(pair, options.context, mode=mode, budget=options.budget)
    for bucket, graphs in pair.runner._graphs.items():
        for stage, graph in zip(STAGES, graphs, strict=True):
            if graph is None:
                continue
            rows = kernels(graph, 5)
            report[f"{bucket.mode} {stage}"] = rows
            total = sum(row["us"] for row in rows)
            print(f"\n{bucket.mode}({bucket.nodes}) {stage}: {total / 1000:.3f} ms in kernels")
            for row in rows[:22]:
                print(f"  {row['us']:9.1f} us {row['calls']:6.0f} x  {row['name'][:90]}")
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
