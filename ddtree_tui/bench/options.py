"""What the command line hands to the benchmark. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ddtree_tui.bench.configuration import Condition, Configuration
from engine.settings import DecodeSettings, LoadSettings


@dataclass(frozen=True)
class BenchOptions:
    """What ``ddtree-tui bench`` is to do.

    Attributes:
        load: which pair to load, and where.
        decode: what all answers have in common.
        ways: what is measured against one another.
        conditions: what it is measured under.
        files: prompt files; none takes the demo pair's held-out questions.
        wrap: the user's message around a prompt, with ``{prompt}`` in it, or None.
        limit: most prompts of each file; 0 takes all.
        tie_gap: the change of a token's lead up to which another token counts as a numerical tie; None takes
            what is measured on this model and device.
        baseline: numbers to compare with, or None.
        floor: also measure the bandwidth floor.
        out: the file for all results, or None; the work file for going on lies beside it.
        markdown: the file for the table; None writes it to standard output.
        plots: the folder for the plots, or None.
        quiet: no progress on standard error.
        command: the command line, for the record.
        debug: show tracebacks and log more.
        log_path: the file the engine's details go to; its folder exists.
    """

    load: LoadSettings
    decode: DecodeSettings
    ways: tuple[Configuration, ...]
    conditions: tuple[Condition, ...]
    files: tuple[Path, ...]
    wrap: str | None
    limit: int
    tie_gap: float | None
    baseline: Path | None
    floor: bool
    out: Path | None
    markdown: Path | None
    plots: Path | None
    quiet: bool
    command: tuple[str, ...]
    debug: bool
    log_path: Path
