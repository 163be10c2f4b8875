"""How far a benchmark is, on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ddtree_tui.escape import escape

LINE_SECONDS = 30.0
"""How often there is a line where standard error is no terminal."""
SPEED_SECONDS = 600.0
"""The time left is judged by so much of what has gone by: the ways take turns, and some are slow."""


class BenchProgress:
    """A bar with the time left on a terminal, a line now and then elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._bar: Progress | None = None
        if not quiet and sys.stderr.isatty():
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                speed_estimate_period=SPEED_SECONDS,
            )
            self._task = self._bar.add_task("Loading", total=None)
        self._done = self._first = self._total = 0
        self._started = self._said = time.monotonic()

    def stage(self, text: str) -> None:
        """Say what goes on before the first answer."""
        if self._bar is not None:
            self._bar.update(self._task, description=escape(text))

    def begin(self, done: int, total: int) -> None:
        """Start counting: ``done`` answers of ``total`` are there from before."""
        self._done = self._first = done
        self._total = total
        self._started = time.monotonic()
        if self._bar is not None:
            self._bar.reset(self._task, total=total, completed=done, description="Measuring")

    def advance(self, text: str) -> None:
        """One more answer; ``text`` says which."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=escape(text))
        elif not self._quiet and (time.monotonic() - self._said > LINE_SECONDS or self._done == self._total):
            self._said = time.monotonic()
            self._write(f"{self._done} of {self._total} answers, {self._left()} left: {escape(text)}\n")

    def say(self, line: str) -> None:
        """A line that stays, also when quiet."""
        if self._bar is not None:
            self._bar.console.print(f"ddtree-tui: {line}", markup=False, highlight=False)
        else:
            self._write(f"ddtree-tui: {line}\n")

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _left(self) -> str:
        passed = time.monotonic() - self._started
        seconds = round(passed / (self._done - self._first) * (self._total - self._done))
        return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # without a standard error there is nobody to tell
            sys.stderr.write(text)
            sys.stderr.flush()
