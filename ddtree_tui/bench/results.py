"""The results as one JSON document: everything that the tables and plots show, and what they rest on."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from ddtree_tui import __version__
from ddtree_tui.bench.baseline import Comparison
from ddtree_tui.bench.configuration import AR
from ddtree_tui.bench.measurement import Failure, Measurement
from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.bench.summary import Divergence, Group, divergences, summarise
from ddtree_tui.bench.verdict import TIE_GAPS, judge
from ddtree_tui.bench.work_file import WorkFile
from engine.errors import EngineError
from engine.events import Floor, Loaded
from engine.settings import DecodeSettings, LoadSettings

VERSION = 1


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All there is to know about a benchmark.

    Attributes:
        complete: whether every prompt was answered in every way, failures aside.
        written: local time, ISO 8601.
        project: version of this project; ``loaded.versions`` has the others.
        decode: what all answers have in common; each answer has its own mode, budget, thinking,
            temperature and seed.
        tie_gap: as ``Verdict`` takes it.
        sessions: how many starts of the program it took. Ratios compare answers to the same prompts; a
            prompt's answers come one after the other, mostly in the same session.
        answers: one entry per prompt and way, with its verdict, without the text.
    """

    v: int = VERSION
    command: tuple[str, ...]
    complete: bool
    written: str
    project: str
    loaded: Loaded
    load: LoadSettings
    decode: DecodeSettings
    tie_gap: float
    sessions: int
    floor: Floor | None
    groups: list[Group]
    divergences: list[Divergence]
    failures: list[Failure]
    answers: list[dict[str, Any]]
    comparisons: list[Comparison] = []

    @property
    def on_cpu(self) -> bool:
        return self.loaded.device.startswith("cpu")


def results_of(options: BenchOptions, work: WorkFile, *, complete: bool) -> Results:
    """Sum up the work file; it has at least one session."""
    session = work.sessions[-1]
    measurements = work.measurements
    tie_gap = options.tie_gap
    if tie_gap is None:
        usual = TIE_GAPS.get(session.loaded.target.dtype, 0.0)
        measured = work.noise.lead if work.noise is not None else None
        tie_gap = usual if measured is None else measured
    return Results(
        command=("ddtree-tui", *options.command),
        complete=complete,
        written=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        project=__version__,
        loaded=session.loaded,
        load=session.load,
        decode=session.decode,
        tie_gap=tie_gap,
        sessions=len(work.sessions),
        floor=work.floor,
        groups=summarise(measurements, tie_gap, work.floor),
        divergences=divergences(measurements, tie_gap),
        failures=work.failures,
        answers=_answers(measurements, tie_gap),
    )


def _answers(measurements: list[Measurement], tie_gap: float) -> list[dict[str, Any]]:
    reference = {(one.prompt, one.condition): one for one in measurements if one.way == AR}
    answers = []
    for one in measurements:
        answer = msgspec.to_builtins(one)
        for bulky in ("output_ids", "gaps", "type"):
            del answer[bulky]
        ar = reference.get((one.prompt, one.condition))
        verdict = None if ar is None or one.way == AR else judge(one, ar, tie_gap)
        answers.append({**answer, "tokens": len(one.output_ids), "verdict": msgspec.to_builtins(verdict)})
    return answers


def write_file(path: Path, content: bytes) -> None:
    """Replace ``path`` as a whole or not at all.

    Raises:
        EngineError: ``bench_file``.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise EngineError(
            "bench_file",
            f"{path} cannot be written: {error.strerror or error}.",
            "Choose a file in a folder that exists, can be written and has room.",
        ) from error


def results_json(results: Results) -> bytes:
    return msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n"
