"""Is the doctor right? ``python -m ddtree_tui.doctor.matrix faults --out FILE``.

``faults`` plants every fault in answers to held-out prompts, with thinking off and on: the doctor must name
it first, never call the run healthy, and name the first round affected. ``pairs`` plants two at once: each
without which the run would be another must be named. ``healthy`` decodes many prompts in every mode, at
several budgets and temperatures, with nothing planted: nothing above a tie may be found. Results are JSON
lines; a killed run goes on from there.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ddtree_tui.doctor.answers import Answer, answer_of, compared
from ddtree_tui.doctor.cases import (
    OF_TRAINING,
    Case,
    fault_cases,
    fault_pairs,
    healthy_cases,
    pair_cases,
    prompts_for,
    questions_of,
)
from ddtree_tui.doctor.patient import Patient
from ddtree_tui.doctor.trial import Trial, trial
from ddtree_tui.doctor.ways import Way
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.inbox import Inbox
from ddtree_tui.log_file import new_log_path
from engine.diagnosis.ranking import diagnose
from engine.events import AnyEvent, Round
from engine.faults.catalogue import FAULTS
from engine.settings import DTYPES, DecodeSettings, LoadSettings
from engine.train.progress import Progress

NEEDED = 0.95
"""Of the runs with a fault, so many must have it named first."""
LEAST_ROUNDS = 3
"""Of the answers in which two faults are planted, so that both have something to act on."""
ENDING = frozenset({"not-finite"})
"""Faults that end an answer in its first round."""
KEPT = 640
"""Answers that others are held against, at most."""


class Runs:
    """Answers of the engine, of which those are kept that others are held against."""

    def __init__(self, patient: Patient, dtype: str) -> None:
        self._patient = patient
        self._dtype = dtype
        self._answers: dict[str, list[AnyEvent]] = {}

    def trial(self, case: Case) -> Trial:
        """Make the run, diagnose it, and hold it against the healthy one; one with several faults also
        against those without one of them."""
        healthy = self._kept(replace(case, faults=()))
        settings = msgspec.structs.replace(case.settings, oracle="full", inject=case.faults)
        events = self._patient.answer(case.messages, settings) if case.faults else healthy
        answer = answer_of(0, Way("subject", settings), events)
        without = {name: self._kept(_without(case, name)) for name in case.faults if len(case.faults) > 1}
        return trial(case.key, case.faults or ("",), diagnose([answer.seen]), events, healthy, without)

    def healthy(self, case: Case) -> Trial:
        """The run of a healthy case, also against mode ``ar``."""
        settings = msgspec.structs.replace(case.settings, oracle="full")
        ar = msgspec.structs.replace(settings, mode="ar", budget=DecodeSettings().budget)
        rival = self._kept(Case(case.prompt, ar))
        events = rival if case.settings.mode == "ar" else self._patient.answer(case.messages, settings)
        answers: list[Answer] = [
            answer_of(0, Way("subject", settings), events),
            answer_of(0, Way("beside", ar), rival),
        ]
        seen = [answer.seen for answer in compared(answers, self._dtype)]
        return trial(case.key, ("",), diagnose(seen[:1]), events, events)

    def long_enough(self, case: Case) -> bool:
        """Whether the answer takes ``LEAST_ROUNDS`` without faults, and with each of them alone."""
        alone = ((name,) for name in case.faults if name not in ENDING)
        return all(self._rounds(replace(case, faults=faults)) >= LEAST_ROUNDS for faults in ((), *alone))

    def _rounds(self, case: Case) -> int:
        return sum(isinstance(event, Round) for event in self._kept(case))

    def _kept(self, case: Case) -> list[AnyEvent]:
        settings = msgspec.structs.replace(case.settings, oracle="full", inject=case.faults)
        key = f"{case.key} {settings.mode} {settings.max_new_tokens}"
        if key not in self._answers:
            while len(self._answers) >= KEPT:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = self._patient.answer(case.messages, settings)
        return self._answers[key]


def _without(case: Case, name: str) -> Case:
    return replace(case, faults=tuple(other for other in case.faults if other != name))


class Results:
    """Trials by key, in a file of JSON lines; a last line cut short is made again."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.trials: dict[str, Trial] = {}
        if path is not None and path.exists():
            whole = path.read_bytes().rpartition(b"\n")[0]
            for line in whole.splitlines():
                one = msgspec.json.decode(line, type=Trial)
                self.trials[one.key] = one
            path.write_bytes(whole + b"\n" if whole else b"")

    def add(self, one: Trial) -> None:
        """Take one in, and write it down at once."""
        self.trials[one.key] = one
        if self._path is not None:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(one) + b"\n")


