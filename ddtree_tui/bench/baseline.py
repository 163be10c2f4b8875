"""Numbers measured elsewhere, and which of ours are too far from them.

A baseline is what an earlier ``--out`` wrote, or a JSON file such as

    {"tolerance": 0.05,
     "configurations": {"tree(64)": {"acceptance": 6.1, "tokens_per_second": {"value": 90, "tolerance": 0.2}},
                        "gsm8k_test: tree(64) thinking T=0.8": {"speed_vs_ar": 2.4}}}

A configuration is a mode with what it ran under: ``ar``, ``chain`` or ``tree(BUDGET)``, then ``thinking`` and
``T=TEMPERATURE`` where they apply; in front of it the source of the prompts, or nothing for all of them
together. Tolerances are relative to the expected value; without one, 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from ddtree_tui.bench.summary import Group, Rate, Row
from engine.errors import EngineError

Metric = Literal["acceptance", "tokens_per_second", "speed_vs_ar", "speed_vs_chain", "round_over_floor"]

TOLERANCE = 0.05


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    value: float
    tolerance: float | None = None


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What is expected: per configuration, per metric. ``source``: free words on where it comes from."""

    configurations: dict[str, dict[Metric, float | Number]]
    tolerance: float = TOLERANCE
    source: str = ""


class _Earlier(msgspec.Struct, frozen=True):
    """What is needed of earlier results."""

    groups: list[Group]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One expected number and ours; ``measured`` None: there is no such number in this run."""

    name: str
    metric: Metric
    expected: float
    tolerance: float
    measured: float | None

    @property
    def change(self) -> float | None:
        """Relative to what was expected."""
        return None if self.measured is None else self.measured / self.expected - 1

    @property
    def verdict(self) -> Literal["within", "higher", "lower", "not measured"]:
        if self.measured is None:
            return "not measured"
        if abs(self.measured - self.expected) <= self.tolerance * self.expected:
            return "within"
        return "higher" if self.measured > self.expected else "lower"

    @property
    def moved(self) -> bool:
        return self.verdict in ("higher", "lower")


def read_baseline(path: Path) -> Baseline:
    """Read either form.

    Raises:
        EngineError: ``bench_file``.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _refused(f"The baseline {path} cannot be read: {error.strerror or error}.") from error
    try:
        baseline = _from_results(data)
        if baseline is None:
            baseline = msgspec.json.decode(data, type=Baseline)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(f"The baseline {path} cannot be understood: {error}.") from error
    for name, numbers in baseline.configurations.items():
        for metric, number in numbers.items():
            value, tolerance = _number(number, baseline)
            if not (0 < value < float("inf") and 0 <= tolerance < float("inf")):
                raise _refused(f"The {metric} of {name} in {path} is not positive.")
    if not any(baseline.configurations.values()):
        raise _refused(f"The baseline {path} holds no numbers.")
    return baseline


def compare(baseline: Baseline, groups: Sequence[Group]) -> list[Comparison]:
    """Every expected number beside ours, in the baseline's order."""
    rows: dict[str, Row] = {}
    for group in groups:
        for row in group.rows:
            name = configuration_name(group, row)
            rows[name] = row
            if group.source is None and len(group.sources) == 1:
                rows[f"{group.sources[0]}: {name}"] = row
    comparisons = []
    for name, numbers in baseline.configurations.items():
        for metric, number in numbers.items():
            value, tolerance = _number(number, baseline)
            measured = _measured(rows[name], metric) if name in rows else None
            comparisons.append(
                Comparison(name=name, metric=metric, expected=value, tolerance=tolerance, measured=measured)
            )
    return comparisons


def configuration_name(group: Group, row: Row) -> str:
    """As a baseline names it: ``gsm8k_test: tree(64) thinking``."""
    name = f"{row.name} {group.condition.label}".rstrip()
    return name if group.source is None else f"{group.source}: {name}"


def _from_results(data: bytes) -> Baseline | None:
    """The acceptance and speed of earlier results; None if it is the other form."""
    if b'"groups"' not in data:
        return None
    configurations: dict[str, dict[Metric, float | Number]] = {}
    for group in msgspec.json.decode(data, type=_Earlier).groups:
        for row in group.rows:
            metrics: tuple[Metric, ...] = ("acceptance", "tokens_per_second", "speed_vs_ar", "speed_vs_chain")
            numbers = {metric: _measured(row, metric) for metric in metrics}
            configurations[configuration_name(group, row)] = {
                metric: value for metric, value in numbers.items() if value
            }
    return Baseline(configurations=configurations)


def _number(number: float | Number, baseline: Baseline) -> tuple[float, float]:
    if isinstance(number, Number):
        return number.value, baseline.tolerance if number.tolerance is None else number.tolerance
    return number, baseline.tolerance


def _measured(row: Row, metric: Metric) -> float | None:
    found: Rate | float | None = getattr(row, metric)
    return found.value if isinstance(found, Rate) else found


def _refused(message: str) -> EngineError:
    return EngineError(
        "bench_file",
        message,
        'Give results of an earlier --out, or: {"configurations": {"tree(64)": {"acceptance": 6.1}}}',
    )
