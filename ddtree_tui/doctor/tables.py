"""The report's numbers as rows of cells, for every form of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ddtree_tui.check import text as checked
from ddtree_tui.doctor.report import AnswerReport, CauseReport, Report
from ddtree_tui.plural import counted
from engine.detectors.found import PREFILL

ANSWER_COLUMNS = ("answer", "tokens", "rounds", "acceptance", "tokens/s", "the target alone", "mode ar")


def made_with(report: Report) -> str:
    """The pair, its device, and the versions of everything."""
    versions = ", ".join(f"{name} {version}" for name, version in report.made_by.items())
    pair = report.target + (f" with {report.drafter}" if report.drafter else "")
    return f"{pair} on {report.device}; {versions}"


def text_parts(report: Report) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Title, and text by name, of what quotes prompts and answers; nothing in a report without them."""
    if report.texts is None:
        return
    for title, texts in (
        ("Prompts", {str(number): text for number, text in enumerate(report.texts.prompts, 1)}),
        ("Trees", report.texts.trees),
        ("Texts", report.texts.answers),
        ("Templates and the like", report.texts.lines),
    ):
        if texts:
            yield title, texts


LINE_COLUMNS = ("", "", "seen", "what to do")


def line_parts(report: Report) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Title, and cells under ``LINE_COLUMNS``, of what was looked at beside the answers; no empty parts."""
    for part, title in (("pair", "Pair"), ("environment", "Environment")):
        rows: list[tuple[str, ...]] = [
            (line.status, line.name, line.seen, " ".join(filter(None, (line.means, line.todo))))
            for line in report.lines
            if line.part == part
        ]
        if rows:
            yield title, rows


def answer_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """The cells under ``ANSWER_COLUMNS``, prompt by prompt."""
    several = len({answer.prompt for answer in report.answers}) > 1
    for answer in report.answers:
        name = f"{answer.prompt + 1}. {answer.name}" if several else answer.name
        yield (
            name,
            str(answer.tokens),
            str(answer.rounds),
            f"{answer.acceptance:.2f}" if answer.acceptance is not None else "-",
            f"{answer.tokens_per_second:.1f}" if answer.tokens_per_second is not None else "-",
            own_text(answer),
            ar_text(answer),
        )


def own_text(answer: AnswerReport) -> str:
    """How the answer stands against the target alone."""
    if answer.failed:
        return "failed"
    if answer.own == "unchecked":
        return "not compared"
    if answer.own == "identical":
        return f"same at {counted(answer.compared, 'position')}"
    if answer.own == "ties":
        return f"same at {counted(answer.compared, 'position')} but for {counted(answer.ties, 'near tie')}"
    if answer.first is not None:
        where = "the prefill" if answer.first.round is None else f"round {answer.first.round + 1}"
        return f"DIFFERS at position {answer.first.position}, {where} (gap {answer.first.gap:.3g})"
    return "DIFFERS in what the caches hold"


def ar_text(answer: AnswerReport) -> str:
    """How its text stands against that of mode ar."""
    if answer.differs == "unknown":
        return "not compared"
    if answer.differs in ("", "same"):
        return answer.differs
    return f"{'tie' if answer.differs == 'tie' else 'DIFFERS'} at {answer.differs_at}"


def when(cause: CauseReport) -> str:
    """``defect, first in round 4``."""
    if cause.evidence.get("stage") == PREFILL:
        return f"{cause.severity}, in the prefill"
    return cause.severity + ("" if cause.round is None else f", first in round {cause.round}")


def evidence(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and value of each number, as people read them."""
    for name, value in numbers.items():
        if value in (None, "", []):
            continue
        yield name.replace("_", " "), _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        shown = ", ".join(_shown(item) for item in value[:12])
        return shown + (f", … ({len(value)} in all)" if len(value) > 12 else "")
    return "-" if value is None else str(value)


def layer_text(answer: AnswerReport) -> str:
    """The first layer that left its tolerance, in words; empty without one."""
    return "" if answer.layer is None else checked.layer_text(answer.layer)


def remarks(report: Report) -> Iterator[str]:
    """Per answer, in sentences: why it failed, and the first layer that left its tolerance."""
    for answer in report.answers:
        if answer.failed:
            yield f"{answer.name} failed: {answer.failed}"
        if layer := layer_text(answer):
            yield f"{answer.name}: {layer}."


def beside_text(report: Report) -> Iterator[str]:
    """What was made wrong on purpose, next to the same prompt without it, in sentences."""
    for one in report.beside:
        if one.contaminated:
            yield one.contaminated
        numbers = [
            f"{value:.2f}" if value is not None else "-"
            for value in (one.sick_acceptance, one.healthy_acceptance)
        ]
        texts = (
            "the texts are the same" if one.parted is None else f"the texts part at token {one.parted + 1}"
        )
        yield f"{one.sick}: acceptance length {numbers[0]}; {one.healthy}: {numbers[1]}; {texts}."
