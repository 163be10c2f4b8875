"""The report for a terminal or a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from ddtree_tui.doctor.report import CauseReport, Report
from ddtree_tui.doctor.tables import (
    ANSWER_COLUMNS,
    answer_rows,
    beside_text,
    evidence,
    remarks,
    when,
)
from ddtree_tui.escape import escape
from ddtree_tui.race.table import aligned
from engine.diagnosis.lines import Line

WIDTH = 100
_NAME = 22


def line_text(line: Line) -> Iterator[str]:
    """One thing that was looked at; what it means and what to do below it where it is not ok."""
    yield f"  {line.status:<5} {line.name:<{_NAME}} {escape(line.seen)}"
    for text, sign in ((line.means, " "), (line.todo, ">")):
        if text:
            yield from textwrap.wrap(
                escape(text), WIDTH, initial_indent=f"        {sign} ", subsequent_indent=" " * 10
            )
    if line.text:
        for row in line.text.split("\n"):
            yield f"          | {escape(row)}"


def answers_text(report: Report) -> Iterator[str]:
    """A row per answer, and below them the layers that left their tolerance."""
    rows = [*answer_rows(report)]
    if not rows:
        return
    yield "Answers"
    yield from (f"  {line}" for line in aligned([ANSWER_COLUMNS, *rows]))
    yield from (f"  {escape(sentence)}" for sentence in remarks(report))
    yield ""
    for sentence in beside_text(report):
        yield from textwrap.wrap(sentence, WIDTH, initial_indent="  ", subsequent_indent="  ")
    if report.beside:
        yield ""


def causes_text(causes: Sequence[CauseReport]) -> Iterator[str]:
    """The ranked causes."""
    if not causes:
        return
    yield "Causes"
    for number, cause in enumerate(causes, 1):
        follows = f"; follows from {cause.follows}" if cause.follows else ""
        yield f"  {number}. {cause.name} ({when(cause)}{follows}): {cause.title}."
        for text, sign in ((cause.seen, "seen:"), (cause.why, "why: "), (cause.todo, "do:  ")):
            if text:
                yield from textwrap.wrap(
                    escape(text), WIDTH, initial_indent=f"     {sign} ", subsequent_indent=" " * 11
                )
        numbers = "; ".join(f"{name} {escape(value)}" for name, value in evidence(cause.evidence))
        if numbers:
            yield from textwrap.wrap(numbers, WIDTH, initial_indent="     by:   ", subsequent_indent=" " * 11)
        yield f"     in:   {'; '.join(cause.answers[:6])}" + (" …" if len(cause.answers) > 6 else "")
    yield ""


def texts_text(report: Report) -> Iterator[str]:
    """The trees and texts, where they are in the report."""
    if report.texts is None:
        return
    for title, parts in (("Trees", report.texts.trees), ("Texts", report.texts.answers)):
        if parts:
            yield title
        for name, text in parts.items():
            yield f"  {name}"
            yield from (f"    {escape(row)}" for row in text.split("\n"))
            yield ""


def conclusion_text(report: Report) -> Iterator[str]:
    """What follows the lines about machine and pair."""
    yield from answers_text(report)
    yield from texts_text(report)
    yield from causes_text(report.causes)
    for notice in report.notices:
        yield from textwrap.wrap(f"Note: {notice}", WIDTH, subsequent_indent="  ")
    yield from textwrap.wrap(escape(report.verdict), WIDTH)
