"""The doctor on an answer of the app: from its events and what was found; nothing is decoded anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ddtree_tui.answer import Answer
from ddtree_tui.doctor.answers import answer_of, written_by
from ddtree_tui.doctor.report import Report, make_report
from ddtree_tui.doctor.tables import evidence, layer_text, own_text, when
from ddtree_tui.doctor.ways import Way
from ddtree_tui.ending import unanswered
from ddtree_tui.export.run_events import run_events
from ddtree_tui.plural import counted
from ddtree_tui.rows import Row, wrapped
from ddtree_tui.totals import in_rounds
from engine.diagnosis.ranking import diagnose
from engine.settings import LoadSettings

TO_COMPARE = "To compare: Esc, then C, or of a recorded run: ddtree-tui doctor FILE"
FROM_AFAR = (
    "This is what the server's events tell. What its engine holds inside, and what the target alone would "
    "write, cannot be looked at from here: Esc, then x exports the run as FILE (JSONL). Run where the models "
    "are: ddtree-tui doctor FILE, or ddtree-tui check FILE"
)
FROM_ANSWERS = (
    "This is what the server's answers tell. What it holds inside, and what the target alone would write, "
    "cannot be looked at from here."
)


def state_of(answer: Answer) -> tuple[object, ...]:
    """Changes when the doctor has to look again."""
    return id(answer), len(answer.findings), len(answer.divergences), id(answer.checked), answer.over


def report_of(answer: Answer) -> Report:
    """What is known of the answer so far."""
    way = Way("subject", answer.settings)
    one = answer_of(0, way, run_events(answer))
    if answer.prefilled is not None and answer.imported:
        one = replace(one, seen=replace(one.seen, name=written_by(answer.prefilled)))
    return make_report(
        diagnose([one.seen]),
        load=LoadSettings(),
        loaded=answer.loaded,
        lines=[],
        answers=[one],
        notices=[text for text in (unanswered(answer),) if text],
        with_text=True,
    )


def awaited(answer: Answer) -> str:
    """What the oracle has still to do behind an answer, in words; empty where it has nothing to."""
    if (progress := answer.checking) is not None:
        stage = progress.stage[:1].lower() + progress.stage[1:]
        return f"being compared: {stage}, {progress.done} of {progress.total}"
    if not answer.over and answer.settings.oracle != "off":
        return "will be compared when it has ended"
    return "" if answer.over else "not compared, and it goes on"


def rows_of(report: Report, width: int, awaited: str = "", *, how: str = TO_COMPARE) -> list[Row]:
    """The report in lines of that width.

    Args:
        awaited: what is still to be found out.
        how: an answer that was not compared could be.
    """
    return list(_rows(report, max(20, width), awaited, how))


def _rows(report: Report, width: int, awaited: str, how: str) -> Iterator[Row]:
    if awaited and report.health == "unchecked":
        yield from wrapped("Nothing wrong is seen so far.", "text", width)
    else:
        yield from wrapped(report.verdict, "healthy" if report.healthy else "verdict", width)
    for notice in report.notices:
        yield from wrapped(notice, "warning", width)
    yield Row("", "text")
    for answer in report.answers:
        acceptance = f", acceptance length {answer.acceptance:.2f}" if answer.acceptance else ""
        committed = round((answer.acceptance or 0) * answer.rounds)
        counts = in_rounds(answer.tokens, committed, counted(answer.rounds, "round"))
        yield from wrapped(f"{answer.name}: {counts}{acceptance}", "text", width)
        yield from wrapped(f"against the target alone: {awaited or own_text(answer)}", "text", width)
        if layer := layer_text(answer):
            yield from wrapped(layer, "text", width)
        if answer.own == "unchecked" and not awaited:
            yield from wrapped(how, "quiet", width)
    yield Row("", "text")
    for number, cause in enumerate(report.causes, 1):
        follows = f", follows from {cause.follows}" if cause.follows else ""
        head = list(wrapped(f"{number}. {cause.name}: {cause.title}", cause.severity, width))
        yield replace(head[0], cause=number - 1)
        yield from head[1:]
        yield from wrapped(f"{when(cause)}{follows}", "quiet", width, 3)
        for text in (cause.seen, cause.why, cause.todo):
            yield from wrapped(text, "text", width, 3)
        numbers = "; ".join(f"{name} {value}" for name, value in evidence(cause.evidence))
        yield from wrapped(numbers, "quiet", width, 3)
        yield Row("", "text")