def run_cases(
    cases: Iterable[Case], total: int, results: Results, make: Callable[[Case], Trial], progress: Progress
) -> list[Trial]:
    """The trials of all cases; those in ``results`` are not made again."""
    trials = []
    for number, case in enumerate(cases, 1):
        if case.key not in results.trials:
            results.add(make(case))
        trials.append(results.trials[case.key])
        progress.update(number / total, case.key)
    return trials


def fault_summary(trials: Sequence[Trial]) -> dict[str, Any]:
    """By fault: runs, those in which it had something to act on, and of these how many were named first,
    called healthy, and had the round right."""
    table: dict[str, Any] = {}
    for name in dict.fromkeys("+".join(one.faults) for one in trials):
        mine = [one for one in trials if "+".join(one.faults) == name]
        touched = [one for one in mine if one.acted]
        table[name] = {
            "runs": len(mine),
            "without effect": len(mine) - len(touched),
            "one without effect": sum(0 < len(one.effective) < len(one.faults) for one in mine),
            "named first": sum(one.named_first for one in touched),
            "all named": sum(one.all_named for one in touched),
            "called healthy": sum(one.health == "healthy" for one in touched),
            "round right": sum(one.round_right for one in touched),
            "of": len(touched),
        }
    return table


def wrong_trials(trials: Sequence[Trial], *, pairs: bool) -> list[Trial]:
    """Those in which the doctor was not right."""
    return [
        one
        for one in trials
        if (one.acted and not (one.all_named if pairs else one.named_first and one.round_right))
        or (one.touched and one.health == "healthy")
    ]


def false_alarms(trials: Sequence[Trial]) -> list[Trial]:
    """Healthy runs that were called something else."""
    return [one for one in trials if one.health != "healthy"]


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when the doctor is right as often as it must be."""
    options = _arguments(arguments)
    load = LoadSettings(
        model=options.model, drafter=options.drafter, device=options.device, dtype=options.dtype
    )
    began = time.monotonic()
    inbox = Inbox()
    with EngineProcess(inbox.put, new_log_path()) as engine:
        patient = Patient(engine, inbox)
        loaded = patient.load(load)
        prompts = prompts_for(options.model, options.prompts)
        limit, names = options.max_new_tokens, options.fault
        if options.untrained:
            names = [name for name in names or FAULTS if name not in OF_TRAINING]
        runs = Runs(patient, loaded.target.dtype)
        first, every = options.share
        questions = questions_of(prompts, loaded, limit, options.budget)
        cases: Iterable[Case]
        if options.what == "pairs":
            pairs = fault_pairs(names, questions[0][1], loaded)[first::every]
            cases, total = pair_cases(questions, pairs, loaded, runs.long_enough), len(pairs)
        else:
            whole = (
                [*healthy_cases(prompts, loaded, limit)]
                if options.what == "healthy"
                else [*fault_cases(questions, loaded, names)]
            )
            cases = whole[first::every]
            total = len(cases)
        make = runs.healthy if options.what == "healthy" else runs.trial
        trials = run_cases(cases, total, Results(options.out), make, Progress(options.what))
    return tell(options.what, trials, time.monotonic() - began)


def tell(what: str, trials: Sequence[Trial], seconds: float) -> int:
    """Print what was found; 1 where it is not good enough."""
    if what == "healthy":
        bad = false_alarms(trials)
        summary: dict[str, Any] = {"runs": len(trials), "false alarms": len(bad)}
        good = not bad
    else:
        table = fault_summary(trials)
        bad = wrong_trials(trials, pairs=what == "pairs")
        column = "named first" if what == "faults" else "all named"
        good = all(row[column] >= NEEDED * row["of"] and not row["called healthy"] for row in table.values())
        summary = {"runs": len(trials), "wrong": len(bad), "table": table}
    for one in bad[:40]:
        print(f"{one.key}: {one.verdict} (round {one.round}, affected {one.affected}, named {one.named})")
    summary |= {"tokens": sum(one.tokens for one in trials), "seconds": round(seconds, 1), "good": good}
    print(msgspec.json.format(msgspec.json.encode(summary), indent=1).decode())
    return 0 if good else 1


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ddtree_tui.doctor.matrix", description=__doc__)
    parser.add_argument("what", choices=["faults", "pairs", "healthy"])
    parser.add_argument("--model", default="demo")
    parser.add_argument("--drafter")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=DTYPES, default="auto")
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--max-new-tokens", type=int, default=48)
    parser.add_argument("--budget", type=int, default=64, help="of runs with faults (default 64)")
    parser.add_argument("--fault", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument(
        "--untrained",
        action="store_true",
        help="the pair has random weights: without " + ", ".join(sorted(OF_TRAINING)),
    )
    parser.add_argument(
        "--share", type=int, nargs=2, default=(0, 1), metavar=("K", "N"), help="of the runs every Nth from K"
    )
    parser.add_argument("--out", type=Path, help="JSON lines, one per run; goes on where it stopped")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
