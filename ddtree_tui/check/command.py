"""``ddtree-tui check`` as a command without a screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ddtree_tui import exit_codes
from ddtree_tui.alarm import alarm
from ddtree_tui.check.options import CheckOptions
from ddtree_tui.check.text import details, headline
from ddtree_tui.command_line import reported_load
from ddtree_tui.conversation import last_prompt
from ddtree_tui.doctor.patient import Interrupted, Patient
from ddtree_tui.doctor.ways import way_name
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.escape import escape, fit
from ddtree_tui.inbox import Inbox
from ddtree_tui.labels import Labels
from ddtree_tui.race.apart import apart
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import put
from ddtree_tui.status_line import StatusLine
from ddtree_tui.vocabulary import SeenVocabulary
from engine.commands import Check, Generate, encode_command
from engine.divergence import choices
from engine.errors import EngineError
from engine.events import (
    AnyEvent,
    Checked,
    Checking,
    Divergence,
    Failed,
    Loaded,
    Loading,
    Prefilled,
    Round,
    Tokens,
)
from engine.settings import LoadSettings
from engine.trace import read_trace


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """What ``--json`` writes, per answer."""

    target: str
    drafter: str | None
    dtype: str
    device: str
    checked: Checked
    divergences: list[Divergence]


@dataclass(frozen=True)
class _Recorded:
    """An answer of a recorded run."""

    prefilled: Prefilled
    rounds: Sequence[Round]

    def command(self, sequential: bool) -> Check:
        _, chosen = choices([self.prefilled, *self.rounds])
        prefilled = self.prefilled
        return Check(
            prompt_ids=prefilled.prompt_ids,
            choices=chosen,
            settings=prefilled.settings,
            sequential=sequential,
        )


def run_check(options: CheckOptions, engine_command: list[str] | None = None) -> int:
    """Load the pair, answer or take the recorded answers, compare; returns the exit code.

    Raises:
        EngineError: as ``read_trace``; ``bad_trace`` for a run without answers; what the engine reports.
    """
    recorded: list[_Recorded] = []
    load = options.load
    if options.run is not None:
        events = read_trace(options.run).events
        recorded = [*_answers(events)]
        if not recorded:
            raise EngineError(
                "bad_trace",
                f"{options.run} holds no answer.",
                "Record a run with: ddtree-tui generate PROMPT --trace FILE",
            )
        load = load if options.chosen else _pair_of(events, options.run)
    else:
        encode_command(Generate(messages=options.messages or [], settings=options.decode))
    inbox = Inbox()
    engine = EngineProcess(inbox.put, options.log_path, command=engine_command, debug=options.debug)
    try:
        with signals_to(inbox.put), engine:
            return _Checks(options, load, engine, inbox).run(recorded)
    except Interrupted as interrupted:
        return exit_codes.interrupted(interrupted.number)


def _answers(events: Sequence[AnyEvent]) -> Iterator[_Recorded]:
    prefilled, rounds = None, list[Round]()
    for event in apart(events):
        if isinstance(event, Prefilled):
            if prefilled is not None:
                yield _Recorded(prefilled, rounds)
            prefilled, rounds = event, []
        elif isinstance(event, Round):
            rounds.append(event)
    if prefilled is not None:
        yield _Recorded(prefilled, rounds)


def _pair_of(events: Sequence[AnyEvent], path: Path) -> LoadSettings:
    loaded = next((event for event in events if isinstance(event, Loaded)), None)
    if loaded is None or not loaded.target.dtype:  # no import says enough to load it
        raise EngineError(
            "bad_trace", f"{path} does not say which pair it is of.", "Name the pair with --model."
        )
    return msgspec.structs.replace(reported_load(loaded), device="auto", tp=None)


class _Checks:
    """One answer after the other."""

    def __init__(
        self, options: CheckOptions, load: LoadSettings, engine: EngineProcess, inbox: Inbox
    ) -> None:
        self.options, self.load = options, load
        self.status = StatusLine(options.json)
        self.patient = Patient(engine, inbox, self._watch)
        self.vocabulary = SeenVocabulary()
        self.labels = Labels(self.vocabulary)

    def run(self, recorded: Sequence[_Recorded]) -> int:
        try:
            loaded = self.patient.load(self.load)
        except EngineError as error:
            self.status.clear()
            self.status.say(f"{error.message} {error.hint}".rstrip())
            return exit_codes.exit_code(error.kind, loading=True)
        hybrid = "linear_attention" in loaded.target.layer_kinds
        decoded = [answer.prefilled.settings for answer in recorded] or [self.options.decode]
        for told in dict.fromkeys(alarm(settings, hybrid) for settings in decoded):
            if told:
                self.status.say(f"{told}.")
        if recorded:
            found = [self.patient.ask(answer.command(self.options.sequential)) for answer in recorded]
        else:
            found = [self._new_answer()]
        self.status.clear()
        for number, events in enumerate(found):
            title = _title(number, recorded[number].prefilled) if len(recorded) > 1 else ""
            self._tell(events, loaded, title)
        checked = [event for events in found for event in events if isinstance(event, Checked)]
        agree = all(one.verdict in ("identical", "ties") for one in checked)
        return exit_codes.OK if agree and len(checked) == len(found) else exit_codes.ENGINE_FAILED

    def _new_answer(self) -> list[AnyEvent]:
        """With ``--sequential`` it is compared behind its end: the caches as they are there."""
        options = self.options
        settings = msgspec.structs.replace(options.decode, oracle="off" if options.sequential else "full")
        asked = Generate(messages=options.messages or [], settings=settings, fresh=True)
        events = self.patient.ask(asked)
        answers = [*_answers(events)]
        if options.sequential and answers and not any(isinstance(event, Failed) for event in events):
            events = self.patient.ask(answers[0].command(sequential=True))
        return events

    def _watch(self, event: AnyEvent) -> None:
        match event:
            case Loading():
                self.status.loading(event)
            case Tokens():
                self.vocabulary.add(event)
            case Round():
                self.status.show(f"Answering: round {event.index + 1} ...")
            case Checking():
                self.status.show(f"{event.stage}: {event.done} of {event.total} ...")

    def _tell(self, events: Sequence[AnyEvent], loaded: Loaded, title: str) -> None:
        for event in events:
            if isinstance(event, Failed):
                self.status.error(event, self.options.debug)
            if isinstance(event, Checked):
                if self.options.json:
                    told = [one for one in events if isinstance(one, Divergence)]
                    put(msgspec.json.encode(_report(event, told, loaded)).decode() + "\n")
                else:
                    rows = [headline(event), *details(event, lambda token_id: self.labels(token_id)[0])]
                    put("\n".join([title] * bool(title) + rows) + "\n")


def _title(number: int, prefilled: Prefilled) -> str:
    """Which of several answers is meant."""
    prompt = " ".join((last_prompt(prefilled.messages) or prefilled.prompt_text).split())
    return f"Answer {number + 1}, {way_name(prefilled.settings)}: {fit(escape(prompt), 60)}"


def _report(checked: Checked, told: list[Divergence], loaded: Loaded) -> CheckReport:
    return CheckReport(
        target=loaded.target.name,
        drafter=None if loaded.drafter is None else loaded.drafter.name,
        dtype=loaded.target.dtype,
        device=loaded.device,
        checked=checked,
        divergences=told,
    )
