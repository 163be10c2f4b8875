"""What the doctor does, in order, and what came of it; ``command`` says it to people."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from ddtree_tui.command_line import reported_load
from ddtree_tui.doctor.answers import Answer, answer_of, compared, recorded
from ddtree_tui.doctor.patient import Patient
from ddtree_tui.doctor.prompts import own_prompts
from ddtree_tui.doctor.ways import Way, way_name, ways
from ddtree_tui.plural import counted
from engine.commands import Check
from engine.diagnosis.lines import Line
from engine.diagnosis.ranking import Diagnosis, Seen, diagnose
from engine.divergence import choices
from engine.errors import EngineError
from engine.events import Failed, Loaded
from engine.settings import DecodeSettings, LoadSettings, Message
from engine.trace import read_trace

ROUNDS = 3
"""That the pair's own line is about, at least."""


@dataclass
class Visit:
    """Everything found so far.

    Attributes:
        load, loaded: the pair, as it is to be loaded and as it was.
        notices: what could not be done and why, a sentence each.
    """

    load: LoadSettings
    loaded: Loaded | None = None
    lines: list[Line] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    first: Seen | None = None
    """The short answer that the pair's line is about."""

    @property
    def imported(self) -> bool:
        """Whether it is about a trace of another system: its pair is not here, its prompt maybe unknown."""
        return any(one.prefilled is not None and one.prefilled.source is not None for one in self.answers)

    @property
    def failures(self) -> list[Line]:
        """What was looked at and will not do."""
        return [line for line in self.lines if line.status == "fail"]

    def diagnosis(self) -> Diagnosis:
        """The verdict on all that was found."""
        seen = [answer.seen for answer in self.answers]
        if self.first is not None and (not seen or self.first.wrong or self.first.findings):
            seen.append(self.first)
        if seen:
            return diagnose(seen)
        if self.failures:
            bad = self.failures[0]
            return Diagnosis("unknown", f"Not healthy: {bad.name}: {bad.seen.rstrip('.')}.")
        warnings = sum(line.status == "warn" for line in self.lines)
        told = f" ({counted(warnings, 'warning')})" if warnings else ""
        return Diagnosis("healthy", f"Nothing is wrong with what was looked at{told}.")


def open_trace(path: Path, visit: Visit, *, chosen: bool) -> None:
    """Take in a recorded run; without a pair of its own choice, the visit is to the one it was made with.

    Raises:
        EngineError: as ``read_trace``; ``bad_trace`` for one without answers.
    """
    trace = read_trace(path)
    if trace.notice:
        visit.notices.append(trace.notice)
    visit.loaded = next((event for event in trace.events if isinstance(event, Loaded)), None)
    visit.answers = recorded(trace.events)
    if not visit.answers:
        raise EngineError(
            "bad_trace",
            f"{path} holds no answer.",
            "Record a run with: ddtree-tui generate PROMPT --trace FILE",
        )
    if visit.imported:
        visit.notices.append("Another program wrote it: what that does not say was not looked at.")
        return
    if visit.loaded is not None and not chosen:
        visit.load = msgspec.structs.replace(reported_load(visit.loaded), device="auto")
    dtype = visit.loaded.target.dtype if visit.loaded is not None else "float32"
    visit.answers = compared(visit.answers, dtype)


def first_rounds(patient: Patient, visit: Visit, subject: DecodeSettings) -> Line:
    """One prefill and a few rounds, nothing wrong on purpose, against the target alone: the last line."""
    assert visit.loaded is not None
    settings = msgspec.structs.replace(
        subject,
        oracle="full",
        inject=(),
        verify="solve" if subject.verify == "naive" else subject.verify,
        mode="ar" if visit.loaded.drafter is None else subject.mode,
        max_new_tokens=1 + ROUNDS * (visit.loaded.block_size or 1),
    )
    (prompt, *_) = own_prompts(visit.load.model)
    answer = answer_of(0, Way("subject", settings), patient.answer(prompt, settings))
    visit.first = replace(answer.seen, name=f"first rounds: {way_name(settings)}")
    name, checked = "first rounds", answer.seen.checked
    if answer.seen.failed is not None:
        return undecodable(name, answer.seen.failed.message, answer.seen.failed.hint)
    if checked is None or checked.verdict == "unchecked":
        reason = checked.reason if checked is not None else "the oracle said nothing"
        return Line(
            part="pair", name=name, status="warn", seen=f"not compared with the target alone: {reason}"
        )
    rounds = len(answer.rounds)
    seen = (
        f"prefill and {counted(rounds, 'round')}; {counted(checked.compared, 'position')} and "
        f"{counted(checked.layers, 'layer')} compared with the target alone"
    )
    if checked.verdict == "defect":
        return Line(
            part="pair",
            name=name,
            status="fail",
            seen=f"{seen}: {counted(checked.defects, 'position')} not as there",
            means="The text is not the target's own.",
            todo="See the causes below.",
        )
    return Line(part="pair", name=name, status="ok", seen=f"{seen}: {checked.verdict}")


