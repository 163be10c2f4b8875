"""The report as one HTML page: no script, nothing from elsewhere; it works from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape as html

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

_ALLOWED = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.1rem; font-weight: 600; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-size: 1.25rem; padding: .8rem 1rem; border-left: .4rem solid #b3261e; background: #b3261e18; }
.healthy { border-color: #1b7f3b; background: #1b7f3b18; }
table { border-collapse: collapse; width: 100%; } td, th { text-align: left; padding: .2rem .6rem;
  border-bottom: 1px solid #8884; vertical-align: top; } th { font-weight: 600; }
.fail, .defect { color: #b3261e; font-weight: 600; } .warn, .warning { color: #9a6700; font-weight: 600; }
.ok, .note { color: #1b7f3b; } code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { padding: .8rem; background: #8881; overflow-x: auto; white-space: pre-wrap; }
dd { margin: 0 0 .4rem 1.5rem; }
@media (prefers-color-scheme: dark) { .fail, .defect { color: #ff8a80; } .warn, .warning { color: #e3b341; }
  .ok, .note { color: #66cc88; } }
"""


def page(report: Report) -> str:
    """The whole page."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_ALLOWED}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>ddtree-tui doctor: {_text(report.verdict)}</title><style>{_STYLE}</style></head><body>"
    yield "<h1>ddtree-tui doctor</h1>"
    yield f'<p class="verdict{" healthy" if report.healthy else ""}">{_text(report.verdict)}</p>'
    yield f"<p>{_text(made_with(report))}</p>"
    yield from (f"<p>{_text(notice)}</p>" for notice in report.notices)
    if report.causes:
        yield "<h2>Causes</h2><ol>"
        for cause in report.causes:
            yield from _cause(cause)
        yield "</ol>"
    if report.answers:
        yield "<h2>Answers</h2>"
        yield from _table(ANSWER_COLUMNS, [[_text(cell) for cell in row] for row in answer_rows(report)])
        told = (*remarks(report), *beside_text(report))
        yield from (f"<p>{_text(sentence)}</p>" for sentence in told)
    for title, rows in line_parts(report):
        yield f"<h2>{title}</h2>"
        cells = [[f'<span class="{status}">{status}</span>', *map(_text, others)] for status, *others in rows]
        yield from _table(LINE_COLUMNS, cells)
    for title, texts in text_parts(report):
        yield f"<h2>{title}</h2>"
        for name, text in texts.items():
            yield f"<p>{_text(name)}</p><pre>{html(escape(text, keep_newlines=True))}</pre>"
    yield "</body></html>"


def _cause(cause: CauseReport) -> Iterator[str]:
    follows = f"; follows from <code>{_text(cause.follows)}</code>" if cause.follows else ""
    yield (
        f"<li><code>{_text(cause.name)}</code> "
        f'<span class="{cause.severity}">{_text(when(cause))}</span>{follows}: '
        f"{_text(cause.title)}.<dl>"
    )
    for term, text in (("Seen", cause.seen), ("Why it matters", cause.why), ("What to do", cause.todo)):
        if text:
            yield f"<dt>{term}</dt><dd>{_text(text)}</dd>"
    numbers = "; ".join(f"{name} {value}" for name, value in evidence(cause.evidence))
    if numbers:
        yield f"<dt>Numbers</dt><dd>{_text(numbers)}</dd>"
    yield "</dl></li>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """``rows`` are HTML already."""
    yield "<table><tr>" + "".join(f"<th>{_text(column)}</th>" for column in columns) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
    yield "</table>"


def _text(text: str) -> str:
    return html(escape(text))
