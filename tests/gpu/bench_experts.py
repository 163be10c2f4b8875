"""Times the experts of one layer against what transformers offers and against reading their weights.

``python tests/gpu/bench_experts.py OUT.json``; ``--sweep`` times launch parameters instead; ``--cpu`` is a
dry run. Rows are routed at random, which touches more experts than text does. Every way is captured in a
graph that runs several layers with weights of their own; one that cannot be captured is listed as failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
from expert_checks import random_experts
from kernel_report import Clock, Report, layer_type, table
from torch import Tensor, nn
from transformers import GptOssConfig, Qwen3_5MoeTextConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts
from transformers.models.qwen3_5_moe.modeling_qwen3_5_moe import Qwen3_5MoeExperts

from engine.floor import copy_bandwidth
from engine.kernels.experts import ExpertWeights, experts, experts_torch, route
from engine.static.experts import weights_of

ROWS = (1, 16, 65, 129, 257, 1025)
GATHERED = 16
"""Most rows for which copies of the chosen experts' weights are tried."""
SHARED_BYTES = 160 * 1024
"""Most that the stages of a tile may take."""
LIBRARY = ("grouped_mm", "batched_mm")


@dataclass(frozen=True)
class Mixture:
    hidden: int
    width: int
    count: int
    top_k: int
    kind: str = "plain"
    layers: int = 6

    @property
    def expert_bytes(self) -> int:
        """Of one expert in the type of a GPU's layers, without its biases."""
        return 3 * self.hidden * self.width * 2


MIXTURES = {
    "qwen3.6-35b-a3b": Mixture(2048, 512, 256, 8),
    "qwen3-coder-30b-a3b": Mixture(2048, 768, 128, 8),
    "qwen3-coder-next": Mixture(2048, 512, 512, 10, layers=4),
    "gpt-oss-20b": Mixture(2880, 2880, 32, 4, kind="clamped"),
}
TINY = {"plain": Mixture(32, 16, 8, 2, layers=2), "clamped": Mixture(32, 16, 8, 2, "clamped", layers=2)}


@dataclass(frozen=True)
class Case:
    """Layers with weights and rows of their own."""

    of: list[ExpertWeights]
    modules: list[Any]
    x: list[Tensor]
    chosen: list[Tensor]
    weights: list[Tensor]

    def calls(self, run: Callable[[int], object]) -> list[Callable[[], object]]:
        return [lambda layer=layer: run(layer) for layer in range(len(self.of))]

    @property
    def touched(self) -> float:
        """Experts per layer."""
        return sum(len(torch.unique(chosen)) for chosen in self.chosen) / len(self.chosen)


def modules_of(mixture: Mixture, device: str) -> list[Any]:
    """transformers' own modules, one per layer."""
    sizes = {"hidden_size": mixture.hidden, "num_experts_per_tok": mixture.top_k}
    clamped = mixture.kind == "clamped"
    config: Any = (
        GptOssConfig(**sizes, intermediate_size=mixture.width, num_local_experts=mixture.count)
        if clamped
        else Qwen3_5MoeTextConfig(**sizes, moe_intermediate_size=mixture.width, num_experts=mixture.count)
    )
    modules = []
    for layer in range(mixture.layers):
        with torch.device("meta"):
            module = (GptOssExperts if clamped else Qwen3_5MoeExperts)(config)
        of = random_experts(
            mixture.count, mixture.hidden, mixture.width, device,
            kind=mixture.kind, dtype=layer_type(device), seed=layer,
        )  # fmt: skip
        named = {
            "gate_up_proj": of.gate_up,
            "down_proj": of.down,
            "gate_up_proj_bias": of.gate_up_bias,
            "down_proj_bias": of.down_bias,
        }
        for name, weight in named.items():
            if weight is not None:
                setattr(module, name, nn.Parameter(weight, requires_grad=False))
        modules.append(module)
    return modules


def case(mixture: Mixture, modules: list[Any], rows: int, device: str) -> Case:
    torch.manual_seed(rows)
    dtype, layers = layer_type(device), range(len(modules))
    logits = [torch.randn(rows, mixture.count, dtype=dtype, device=device) for _ in layers]
    routed = [route(each, mixture.top_k, normalise=True) for each in logits]
    return Case(
        of=[weights_of(module) for module in modules],
        modules=modules,
        x=[torch.randn(rows, mixture.hidden, dtype=dtype, device=device) for _ in layers],
        chosen=[chosen for chosen, _ in routed],
        weights=[weights for _, weights in routed],
    )


