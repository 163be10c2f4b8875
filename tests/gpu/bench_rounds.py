"""Round times against what reading the weights takes, in one run.

``python tests/gpu/bench_rounds.py --shape qwen3.6-27b --context 1024 32768 --budgets 16 64 --out FILE.json``
builds pairs of random weights in published shapes, one after the other, replays rounds behind texts of so
many tokens, and the pair's linears alone as one CUDA graph (of a mixture of experts without the experts; what
these take to read is told from how many a round touches, which random routers choose nearly uniformly).
``--soak 2000`` looks at memory over so many rounds. ``--cpu`` is a dry run with a tiny shape.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from round_experts import mixtures, reading
from round_memory import peak_bytes, soak, start_peak, told_bytes
from round_pairs import BLOCK, SHAPES, fill, random_pair
from torch import Tensor, nn

from engine.control import Control
from engine.decode import generate
from engine.events import Round
from engine.floor import copy_bandwidth
from engine.model_shape import drafter_shape, target_shape
from engine.pair import Pair

ROOM = 3072
"""Tokens that may follow the longest context."""
WARM_UP = 3
EXPERT_ROUNDS = 8
"""Rounds over which the experts touched are counted."""
MAIN_BUDGET = 64


def round_times(pair: Pair, context: int, rounds: int, **settings: Any) -> dict[str, float]:
    """Median milliseconds by stage over rounds that follow one another, and rounds per second by the wall
    clock, all the host does included; the first few rounds are left out."""
    fill(pair, context)
    start_peak()
    control, times, stamps = Control(), [], []
    for event in generate(pair, "x", max_new_tokens=ROOM - 1, control=control, **settings):
        if isinstance(event, Round):
            stamps.append(time.perf_counter())
            times.append(event.ms)
            if event.index + 1 >= rounds + WARM_UP:
                control.cancel()
    found = {
        stage: statistics.median(getattr(ms, stage) for ms in times[WARM_UP:])
        for stage in times[0].__struct_fields__
    }
    found["rounds_per_second"] = (len(stamps) - WARM_UP - 1) / (stamps[-1] - stamps[WARM_UP])
    return found | {"peak_bytes": peak_bytes()}


def linears(model: nn.Module, rows: int, extra: list[tuple[nn.Module, int]]) -> Callable[[], None]:
    """All linear layers of the target on ``rows`` rows, and ``extra`` modules' on theirs."""
    work: list[tuple[nn.Linear, Tensor]] = [
        (layer, torch.randn_like(layer.weight[:1]).repeat(count, 1))
        for module, count in [(model, rows), *extra]
        for layer in module.modules()
        if isinstance(layer, nn.Linear)
    ]

    def run() -> None:
        for layer, x in work:
            nn.functional.linear(x, layer.weight)

    return run


def replay_ms(run: Callable[[], None], repeats: int) -> float:
    """Median of ``repeats`` replays of one graph, by device events; plain calls without a GPU."""
    if not torch.cuda.is_available():
        start = time.perf_counter()
        run()
        return 1000 * (time.perf_counter() - start)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


@torch.inference_mode()
def measure(shape: str, pair: Pair, rounds: int, contexts: list[int], budgets: list[int]) -> dict[str, Any]:
    """Rounds in every mode at every context, the linears, and the ratios of these."""
    assert pair.drafter is not None
    budgets = sorted(budgets)  # what the larger trees take is then not in the smaller ones' peaks
    modes: dict[str, dict[str, Any]] = {"ar": {"mode": "ar"}, "chain": {"mode": "chain"}}
    modes |= {f"tree({budget})": {"mode": "tree", "budget": budget} for budget in budgets}
    times = {
        context: {name: round_times(pair, context, rounds, **settings) for name, settings in modes.items()}
        for context in sorted(contexts)
    }
    rows = {"1 row": linears(pair.target.model, 1, [])}
    rows |= {
        f"{budget + 1} rows + drafter": linears(
            pair.target.model, budget + 1, [(pair.drafter, BLOCK), (pair.target.head, BLOCK)]
        )
        for budget in budgets
    }
    floors = {name: replay_ms(run, 20) for name, run in rows.items()}
    told = told_bytes(shape, pair)
    bandwidth = copy_bandwidth(pair.target.device)
    first = times[min(contexts)]
    found: dict[str, Any] = {
        "contexts": times,
        "linears_ms": floors,
        "told_bytes": told,
        "copy_bytes_per_second": bandwidth,
        "ratios": _ratios(first, floors, budgets, told) | _context_ratios(shape, pair, times, bandwidth),
    }
    if mixtures(pair):
        found["experts"] = {
            name: reading(pair, min(contexts), EXPERT_ROUNDS, bandwidth, settings)
            for name, settings in modes.items()
        }
        for name, read in found["experts"].items():
            found["ratios"][f"{name} / reading its weights once"] = first[name]["total"] / read["floor_ms"]
            if name != "ar":
                found["ratios"][f"{name} / ar"] = first[name]["total"] / first["ar"]["total"]
    return found


