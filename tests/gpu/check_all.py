"""Builds, checks and times everything on a GPU in under nine minutes; a short table comes last.

``python tests/gpu/check_all.py --out DIR``. Every part is a process of its own, so that one that crashes does
not take the others with it: those that check run side by side, those that time one after the other. DIR gets
a JSON file per part with its command; what is complete there is not run again. A part that would outlast the
time is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from check_parts import Part, Row, all_parts

from engine.presets import PRESETS

ROOT = Path(__file__).parents[2]
LIMIT = 530
"""Seconds in all."""
PATIENCE = 2
"""A part that times the device is ended after so many times as long as it should take."""
TAIL = 1500
"""Characters of a part's output that are kept with its result."""


@dataclass
class Process:
    """A part on its way."""

    part: Part
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    began: float

    @classmethod
    def start(cls, part: Part, folder: Path) -> Process:
        log = _log(folder, part).open("wb")
        command = [sys.executable, *part.command]
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path}
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, cwd=ROOT, env=environment, start_new_session=True
        )
        return cls(part, process, log, time.monotonic())

    def end(self, folder: Path, until: float) -> None:
        """Wait for it, no longer than ``until``, and write down how it went."""
        try:
            code = self.process.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.stop()
            code = None
        self.log.close()
        how = {
            "command": shlex.join(["python", *self.part.command]),
            "returned": code,  # None: it ran out of time
            "seconds": round(time.monotonic() - self.began, 1),
            "output": _log(folder, self.part).read_text(encoding="utf-8", errors="replace")[-TAIL:],
        }
        _run_file(folder, self.part).write_text(json.dumps(how, indent=1) + "\n", encoding="utf-8")

    def stop(self) -> None:
        """End the part and what it started."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.process.wait()


def run(parts: Sequence[Part], folder: Path, seconds: float, beside: int) -> None:
    """Run what has no result yet; ``beside``: how many checks at once."""
    until = time.monotonic() + seconds
    todo = [part for part in parts if not _complete(part, folder)]
    checks, alone = ([part for part in todo if part.alone is timed] for timed in (False, True))
    # What is ended early goes on in the next call, where it can.
    border = until - min(sum(part.seconds for part in alone), seconds / 2 if checks else seconds)
    for start in range(0, len(checks), beside):
        _run_together(checks[start : start + beside], folder, border)
    for part in alone:
        _run_together([part], folder, min(until, time.monotonic() + PATIENCE * part.seconds))


def _run_together(parts: Iterable[Part], folder: Path, until: float) -> None:
    running = []
    for part in parts:
        left = until - time.monotonic()
        if left < part.seconds:
            print(f"{part.name}: left out, takes about {part.seconds} s of {left:.0f} s left", flush=True)
            continue
        print(f"{part.name}: {left:.0f} s left", flush=True)
        _run_file(folder, part).unlink(missing_ok=True)
        part.result.unlink(missing_ok=True)
        running.append(Process.start(part, folder))
    try:
        for process in running:
            process.end(folder, until)
    finally:
        for process in running:
            process.stop()


def _complete(part: Part, folder: Path) -> bool:
    """Whether it came to its end before. A check that returns 1 has found something."""
    how = _how(part, folder)
    codes = (0,) if part.alone else (0, 1)
    return how is not None and how["returned"] in codes and part.result.exists()


def _how(part: Part, folder: Path) -> dict[str, Any] | None:
    path = _run_file(folder, part)
    if not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _run_file(folder: Path, part: Part) -> Path:
    return folder / f"{part.name}.run.json"


def _log(folder: Path, part: Part) -> Path:
    return folder / f"{part.name}.log"


def rows_of(part: Part, folder: Path) -> list[Row]:
    """The part's lines, as far as it came, and one that says why it did not come to its end."""
    how = _how(part, folder)
    if how is None:
        return [Row(part.name, "runs", "left out: no time", False)]
    rows, problem = [], ""
    try:
        rows = list(part.rows(part.result)) if part.result.exists() else []
    except (ValueError, KeyError, AssertionError) as error:
        problem = f"result not read: {error!r}"
    if how["returned"] is None:
        problem = f"ended after {how['seconds']} s: no time"
    elif not _complete(part, folder):
        last = how["output"].strip().splitlines()[-1:] or [""]
        problem = f"returned {how['returned']}: {last[0]}"
    return [*rows, Row(part.name, "runs", problem[:90], False)] if problem else rows


def table(rows: Sequence[Row]) -> str:
    wide = max(len(row.check) for row in rows)
    marks = {True: "ok", False: "NOT OK", None: ""}
    lines = [f"{'check':{wide}}  {'wanted':>10}  {'seen':24}"]
    lines += [f"{row.check:{wide}}  {row.wanted:>10}  {row.seen:24}  {marks[row.ok]}" for row in rows]
    met, wanted = (sum(row.ok is ok for row in rows) for ok in (True, False))
    return "\n".join([*lines, f"{met} as wanted, {wanted} not"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="fewer prompts and budgets, no experts")
    parser.add_argument("--part", nargs="+", help="these parts only")
    default = [name for name in ("smollm2",) if name in PRESETS]
    parser.add_argument("--model", nargs="*", default=default, help="models beside the demo pair")
    parser.add_argument("--prompt-file", type=Path, nargs="+", default=[], help="prompts for these")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds in all")
    parser.add_argument("--beside", type=int, default=16, help="checks at a time")
    parser.add_argument("--cpu", action="store_true", help="dry run at tiny sizes")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    folder, files = options.out.resolve(), [path.resolve() for path in options.prompt_file]
    parts = all_parts(folder, quick=options.quick, cpu=options.cpu, models=options.model, files=files)
    unknown = set(options.part or ()) - {part.name for part in parts}
    if unknown:
        parser.error(f"no part {', '.join(unknown)}; parts are {', '.join(part.name for part in parts)}")
    parts = [part for part in parts if not options.part or part.name in options.part]
    began = time.monotonic()
    run(parts, folder, options.limit, options.beside)
    rows = [row for part in parts for row in rows_of(part, folder)]
    found = {"command": " ".join(sys.argv), "rows": [vars(row) for row in rows]}
    (folder / "table.json").write_text(
        json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    print(f"\n{time.monotonic() - began:.0f} s\n\n{table(rows)}")
    return int(any(row.ok is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
