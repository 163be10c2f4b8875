"""Times ways to run a target's linears: ``python tests/gpu/sweep_linears.py OUT.json [--shape qwen3.6-27b]``.

Linears that read the same rows can run as one or each by itself, in pieces of another size, or on more rows
than there are: the library has kernels for some sizes only, and chooses by rules of its own. What this finds
goes into ``engine.merged``. In under 60 s; ``--ways "batch of 4" apart`` looks at these alone; ``--cpu`` is a
dry run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
import torch.nn.functional as F
from kernel_report import Clock, Report
from round_pairs import SHAPES
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

from engine.merged import TOGETHER

ROWS = (1, 16, 17, 65)
COLD_BYTES = 400 * 2**20
"""Of weights between two reads of the same ones, so that none are left in the chip's cache."""

Calls = list[Callable[[], object]]


@dataclass(frozen=True)
class Group:
    """Linears of a layer that read the same rows.

    Attributes:
        sizes: outputs of each.
        inputs: of all.
        count: how often the model has such a group.
    """

    name: str
    sizes: tuple[int, ...]
    inputs: int
    count: int

    @property
    def bytes(self) -> int:
        return sum(self.sizes) * self.inputs * 2


def groups(shape: str) -> list[Group]:
    """Those of a published target."""
    settings = dict(SHAPES[shape][0])
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    found: dict[tuple[str, tuple[int, ...], int], int] = {}
    joined = {name for names in TOGETHER for name in names}
    for module in model.modules():
        children = dict(module.named_children())
        sets = [names for names in TOGETHER if all(isinstance(children.get(n), nn.Linear) for n in names)]
        sets += [(n,) for n, child in children.items() if isinstance(child, nn.Linear) and n not in joined]
        for names in sets:
            linears: list[Any] = [children[name] for name in names]
            key = " ".join(names), tuple(each.out_features for each in linears), linears[0].in_features
            found[key] = found.get(key, 0) + 1
    return [Group(*key, count) for key, count in found.items()]


def pieces(weight: Tensor, count: int) -> list[Tensor]:
    """A weight in so many pieces of about equal multiples of 128 rows."""
    step = -(-weight.shape[0] // count // 128) * 128
    return list(weight.split(step))


def ways(group: Group, rows: int, device: str, dtype: torch.dtype) -> Iterator[tuple[str, Calls]]:
    """Every way to run a group, with one call for each of several copies of its weights."""
    copies = max(2, COLD_BYTES // group.bytes) if device == "cuda" else 1
    weights = [torch.randn(sum(group.sizes), group.inputs, device=device, dtype=dtype) for _ in range(copies)]
    x = torch.randn(rows, group.inputs, device=device, dtype=dtype)

    def each(run: Callable[[Tensor], object]) -> Calls:
        return [lambda w=w: run(w) for w in weights]

    def all_of(parts: Callable[[Tensor], list[Tensor]]) -> Callable[[Tensor], object]:
        return lambda w: [F.linear(x, part) for part in parts(w)]

    yield "merged", each(lambda w: F.linear(x, w))
    if len(group.sizes) > 1:
        yield "apart", each(all_of(lambda w: list(w.split(list(group.sizes)))))
    if len(group.sizes) > 2:
        first = sum(group.sizes[:2])
        yield "first two, rest", each(all_of(lambda w: list(w.split([first, len(w) - first]))))
    for count in (2, 3, 4, 6):
        if sum(group.sizes) >= 128 * count:
            yield f"{count} pieces", each(all_of(lambda w, c=count: pieces(w, c)))
        if sum(group.sizes) % count == 0:
            spread = x.expand(count, -1, -1)
            yield (
                f"batch of {count}",
                each(lambda w, c=count, s=spread: torch.bmm(s, w.view(c, -1, group.inputs).mT)),
            )
    for more in (24, 32, 64, 72, 80, 96, 128):
        if rows < more <= 2 * rows:
            padded = torch.cat((x, x.new_zeros(more - rows, group.inputs)))
            yield f"as {more} rows", each(lambda w, p=padded: F.linear(p, w))
    if rows > 64:
        yield "64 rows, rest", each(lambda w: (F.linear(x[:64], w), F.linear(x[64:], w)))
    yield "turned", each(lambda w: torch.mm(w, x.t()))
    if device == "cuda":
        before = torch.backends.cuda.preferred_blas_library()
        torch.backends.cuda.preferred_blas_library("cublaslt")
        yield "cublaslt", each(lambda w: F.linear(x, w))
        torch.backends.cuda.preferred_blas_library(before)


def measure(
    report: Report, clock: Clock, group: Group, rows: int, dtype: torch.dtype, wanted: list[str] | None
) -> None:
    for way, calls in ways(group, rows, report.device, dtype):
        if wanted and way not in ("merged", *wanted):
            continue

        def time_it(way: str = way, calls: Calls = calls) -> None:
            us = clock(calls)
            report.time(group.name, rows, us, way=way, count=group.count, TB_per_s=group.bytes / us / 1e6)

        report.attempt(f"{group.name} {rows} {way}", time_it)


def table(report: Report) -> str:
    """Per group the ways, the fastest first; then what a pass takes as it is and at its best."""
    lines, keys = [], {(t["kernel"], t["rows"]): None for t in report.times}
    totals: dict[int, list[float]] = {}
    for name, rows in keys:
        times = [t for t in report.times if (t["kernel"], t["rows"]) == (name, rows)]
        times.sort(key=lambda t: t["us"])
        merged = next(t for t in times if t["way"] == "merged")
        best = ", ".join(f"{t['way']} {t['us']:.1f}" for t in times[:4])
        apart = "".join(f", {t['way']} {t['us']:.1f}" for t in times[4:] if t["way"] in ("apart", "cublaslt"))
        lines.append(
            f"{rows:3d} rows {merged['count']:3d} x {name[:34]:34} merged {merged['us']:7.1f} us "
            f"{merged['TB_per_s']:.2f} TB/s | {best}{apart}"
        )
        total = totals.setdefault(rows, [0.0, 0.0])
        total[0] += merged["us"] * merged["count"] / 1000
        total[1] += times[0]["us"] * merged["count"] / 1000
    lines += [f"{rows:3d} rows: merged {a:.3f} ms, best {b:.3f} ms" for rows, (a, b) in totals.items()]
    lines += [f"FAILED {f['name']}: {f['error'][:160]}" for f in report.failures]
    return "\n".join(lines)


@torch.inference_mode()
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--shape", choices=[*SHAPES], default="qwen3.6-27b")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--ways", nargs="+", metavar="WAY")
    options = parser.parse_args()
    device, dtype = ("cpu", torch.float32) if options.cpu else ("cuda", torch.bfloat16)
    report, clock = Report(device), Clock(device, 2 if options.cpu else 7)
    for group in groups("tiny" if options.cpu else options.shape):
        for rows in ROWS:
            measure(report, clock, group, rows, dtype, options.ways)
            if device == "cuda":
                torch.cuda.empty_cache()
    print(table(report))
    found = vars(report) | {"command": " ".join(sys.argv), "shape": options.shape}
    options.out.write_text(json.dumps(found, indent=1, default=str) + "\n", encoding="utf-8")
    return int(bool(report.failures))


if __name__ == "__main__":
    sys.exit(main())