def _ratios(
    times: dict[str, dict[str, float]], floors: dict[str, float], budgets: list[int], told: int
) -> dict[str, float]:
    ratios = {"ar / linears": times["ar"]["total"] / floors["1 row"]}
    for budget in budgets:
        tree = times[f"tree({budget})"]
        ratios |= {
            f"tree({budget}) / linears": tree["total"] / floors[f"{budget + 1} rows + drafter"],
            f"tree({budget}) / chain": tree["total"] / times["chain"]["total"],
            f"build+walk+commit share, tree({budget})": (tree["build"] + tree["walk"] + tree["commit"])
            / tree["total"],
            f"peak memory / told, tree({budget})": tree["peak_bytes"] / told,
        }
    return ratios


def _context_ratios(
    shape: str, pair: Pair, times: dict[int, dict[str, dict[str, float]]], bandwidth: float
) -> dict[str, float]:
    """Extra time of a round behind a longer text / time to read the keys and values it is longer by."""
    target, drafter = (
        size(config) for size, config in zip((target_shape, drafter_shape), SHAPES[shape], strict=True)
    )
    first, *others = times
    ratios = {}
    for context in others:
        for name, longer in times[context].items():
            per_token = target.per_token + (0 if name == "ar" else drafter.per_token)
            reading = (context - first) * per_token * pair.target.dtype.itemsize / bandwidth
            extra = (longer["total"] - times[first][name]["total"]) / 1000
            ratios[f"{name}: {context} instead of {first} tokens / reading them"] = extra / reading
    return ratios


def report(shape: str, found: dict[str, Any]) -> None:
    for context, modes in found["contexts"].items():
        for name, times in modes.items():
            stages = "".join(f"{stage} {value:8.3f}  " for stage, value in times.items() if value < 1e6)
            print(f"{shape} {context:6d} {name:10} {stages}")
    for name, ms in found["linears_ms"].items():
        print(f"{shape} linears, {name}: {ms:.3f} ms")
    for name, read in found.get("experts", {}).items():
        print(
            f"{shape} {name:10} {read['rows']} rows touch {read['touched']:.1f} experts a layer ("
            f"{read['touched_least']} to {read['touched_most']}; {read['touched_at_random']:.1f} at random):"
            f" {read['expert_bytes'] / 1e9:.1f} of {read['bytes'] / 1e9:.1f} GB, {read['floor_ms']:.3f} ms"
        )
    for name, ratio in found["ratios"].items():
        print(f"{shape} {name}: {ratio:.3f}")
    if "soak" in found:
        print(f"{shape} growth over {found['soak']['rounds']} rounds: {found['soak']['growth_bytes']}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=[*SHAPES], nargs="+", default=["qwen3.6-27b"])
    parser.add_argument("--context", type=int, nargs="+", default=[1024])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--budgets", type=int, nargs="+", default=[MAIN_BUDGET])
    parser.add_argument("--soak", type=int, default=0, help="rounds over which to look at memory")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    device = torch.device("cpu" if options.cpu else "cuda")
    dtype = torch.float32 if options.cpu else torch.bfloat16
    results: dict[str, Any] = {
        "command": " ".join(sys.argv),
        "device": torch.cuda.get_device_name() if not options.cpu else "cpu",
        "torch": torch.__version__,
        "shapes": {},
    }
    for shape in ["tiny", "tiny-experts"] if options.cpu else options.shape:
        started = time.perf_counter()
        pair = random_pair(shape, max(options.context) + ROOM, device, dtype)
        found: dict[str, Any] = {}
        if options.soak:  # first, while nothing else has taken memory
            memory = soak(pair, min(options.context), options.soak, MAIN_BUDGET)
            told = told_bytes(shape, pair)
            found["soak"] = memory | {
                "peak / told": memory["peak_bytes"] / told,
                "peak reserved / told": memory["peak_reserved_bytes"] / told,
            }
        found |= measure(shape, pair, options.rounds, options.context, options.budgets)
        found["seconds"] = time.perf_counter() - started
        results["shapes"][shape] = found
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        report(shape, found)
        del pair
        gc.collect()
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