def ways(found: Case, rows: int) -> Iterator[tuple[str, list[Callable[[], object]]]]:
    """Ours, what transformers has, and every expert on every row (or a gather) by plain products."""
    yield "ours", found.calls(lambda i: experts(found.x[i], found.chosen[i], found.weights[i], found.of[i]))
    index = [chosen.long() for chosen in found.chosen]
    for name in LIBRARY[: 2 if rows <= GATHERED else 1]:

        def library(layer: int, name: str = name) -> object:
            module = found.modules[layer]
            module.config._experts_implementation = name
            return module(found.x[layer], index[layer], found.weights[layer])

        yield name, found.calls(library)
    yield (
        "plain torch",
        found.calls(lambda i: experts_torch(found.x[i], found.chosen[i], found.weights[i], found.of[i])),
    )


def compare(report: Report, clock: Clock, options: SimpleNamespace, bandwidth: float) -> None:
    for name, mixture in options.mixtures.items():
        modules = modules_of(mixture, report.device)
        for rows in options.rows:
            found = case(mixture, modules, rows, report.device)
            size = found.touched * mixture.expert_bytes
            logits = torch.randn(rows, mixture.count, dtype=layer_type(report.device), device=report.device)
            routing = [lambda x=logits, k=mixture.top_k: route(x, k, normalise=True)] * mixture.layers
            report.attempt(
                f"{name} route {rows}",
                lambda n=name, r=rows, c=routing: report.time(f"{n}: route", r, clock(c)),
            )
            for way, calls in ways(found, rows):

                def measure(
                    label: str = f"{name}: {way}",
                    rows: int = rows,
                    calls: list[Callable[[], object]] = calls,
                    touched: float = found.touched,
                    size: float = size,
                ) -> None:
                    us = clock(calls)
                    report.time(
                        label, rows, us, touched=touched, TB_per_s=size / us / 1e6,
                        times_reading=us * bandwidth / 1e6 / size,
                    )  # fmt: skip

                report.attempt(f"{name} {way} {rows}", measure)
        del modules
        if report.device == "cuda":
            torch.cuda.empty_cache()


def sweep(report: Report, clock: Clock, options: SimpleNamespace) -> None:
    """One product's parameters at a time, the other's as they are by default."""
    from engine.kernels.jit.experts import experts as launch

    usual = (64, 128, 4, 4)
    products = itertools.product((32, 64, 128), (64, 128, 256), (4, 8), (3, 4, 6))
    shapes = [
        (columns, steps, warps, stages)
        for columns, steps, warps, stages in products
        if 2 * (stages - 1) * steps * (columns + 16) <= SHARED_BYTES and (warps == 4 or columns == 128)
    ]
    for name, mixture in options.mixtures.items():
        modules = modules_of(mixture, report.device)
        for rows in (1, 65):
            found = case(mixture, modules, rows, report.device)
            for which, shape in itertools.product(("up", "down"), shapes):
                pair = (shape, usual) if which == "up" else (usual, shape)

                def run(layer: int, pair: Any = pair, of: Case = found) -> object:
                    inputs = of.x[layer], of.chosen[layer], of.weights[layer], of.of[layer]
                    return launch(*inputs, shapes=pair)

                def measure(
                    label: str = f"{name}: {which}",
                    rows: int = rows,
                    shape: Any = shape,
                    calls: list[Callable[[], object]] = found.calls(run),  # noqa: B008
                ) -> None:
                    report.time(label, rows, clock(calls), shape=str(shape))

                report.attempt(f"{name} {which} {rows} {shape}", measure)
    report.times.sort(key=lambda time: (time["kernel"], time["rows"], time["us"]))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="JSON file to write")
    parser.add_argument("--shape", choices=[*MIXTURES], nargs="+", default=[*MIXTURES])
    parser.add_argument("--rows", type=int, nargs="+", default=[*ROWS])
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--cpu", action="store_true", help="dry run: tiny sizes, plain torch")
    given = parser.parse_args(arguments)
    device = "cpu" if given.cpu else "cuda"
    report, clock = Report(device), Clock(device, 2 if given.cpu else 9)
    options = SimpleNamespace(
        mixtures=TINY if given.cpu else {name: MIXTURES[name] for name in given.shape},
        rows=[1, 5] if given.cpu else given.rows,
    )
    bandwidth = copy_bandwidth(torch.device(device))
    with torch.inference_mode():
        if given.sweep:
            sweep(report, clock, options)
        else:
            compare(report, clock, options, bandwidth)
    print(table(report))
    found = vars(report) | {
        "command": " ".join(sys.argv),
        "torch": torch.__version__,
        "gpu": "" if given.cpu else torch.cuda.get_device_name(),
        "copy_bytes_per_second": bandwidth,
    }
    given.out.write_text(json.dumps(found, indent=1, default=str) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
