"""The report as Markdown, for issue trackers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ddtree_tui.doctor.report import CauseReport, Report
from ddtree_tui.doctor.tables import (
    ANSWER_COLUMNS,
    LINE_COLUMNS,
    answer_rows,
    beside_text,
    evidence,
    line_parts,
    made_with,
    remarks,
    text_parts,
    when,
)
from ddtree_tui.escape import escape

_MARKS = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")


def markdown(report: Report) -> str:
    """The whole report."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield "# ddtree-tui doctor"
    yield ""
    yield f"**{plain(report.verdict)}**"
    yield ""
    yield plain(made_with(report))
    for notice in report.notices:
        yield f"\n{plain(notice)}"
    if report.causes:
        yield "\n## Causes\n"
        for number, cause in enumerate(report.causes, 1):
            yield from _cause(number, cause)
    if report.answers:
        yield "\n## Answers\n"
        yield from table(ANSWER_COLUMNS, [*answer_rows(report)])
        for sentence in (*remarks(report), *beside_text(report)):
            yield f"\n{plain(sentence)}"
    for title, rows in line_parts(report):
        yield f"\n## {title}\n"
        yield from table(LINE_COLUMNS, rows)
    for title, texts in text_parts(report):
        yield f"\n## {title}"
        for name, text in texts.items():
            yield f"\n{plain(name)}\n"
            yield fenced(text)


def _cause(number: int, cause: CauseReport) -> Iterator[str]:
    follows = f"; follows from `{cause.follows}`" if cause.follows else ""
    yield f"{number}. **`{cause.name}`** ({when(cause)}{follows}): {plain(cause.title)}."
    for text in (cause.seen, cause.why, cause.todo):
        if text:
            yield f"   {plain(text)}"
    numbers = "; ".join(f"{plain(name)} {plain(value)}" for name, value in evidence(cause.evidence))
    if numbers:
        yield f"   {numbers}"


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table of plain cells."""
    yield "| " + " | ".join(columns) + " |"
    yield "|" + " --- |" * len(columns)
    for row in rows:
        yield "| " + " | ".join(plain(cell) for cell in row) + " |"


def plain(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MARKS.sub(r"\\\1", escape(text))


def fenced(text: str) -> str:
    """Text in a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{escape(text, keep_newlines=True)}\n{fence}"
