"""The place the cursor is at in the draft tree: what both models thought there, and why it came as it did."""

from __future__ import annotations

from math import exp

from rich.cells import cell_len

from ddtree_tui.escape import fit
from ddtree_tui.glyphs import GLYPHS, IN_ONE_CELL, State, small_probability
from ddtree_tui.line_breaks import break_lines
from ddtree_tui.node_facts import Candidate, Choice, NodeFacts
from ddtree_tui.unknown import UNKNOWN
from ddtree_tui.widgets.painted import Lines, Span, spread
from engine.events import UNKNOWN_ID

COMING = "both models' best candidates: from the next round on"
SWITCHED_OFF = "both models' best candidates: with the setting detail"
NOT_IN_RECORDING = "both models' best candidates: recorded with --detail"
NOT_TOLD = "the rest: unknown, whoever wrote it does not say"
LEAST_COLUMN = 15
"""Cells of a list of candidates below which one list fewer is shown."""
COLUMN_GAP = 1
MORE_OF_WHY = 2
ROWS_BESIDES = 9
"""The reason goes on below its first line on so many lines, where the pane has more rows than these."""


class NodeDetail(Lines):
    """Facts first, then the candidates of the drafter and of the target side by side."""

    ROLES = (*(state.value for state in State), "title", "label", "text", "number", "quiet", "chosen")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    NodeDetail {
        .title { color: $quiet; text-style: bold; }
        .label { color: $quiet; }
        .text { color: $foreground; }
        .number { color: $foreground; text-style: bold; }
        .quiet { color: $faint; }
        .chosen { color: $foreground; text-style: bold; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._facts: NodeFacts | None = None
        self._unrecorded = ""

    def show(self, facts: NodeFacts | None, detail: bool | None) -> None:
        """Take a place's facts. ``detail``: whether rounds to come have candidates; None of a recording."""
        unrecorded = NOT_IN_RECORDING if detail is None else COMING if detail else SWITCHED_OFF
        if (facts, unrecorded) != (self._facts, self._unrecorded):
            self._facts, self._unrecorded = facts, unrecorded
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        if self._facts is None:
            return []
        return detail_lines(self._facts, width, height, self._unrecorded)


def detail_lines(facts: NodeFacts, width: int, height: int, unrecorded: str) -> list[list[Span]]:
    """The pane: no line is wider than ``width``, there are at most ``height``."""
    role = facts.state.value
    shown = f"{GLYPHS[facts.state]} {facts.label}"
    where = f"{facts.state.value.replace('-', ' ')} · depth {facts.depth}"
    lines: list[list[Span]] = [
        spread([(fit(shown, width), role)], [(where, "label")], width),
        [("id ", "label"), (_id(facts.token), "number"), ("  bytes ", "label"), (_hex(facts.raw), "text")],
        [("text ", "label"), (_tail(facts.path, width - len("text ")), "text")],
        _drafter_line(facts),
        _target_line(facts),
        *_why_lines(facts.why, width, 1 + max(0, min(MORE_OF_WHY, height - ROWS_BESIDES))),
    ]
    lines = [_cut(line, width) for line in lines]
    lists = _lists(facts, width, height - len(lines) - (not facts.recorded))
    if not facts.recorded:
        lists.append([(fit(NOT_TOLD if facts.imported else unrecorded, width), "quiet")])
    return [*lines, *lists][:height]


def _why_lines(why: str, width: int, most: int) -> list[list[Span]]:
    """A sentence on as many lines as it takes, up to ``most``."""
    label = "why "
    pieces = [why[start:end] for start, end in break_lines(why, max(1, width - len(label)))]
    pieces = [*pieces[: most - 1], "".join(pieces[most - 1 :])] if len(pieces) > most else pieces
    return [
        [(label if number == 0 else " " * len(label), "label"), (piece.strip(), "text")]
        for number, piece in enumerate(pieces)
    ]


def _drafter_line(facts: NodeFacts) -> list[Span]:
    line: list[Span] = [("drafter ", "label")]
    if facts.state is State.ROOT:
        return [*line, ("was not asked", "quiet")]
    if not facts.told:
        rank = "" if facts.rank is None else f", its choice #{facts.rank}"
        return [*line, (f"p {UNKNOWN}{rank}", "quiet")]
    if facts.logprob is None:
        return [*line, ("did not draft this deep", "quiet")]
    rank = "" if facts.rank is None else f" #{facts.rank}"
    line += [(f"p {_p(facts.logprob)}", "number"), (f" log {facts.logprob:.2f}{rank}", "text")]
    if facts.weight is not None:
        line += [
            ("  path ", "label"),
            (f"p {_p(facts.weight)}", "number"),
            (f" log {facts.weight:.2f}", "text"),
        ]
    return line


def _target_line(facts: NodeFacts) -> list[Span]:
    line: list[Span] = [("target  ", "label")]
    if facts.wanted is None:
        return [*line, ("has it in its text already", "quiet")]
    if facts.target_logprob is not None:
        line += [
            (f"p {_p(facts.target_logprob)}", "number"),
            (f" log {facts.target_logprob:.2f}", "text"),
        ]
    if facts.label != facts.wanted.label or facts.target_logprob is None:
        chose = facts.wanted.label if facts.wanted.known else UNKNOWN
        said = f"{'  ' if facts.target_logprob is not None else ''}chose {chose}"
        p = f"p {UNKNOWN}" if facts.wanted.logprob is None else _p(facts.wanted.logprob)
        line += [(said, "text"), (f" {p}", "number")]
    return [*line, *_gap(facts.wanted)]


def _gap(choice: Choice) -> list[Span]:
    return [] if choice.gap is None else [("  gap ", "label"), (f"{choice.gap:.2f}", "text")]


def _id(token: int) -> str:
    return UNKNOWN if token == UNKNOWN_ID else str(token)


def _lists(facts: NodeFacts, width: int, rows: int) -> list[list[Span]]:
    """Lists of candidates side by side, as many as fit, each under its title."""
    columns = [
        ("drafter here" if facts.recorded else "in the tree", facts.drafter),
        ("target here", facts.target),
        ("target next", facts.after),
    ]
    columns = [(title, found) for title, found in columns if found]
    fitting = max(1, min(len(columns), (width + COLUMN_GAP) // (LEAST_COLUMN + COLUMN_GAP)))
    columns = columns[:fitting]
    if rows < 2 or not columns:
        return []
    cells = (width - COLUMN_GAP * (fitting - 1)) // fitting
    rows = min(rows, 1 + max(len(found) for _, found in columns))
    lines: list[list[Span]] = [[] for _ in range(rows)]
    for title, found in columns:
        for row in range(rows):
            if lines[row]:
                lines[row].append((" " * COLUMN_GAP, ""))
            if row == 0:
                lines[row].append((_pad(fit(title, cells), cells), "title"))
            else:
                candidate = found[row - 1] if row <= len(found) else None
                lines[row] += _candidate(candidate, cells)
    return lines


def _candidate(candidate: Candidate | None, cells: int) -> list[Span]:
    """One row of a list: the state of the node that has the token, the token, its probability."""
    if candidate is None:
        return [(" " * cells, "")]
    state, p = candidate.state, "?" if candidate.logprob is None else _p(candidate.logprob)
    glyph = (IN_ONE_CELL.get(state) or GLYPHS[state]) if state is not None else " "
    room = cells - 2 - 6
    label = _pad(fit(candidate.label, room), room)
    return [
        (f"{glyph} ", state.value if state is not None else ""),
        (label, "chosen" if candidate.chosen else "text"),
        (p.rjust(6), "number" if candidate.chosen else "quiet"),
    ]


def _p(logprob: float) -> str:
    return small_probability(exp(min(0.0, logprob)))


def _hex(raw: bytes) -> str:
    return raw.hex(" ") if raw else "unknown"


def _tail(text: str, cells: int) -> str:
    """The end of a text that is too long, led by an ellipsis."""
    if cell_len(text) <= cells:
        return text
    while text and cell_len(text) > cells - 1:
        text = text[1:]
    return "…" + text


def _cut(line: list[Span], width: int) -> list[Span]:
    """A line that ends in an ellipsis where it is too long."""
    kept: list[Span] = []
    room = width
    for text, role in line:
        if cell_len(text) > room:
            return [*kept, (fit(text, room), role)]
        kept.append((text, role))
        room -= cell_len(text)
    return kept


def _pad(text: str, cells: int) -> str:
    return text + " " * (cells - cell_len(text))
