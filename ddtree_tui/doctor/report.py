"""What the doctor found, as one value that every form of the report is made from.

Without ``texts`` it holds no word of a prompt or an answer and no token's spelling: numbers, layers, rounds,
names of settings; see ``quotations``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ddtree_tui import __version__
from ddtree_tui.doctor.answers import Answer
from ddtree_tui.doctor.contamination import contamination
from ddtree_tui.doctor.drawn_tree import drawn_tree
from ddtree_tui.doctor.quotations import evidence_without, quotable, without
from ddtree_tui.doctor.ways import Role
from ddtree_tui.labels import Labels
from ddtree_tui.session import Session
from ddtree_tui.unknown import UNKNOWN
from engine.diagnosis.lines import Line
from engine.diagnosis.ranking import Diagnosis, Health, Ranked
from engine.divergence import first_difference
from engine.events import Divergence, Finding, Finished, LayerCheck, Loaded, Round, Tokens
from engine.settings import LoadSettings

REPORT_VERSION = 1


class CauseReport(msgspec.Struct, frozen=True, kw_only=True):
    """A cause that was found. ``round`` counts from 1; ``follows``: the cause that brings it about."""

    name: str
    title: str
    area: str
    severity: Literal["note", "warning", "defect"]
    round: int | None
    follows: str
    seen: str
    why: str
    todo: str
    evidence: dict[str, Any]
    answers: list[str]


class AnswerReport(msgspec.Struct, frozen=True, kw_only=True):
    """One answer in numbers. ``own``: against the target alone; ``differs``: from mode ``ar``'s text, empty
    without one."""

    name: str
    prompt: int
    role: Role
    tokens: int
    rounds: int
    acceptance: float | None
    tokens_per_second: float | None
    reason: str
    own: Literal["identical", "ties", "defect", "unchecked"]
    compared: int
    ties: int
    defects: int
    noise: float | None
    first: Divergence | None
    layer: LayerCheck | None
    drift: list[tuple[int, float]]
    differs: Literal["", "same", "tie", "defect", "unknown"]
    differs_at: int | None
    failed: str


class BesideReport(msgspec.Struct, frozen=True, kw_only=True):
    """The diagnosed way next to the same prompt without what was made wrong on purpose.

    ``parted``: place in the answer of the first token that differs, from 0; None if none does.
    ``contaminated``: rounds, node and the sibling it ran through, in words.
    """

    sick: str
    healthy: str
    sick_acceptance: float | None
    healthy_acceptance: float | None
    parted: int | None
    contaminated: str


class TextReport(msgspec.Struct, frozen=True, kw_only=True):
    """Everything with words of prompts and answers in it."""

    prompts: list[str]
    answers: dict[str, str]
    trees: dict[str, str]
    lines: dict[str, str]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    v: int = REPORT_VERSION
    verdict: str
    health: Health
    healthy: bool
    made_by: dict[str, str]
    load: LoadSettings
    target: str
    drafter: str | None
    device: str
    lines: list[Line]
    answers: list[AnswerReport]
    causes: list[CauseReport]
    points_to: list[str]
    beside: list[BesideReport]
    notices: list[str]
    texts: TextReport | None


def make_report(
    diagnosis: Diagnosis,
    *,
    load: LoadSettings,
    loaded: Loaded | None,
    lines: Sequence[Line],
    answers: Sequence[Answer],
    notices: Sequence[str] = (),
    with_text: bool = False,
) -> Report:
    """Put together what was found; ``with_text``: with the words."""
    secrets = [] if with_text else quotable(answers)
    told = loaded or next(
        (one for answer in answers for one in answer.events if isinstance(one, Loaded)), None
    )
    return Report(
        verdict=without(diagnosis.verdict, secrets),
        health=diagnosis.health,
        healthy=diagnosis.healthy,
        made_by={"ddtree-tui": __version__, **(told.versions if told else {})},
        load=_homeless(load),
        target=told.target.name if told else load.model,
        drafter=told.drafter.name if told and told.drafter else None,
        device=told.device if told else "unknown",
        lines=[line if with_text else msgspec.structs.replace(line, text="") for line in lines],
        answers=[_without_quotations(numbers_of(answer), secrets) for answer in answers],
        causes=[_cause(one, secrets) for one in diagnosis.causes],
        points_to=[*diagnosis.points_to],
        beside=[*_beside(answers)],
        notices=[*notices, *_not_checked(diagnosis)],
        texts=_texts(answers, lines) if with_text else None,
    )


def _without_quotations(answer: AnswerReport, secrets: Sequence[str]) -> AnswerReport:
    return msgspec.structs.replace(answer, failed=without(answer.failed, secrets))


def _not_checked(diagnosis: Diagnosis) -> Iterable[str]:
    """What detectors that failed leave unknown, once each."""
    failed = [finding for answer in diagnosis.answers for finding in answer.not_checked]
    return dict.fromkeys(f"{finding.seen} {finding.why} {finding.todo}" for finding in failed)


def _cause(one: Ranked, secrets: Sequence[str]) -> CauseReport:
    finding: Finding = one.findings[0][1]
    return CauseReport(
        name=one.cause.name,
        title=one.cause.title,
        area=one.cause.area,
        severity=one.severity,
        round=None if one.round is None else one.round + 1,
        follows=one.follows,
        seen=without(one.seen, secrets),
        why=finding.why,
        todo=finding.todo,
        evidence={key: evidence_without(value, secrets) for key, value in finding.evidence.items()},
        answers=[name for name, _ in one.findings],
    )


def numbers_of(answer: Answer) -> AnswerReport:
    """An answer in numbers."""
    finished, checked, failed = answer.finished, answer.seen.checked, answer.seen.failed
    rounds = answer.rounds
    committed = sum(one.acceptance_length for one in rounds)
    return AnswerReport(
        name=answer.seen.name,
        prompt=answer.prompt,
        role=answer.way.role,
        tokens=finished.tokens if finished else len(answer.ids),
        rounds=len(rounds) or (finished.rounds if finished else 0),
        acceptance=committed / len(rounds) if rounds else told_mean(finished),
        tokens_per_second=(finished.tokens_per_second or None) if finished else None,
        reason=finished.reason if finished else "",
        own=checked.verdict if checked else "unchecked",
        compared=checked.compared if checked else 0,
        ties=checked.ties if checked else 0,
        defects=checked.defects if checked else 0,
        noise=checked.noise if checked else None,
        first=checked.first if checked else next(iter(answer.seen.divergences), None),
        layer=checked.layer if checked else None,
        drift=checked.drift if checked else [],
        differs=_differs(answer),
        differs_at=answer.parts.position if answer.parts is not None else None,
        failed=failed.message if failed else "",
    )


def _beside(answers: Sequence[Answer]) -> Iterable[BesideReport]:
    for healthy in answers:
        if healthy.way.role != "healthy":
            continue
        sick = next(one for one in answers if one.way.role == "subject" and one.prompt == healthy.prompt)
        yield BesideReport(
            sick=sick.seen.name,
            healthy=healthy.seen.name,
            sick_acceptance=numbers_of(sick).acceptance,
            healthy_acceptance=numbers_of(healthy).acceptance,
            parted=first_difference(sick.ids, healthy.ids),
            contaminated=contamination(sick.rounds) if sick.way.settings.verify == "naive" else "",
        )


def _differs(answer: Answer) -> Literal["", "same", "tie", "defect", "unknown"]:
    if answer.prefilled is not None and answer.prefilled.source is not None:
        return "unknown"
    if not answer.has_rival:
        return ""
    return "same" if answer.parts is None else "tie" if answer.tie else "defect"


def told_mean(finished: Finished | None) -> float | None:
    """Mean acceptance length of an imported answer that has no rounds but says what they came to."""
    return finished.mean_acceptance_length if finished is not None and finished.rounds else None


def _texts(answers: Sequence[Answer], lines: Sequence[Line]) -> TextReport:
    prompts: dict[int, str] = {}
    texts: dict[str, str] = {}
    trees: dict[str, str] = {}
    for answer in answers:
        if answer.prefilled is not None:
            messages = answer.prefilled.messages
            prompt = messages[-1]["content"] if messages else answer.prefilled.prompt_text or UNKNOWN
            prompts.setdefault(answer.prompt, prompt)
        name = f"prompt {answer.prompt + 1}: {answer.seen.name}"
        if answer.finished is not None:
            thinking = (
                f"<think>\n{answer.finished.thinking_text}\n</think>\n"
                if answer.finished.thinking_text
                else ""
            )
            imported = answer.prefilled is not None and answer.prefilled.source is not None
            texts[name] = thinking + answer.finished.text or (UNKNOWN if imported else "")
        round_ = telling_round(answer) if answer.way.role == "subject" else None
        if round_ is not None:
            trees[f"{name}, round {round_.index + 1}"] = drawn_tree(round_, labels_of(answer))
    return TextReport(
        prompts=[prompts[number] for number in sorted(prompts)],
        answers=texts,
        trees=trees,
        lines={line.name: line.text for line in lines if line.text},
    )


def telling_round(answer: Answer) -> Round | None:
    """The round to look at: the first that a finding is about, or the first that diverged."""
    rounds = answer.rounds
    found = [finding.round for finding in answer.seen.findings if finding.round is not None]
    found += [one.round for one in answer.seen.divergences if one.round is not None]
    number = min(found, default=None)
    return rounds[number] if number is not None and number < len(rounds) else None


def labels_of(answer: Answer) -> Labels:
    """How the answer's tokens are spelled."""
    session = Session()
    for event in answer.events:
        if isinstance(event, Tokens):
            session.apply(event)
    return session.labels


def _homeless(load: LoadSettings) -> LoadSettings:
    """Paths without the user's name in them."""
    home = str(Path.home())

    def short(path: str | None) -> str | None:
        return path.replace(home, "~", 1) if path and path.startswith(home) else path

    return msgspec.structs.replace(load, model=short(load.model) or "", drafter=short(load.drafter))