def conversations(
    visit: Visit, messages: list[Message] | None, decode: DecodeSettings
) -> Iterator[tuple[list[Message], DecodeSettings]]:
    """What is to be answered, and how: a recorded answer's prompt and settings, the given prompt, or the
    doctor's own."""
    if visit.answers:
        prefilled = visit.answers[-1].prefilled
        assert prefilled is not None
        yield prefilled.messages, prefilled.settings
    elif messages is not None:
        yield messages, decode
    else:
        for prompt in own_prompts(visit.load.model, system="system-lost" in decode.inject):
            yield prompt, decode


def check_recorded(patient: Patient, visit: Visit, say: Callable[[str], None]) -> None:
    """Have the oracle read the recorded answers that nobody has compared with the target alone yet."""
    for place, answer in enumerate(visit.answers):
        prefilled = answer.prefilled
        if prefilled is None or answer.seen.compared or answer.seen.failed is not None:
            continue
        say(f"Recorded answer {place + 1} of {len(visit.answers)}")
        _, chosen = choices([prefilled, *answer.rounds])
        command = Check(prompt_ids=prefilled.prompt_ids, choices=chosen, settings=prefilled.settings)
        events = patient.ask(command)
        failed = next((event for event in events if isinstance(event, Failed)), None)
        if failed is not None:
            visit.notices.append(f"Recorded answer {place + 1} was not compared: {failed.message}")
            continue
        again = answer_of(answer.prompt, answer.way, [*answer.events, *events])
        visit.answers[place] = replace(again, seen=replace(again.seen, name=answer.seen.name))


def answer_all(
    patient: Patient,
    visit: Visit,
    asked: Sequence[tuple[list[Message], DecodeSettings]],
    say: Callable[[str], None],
) -> None:
    """Answer every conversation in all ways; after a recorded run, its last prompt once more.

    Raises:
        EngineError: ``bad_setting`` for a way to decode that there is not, as of a fault that cannot be
            planted.
    """
    assert visit.loaded is not None
    again = bool(visit.answers)
    number = len(visit.answers) - 1 if again else 0
    for messages, decode in asked:
        todo = [*ways(_possible(decode, visit.loaded), visit.loaded)]
        if again:
            todo[0] = Way("beside", todo[0].settings)
        for place, way in enumerate(todo, 1):
            say(f"Prompt {number + 1}, answer {place} of {len(todo)}: {way.name}")
            answer = answer_of(number, way, patient.answer(messages, way.settings))
            failed = answer.seen.failed
            if failed is not None and failed.error == "bad_setting" and place == 1 and not again:
                raise EngineError(failed.error, failed.message, failed.hint)
            if again and place == 1:
                answer = replace(answer, seen=replace(answer.seen, name=f"again now: {answer.seen.name}"))
            visit.answers.append(answer)
        number += 1
    visit.answers = compared(visit.answers, visit.loaded.target.dtype)


def _possible(decode: DecodeSettings, loaded: Loaded) -> DecodeSettings:
    """Without a drafter there is mode ar alone."""
    return decode if loaded.drafter is not None else msgspec.structs.replace(decode, mode="ar")


def undecodable(name: str, seen: str, todo: str) -> Line:
    """The line of a pair that cannot be loaded, or does not get through an answer."""
    return Line(part="pair", name=name, status="fail", seen=seen, means="Nothing can be decoded.", todo=todo)
