"""The conversation: prompts, thinking and answers apart, what the shown round wrote marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rich.segment import Segment
from textual.binding import Binding
from textual.content import Content, Span
from textual.strip import Strip

from ddtree_tui.answer_text import Section
from ddtree_tui.escape import escape, hex_bytes
from ddtree_tui.plural import counted
from ddtree_tui.run import Answer, Session
from ddtree_tui.widgets.painted import PLAIN, ScrolledLines
from ddtree_tui.widgets.round_heading import WRONG

GUTTERS = {
    "user": "❯ ",
    "thinking": "┆ ",
    "thinking-title": "┆ ",
    "answer": "  ",
    "note": "  ",
    "wrong": "  ",
}
ROLE_OF = {"user-more": "user", "thinking-title": "note"}
MARK = "mark"
PENDING = "pending"


@dataclass(frozen=True)
class Paragraph:
    """Text up to a line break, already escaped. ``marks``: (start, end) of what the shown round wrote."""

    role: str
    text: str
    marks: tuple[tuple[int, int], ...] = ()
    pending: str = ""


class Transcript(ScrolledLines, can_focus=True):
    """Wraps each paragraph once; while an answer grows only its last one is wrapped again."""

    ROLES = ("user", "thinking", "answer", "note", "wrong", "gutter", "mark", "pending")
    COMPONENT_CLASSES = set(ROLES)
    BINDINGS = [
        Binding("left", "app.move_round(-1)", "Round back", show=False),
        Binding("right", "app.move_round(1)", "Round forth", show=False),
    ]
    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        scrollbar-size: 1 1;
        overflow-x: hidden;
        /* Always there, invisible until needed: to appear it would need a layout of the screen. */
        overflow-y: scroll;
        scrollbar-color: $background;
        &.-overflows { scrollbar-color: $scrollbar; }
        .user { text-style: bold; }
        .thinking { color: $quiet; text-style: italic; }
        .answer { color: $foreground; }
        .note { color: $faint; }
        .wrong { color: $on-wrong; background: $wrong; text-style: bold; }
        .gutter { color: $faint; }
        .mark { text-style: underline; color: $shown; }
        .pending { color: $faint; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._paragraphs: list[Paragraph] = []
        self._lines: list[tuple[str, list[tuple[str, str]]]] = []
        self._wrapped: dict[tuple[Paragraph, int], list[tuple[str, list[tuple[str, str]]]]] = {}
        self._looking_back = False
        self._placed_y = 0

    def show(self, session: Session, shown: tuple[Answer, int] | None, looking_back: bool) -> None:
        """Take the newest text; ``shown``: the answer and the index of its round to mark. While looking back
        the mark stays in view, else the end does unless the user has scrolled away from it."""
        self._looking_back = looking_back
        self._paragraphs = [
            paragraph for answer in session.answers for paragraph in paragraphs_of(answer, shown)
        ]
        self._wrap()

    def on_resize(self) -> None:
        self._wrap()

    def draw_line(self, line: int) -> Strip:
        gutter, pieces = self._lines[line] if line < len(self._lines) else ("", [])
        segments = [Segment(gutter, self.role_style("gutter"))] if gutter else []
        for text, roles in pieces:
            style = self.role_style(PLAIN)
            for role in roles.split():
                style += self.role_style(role)
            segments.append(Segment(text, style))
        return Strip(segments)

    def _scroll_to_mark(self) -> None:
        """Bring what the shown round wrote into view."""
        marked = [y for y, (_, pieces) in enumerate(self._lines) if any(MARK in roles for _, roles in pieces)]
        height = self.scrollable_content_region.height
        if marked and not self.scroll_offset.y <= marked[0] <= marked[-1] < self.scroll_offset.y + height:
            self._place(marked[0] - height // 2)

    def _place(self, y: int) -> None:
        """Scroll, and remember where to: elsewhere means that the user has scrolled."""
        self.scroll_to(y=y, animate=False, immediate=True)
        self._placed_y = self.scroll_offset.y

    def _wrap(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 4:
            return
        untouched = self.scroll_offset.y == self._placed_y or self.scroll_offset.y >= self.max_scroll_y
        kept: dict[tuple[Paragraph, int], list[tuple[str, list[tuple[str, str]]]]] = {}
        self._lines = []
        for paragraph in self._paragraphs:
            key = (paragraph, width)
            wrapped = kept.get(key) or self._wrapped.get(key) or wrap(paragraph, width)
            kept[key] = wrapped
            self._lines += wrapped
        self._wrapped = kept
        self.forget_strips()
        self.set_extent(0, len(self._lines))
        self.set_class(self.max_scroll_y > 0, "-overflows")
        if self._looking_back:
            self._scroll_to_mark()
        elif untouched:
            self._place(self.max_scroll_y)
        self.refresh()


def paragraphs_of(answer: Answer, shown: tuple[Answer, int] | None) -> Iterator[Paragraph]:
    """An answer as it is read: prompt, warning if decoded wrongly, thinking, answer, how it ended."""
    if answer.first_round or answer.prompt == "":
        yield Paragraph("note", "")
    for number, line in enumerate(escape(answer.prompt, keep_newlines=True).split("\n")):
        yield Paragraph("user" if number == 0 else "user-more", line)
    if answer.wrong:
        yield Paragraph("wrong", f" {WRONG} ")
    if answer.text is not None:
        round_number = shown[1] if shown and shown[0] is answer else None
        if answer.text.thinking or answer.text.section == "thinking":
            yield Paragraph("thinking-title", "thinking")
            yield from section_paragraphs(answer, "thinking", round_number)
        if answer.text.answer or answer.text.section == "answer":
            yield from section_paragraphs(answer, "answer", round_number)
    if note := ending(answer):
        yield Paragraph("note", note)
    yield Paragraph("note", "")


def section_paragraphs(answer: Answer, section: Section, round_number: int | None) -> Iterator[Paragraph]:
    """The lines of a section, the marks of one round, the bytes that are no whole character yet."""
    assert answer.text is not None
    text = answer.text.thinking if section == "thinking" else answer.text.answer
    stretches = answer.text.stretches(round_number) if round_number is not None else []
    marked = [(s.start, s.end) for s in stretches if s.section == section]
    pending = answer.text.pending if answer.text.section == section and not answer.over else b""
    lines = text.rstrip("\n").split("\n") if answer.over else text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        marks = tuple(
            (len(escape(line[: max(0, a - start)])), len(escape(line[: b - start])))
            for a, b in marked
            if a < start + len(line) and b > start
        )
        last = number == len(lines) - 1
        yield Paragraph(section, escape(line), marks, hex_bytes(pending) if pending and last else "")
        start += len(line) + 1


def ending(answer: Answer) -> str:
    """How an answer ended, in a line."""
    if answer.failed:
        return f"✗ {escape(answer.failed.message)}"
    if not answer.finished:
        return ""
    reason = {"stop": "ended by itself", "length": "cut at max-new-tokens", "cancelled": "stopped"}
    done = answer.finished
    return (
        f"{reason[done.reason]} · {counted(done.tokens, 'token')} in {counted(done.rounds, 'round')} · "
        f"{done.tokens_per_second:.0f} tokens/s"
    )


def wrap(paragraph: Paragraph, width: int) -> list[tuple[str, list[tuple[str, str]]]]:
    """Lines of a paragraph: gutter, then pieces of text with the roles that style them."""
    role = ROLE_OF.get(paragraph.role, paragraph.role)
    gutter = GUTTERS.get(paragraph.role, "  ")
    text = paragraph.text + paragraph.pending
    spans = [Span(start, end, MARK) for start, end in paragraph.marks if end > start]
    if paragraph.pending:
        spans.append(Span(len(paragraph.text), len(text), PENDING))
    lines = []
    for number, line in enumerate(Content(text, spans=spans).wrap(width - len(gutter))):
        pieces = list(_pieces(line, role))
        lines.append((gutter if number == 0 or paragraph.role == "thinking" else "  ", pieces))
    return lines or [(gutter, [])]


def _pieces(line: Content, role: str) -> Iterator[tuple[str, str]]:
    text = line.plain
    cuts = sorted({0, len(text), *(s.start for s in line.spans), *(s.end for s in line.spans)})
    for start, end in pairwise(cuts):
        roles = [role] + [str(s.style) for s in line.spans if s.start <= start and s.end >= end]
        yield text[start:end], " ".join(roles)
