"""The parts of ``check_all.py``: what each runs, how long that may take, and what its results must be."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MIB = 2**20


@dataclass(frozen=True)
class Row:
    """One line of the table. ``ok``: None where nothing is wanted, only measured."""

    check: str
    wanted: str
    seen: str
    ok: bool | None


@dataclass(frozen=True)
class Part:
    """One process.

    Attributes:
        command: arguments behind the interpreter.
        seconds: how long it takes, about; it is not begun with less time left.
        alone: whether it times the device, so that nothing may run beside it.
        result: the file it writes.
        rows: reads that.
    """

    name: str
    command: list[str]
    seconds: int
    alone: bool
    result: Path
    rows: Callable[[Path], Iterator[Row]]


def at_most(check: str, value: float, bound: float) -> Row:
    return Row(check, f"≤ {bound:g}", f"{value:.3f}", value <= bound)


def at_least(check: str, value: float, bound: float) -> Row:
    return Row(check, f"≥ {bound:g}", f"{value:.2f}", value >= bound)


def measured(check: str, value: float) -> Row:
    return Row(check, "", f"{value:.2f}", None)


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def pytest_part(name: str, file: str, seconds: int, folder: Path) -> Part:
    """A test file, by pytest without plugins that it does not need."""
    result = folder / f"{name}.xml"
    options = ["-c", "/dev/null", "--rootdir", ".", "-p", "no:cacheprovider", "-q", "--tb=short"]
    command = ["-m", "pytest", *options, f"--junitxml={result}", str(HERE / file)]
    return Part(name, command, seconds, False, result, lambda path: _test_rows(file, path))


def _test_rows(file: str, path: Path) -> Iterator[Row]:
    suite = ElementTree.parse(path).getroot().find("testsuite")
    assert suite is not None
    total, failed, skipped = (
        sum(int(suite.get(name, 0)) for name in names)
        for names in (["tests"], ["failures", "errors"], ["skipped"])
    )
    seen = f"{total - failed - skipped} of {total}"
    yield Row(file, "all pass", seen, failed == skipped == 0 and total > 0)


def kernel_checks_part(folder: Path, cpu: bool) -> Part:
    result = folder / "kernel-checks.json"
    command = [str(HERE / "bench_kernels.py"), str(result), "--only", "checks", *["--cpu"] * cpu]
    return Part("kernel-checks", command, 90, False, result, _kernel_check_rows)


def _kernel_check_rows(path: Path) -> Iterator[Row]:
    found = _json(path)
    good = sum(check["ok"] for check in found["checks"])
    total = len(found["checks"]) + len(found["failures"])
    yield Row("kernels at the models' sizes against float64", "all", f"{good} of {total}", good == total > 0)


def kernel_times_part(folder: Path, cpu: bool) -> Part:
    result = folder / "kernel-times.json"
    command = [str(HERE / "bench_kernels.py"), str(result), "--only", "times", *["--cpu"] * cpu]
    return Part("kernel-times", command, 45, True, result, _kernel_time_rows)


def _kernel_time_rows(path: Path) -> Iterator[Row]:
    ratios = _json(path)["ratios"]
    for rows, bound in ((65, 3), (257, 6)):
        name = f"node_serial / tree_delta at {rows} rows"
        yield at_least(name, ratios.get(name, 0), bound)
    kept = ratios["kept per node, all layers, MiB"]
    yield at_most("gated-delta tree: MiB per node, all layers", kept, 2)


def rounds_part(
    name: str,
    shapes: list[str],
    contexts: list[int],
    budgets: list[int],
    soak: int,
    seconds: int,
    folder: Path,
    cpu: bool,
) -> Part:
    result = folder / f"{name}.json"
    numbers = ["--context", *map(str, contexts), "--budgets", *map(str, budgets), "--soak", str(soak)]
    command = [str(HERE / "bench_rounds.py"), "--shape", *shapes, "--rounds", "20", *numbers]
    command += ["--out", str(result), *["--cpu"] * cpu]
    return Part(name, command, seconds, True, result, _round_rows)


BOUNDS = {"qwen3.6-27b": (1.12, 1.18, 1.10)}
OTHER_BOUNDS = (1.30, 1.35, 1.20)
UNBOUNDED = ("qwen3.6-35b-a3b",)
SHARES = {64: 0.02, 1024: 0.08}


def _round_rows(path: Path) -> Iterator[Row]:
    for shape, found in _json(path)["shapes"].items():
        ratios = found["ratios"]
        if shape in UNBOUNDED:
            yield measured(f"{shape}: tree(64) round / ar step", ratios["tree(64) / ar"])
            for name, read in found["experts"].items():
                yield measured(f"{shape}: experts touched per layer, {name}", read["touched"])
                ratio = ratios[f"{name} / reading its weights once"]
                yield measured(f"{shape}: {name} round / reading its weights once", ratio)
            continue
        names = ("ar / linears", "tree(64) / linears", "tree(64) / chain")
        for name, bound in zip(names, BOUNDS.get(shape, OTHER_BOUNDS), strict=True):
            yield at_most(f"{shape}: {name}", ratios[name], bound)
        for budget, share in SHARES.items() if shape in BOUNDS else ():
            if (name := f"build+walk+commit share, tree({budget})") in ratios:
                yield at_most(f"{shape}: {name}", ratios[name], share)
        for name, ratio in ratios.items():
            if "reading them" in name and "1024)" not in name:
                yield at_most(f"{shape}: {name}", ratio, 1.5)
        yield at_most(f"{shape}: peak memory / told", ratios["peak memory / told, tree(64)"], 1.05)
        if "soak" in found:
            growth = max(found["soak"]["growth_bytes"].values()) / MIB
            yield at_most(f"{shape}: MiB grown in {found['soak']['rounds']} rounds", growth, 1)
            yield at_most(f"{shape}: peak memory / told, prefills too", found["soak"]["peak / told"], 1.05)
            reserved = found["soak"]["peak reserved / told"]
            yield Row(f"{shape}: the same, by the allocator", "", f"{reserved:.3f}", None)


def generate_part(shapes: list[str], models: list[str], files: list[Path], folder: Path, cpu: bool) -> Part:
    result = folder / "generate.json"
    command = [str(HERE / "bench_generate.py"), "--shape", *shapes, "--model", *models, "--prompts", "3"]
    command += ["--max-new-tokens", "96", "--out", str(result), *_files(files), *["--cpu"] * cpu]
    return Part("generate", command, 40 + 20 * len(models), True, result, _generate_rows)


def _generate_rows(path: Path) -> Iterator[Row]:
    for pair, found in _json(path)["pairs"].items():
        for name in ("ar / generate", "chain / generate, dflash"):
            if name in found["ratios"]:
                yield at_least(f"{pair}: tokens/s {name}", found["ratios"][name], 4)
            else:
                yield Row(f"{pair}: tokens/s {name}", "≥ 4", str(found["ways"]), False)
        if pair == "smollm2":
            ratio = found["ratios"]["tree(64) / ar"]
            yield Row(f"{pair}: tokens/s tree(64) / ar", "> 1", f"{ratio:.2f}", ratio > 1)


SHARES_OF_TEXTS = 2
"""Processes that compare the texts of one model and dtype: the host is what they wait for."""


def lossless_parts(
    model: str, dtype: str, prompts: int, limit: int, seconds: int, files: list[Path], folder: Path, cpu: bool
) -> list[Part]:
    """The questions shared out over processes."""
    shares = range(SHARES_OF_TEXTS)
    return [_lossless_part(model, dtype, prompts, limit, seconds, files, folder, cpu, k) for k in shares]


def _lossless_part(
    model: str,
    dtype: str,
    prompts: int,
    limit: int,
    seconds: int,
    files: list[Path],
    folder: Path,
    cpu: bool,
    share: int,
) -> Part:
    name = f"lossless-{Path(model).name}-{dtype}-{share + 1}"
    result = folder / f"{name}.json"
    command = ["-m", "engine.demo.lossless", "--model", model, "--dtype", dtype, "--prompts", str(prompts)]
    command += ["--device", "cpu" if cpu else "cuda", "--reference", "ar", "--greedy", "--threads", "2"]
    command += ["--max-new-tokens", str(limit), "--out", str(folder / f"{name}.jsonl"), *_files(files)]
    command += ["--share", str(share), str(SHARES_OF_TEXTS)]
    command += ["--report", str(result), *["--noise-positions", "20"] * cpu]
    return Part(name, command, seconds, False, result, _lossless_rows)


def _lossless_rows(path: Path) -> Iterator[Row]:
    found = _json(path)
    name = f"{found['model']} {found['dtype']}"
    texts, same = found["texts"], min(found["identical"].values())
    if found["dtype"] == "float32":
        yield Row(f"{name}: texts as ar, every mode", "all", f"{same} of {texts}", same == texts > 0)
    else:
        parted = found["divergences"]
        defects = sum(one["verdict"] == "defect" for one in parted)
        seen = f"{defects} defects, {len(parted) - defects} ties within {found['largest_noise']:g}"
        yield Row(f"{name}: {texts} texts, differences from ar", "ties only", seen, defects == 0 < texts)
    if found["model"] == "smollm2" and found["dtype"] == "bfloat16":
        chain, tree = (found["acceptance_length"][way] for way in ("chain", "tree(64)"))
        asked = " + ".join(found["asked"])
        yield at_least(f"smollm2, {asked}: mean acceptance, chain", chain, 2.2)
        yield at_least(f"smollm2, {asked}: mean acceptance, tree(64) / chain", tree / chain, 1.12)


def _files(files: list[Path]) -> list[str]:
    return ["--prompt-file", *map(str, files)] if files else []


def all_parts(folder: Path, *, quick: bool, cpu: bool, models: list[str], files: list[Path]) -> list[Part]:
    """Checks first, then what is timed; ``models``: presets and folders beside the demo pair."""
    prompts = 2 if cpu else 40 if quick else 200
    limit = 12 if cpu else 400
    parts = [
        pytest_part("kernels", "test_kernels.py", 120, folder),
        pytest_part("attention-kernels", "test_attention_kernels.py", 90, folder),
        pytest_part("expert-kernels", "test_expert_kernels.py", 90, folder),
        pytest_part("device-rounds", "test_device_rounds.py", 120, folder),
        pytest_part("device-families", "test_device_families.py", 150, folder),
        kernel_checks_part(folder, cpu),
    ]
    for dtype in ("float32", "bfloat16"):
        parts += lossless_parts("demo", dtype, prompts, limit, 120, [], folder, cpu)
        for model in models:
            parts += lossless_parts(model, dtype, prompts, min(limit, 64), 120, files, folder, cpu)
    large, others = ["qwen3.6-27b"], ["qwen3.5-4b", "qwen3-8b"]
    contexts = [64, 128] if cpu else [1024, 32768]
    budgets = [16, 64] if quick or cpu else [16, 64, 1024]
    soak = 120 if cpu else 2000
    parts += [
        kernel_times_part(folder, cpu),
        rounds_part("rounds-27b", large, contexts, budgets, 0, 75, folder, cpu),
        rounds_part("rounds-4b-8b", others, contexts[:1], [64], soak, 75, folder, cpu),
        generate_part(["qwen3-4b"], models, files, folder, cpu),
    ]
    if not quick and not cpu:
        parts.append(rounds_part("rounds-moe", [*UNBOUNDED], contexts[:1], [64], 0, 60, folder, cpu))
    return parts
