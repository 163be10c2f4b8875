"""The conversation line by line: prompts, thinking and answers apart, each token to be found. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import get_character_cell_size

from ddtree_tui.answer import Answer
from ddtree_tui.answer_text import SECTIONS, Section
from ddtree_tui.ending import ending
from ddtree_tui.escape import escape
from ddtree_tui.line_breaks import break_lines
from ddtree_tui.plural import counted
from ddtree_tui.session import Session
from ddtree_tui.unknown import source_text
from ddtree_tui.written_text import Writing, WrittenText, pending
from engine.events import Source
from engine.settings import Message

GUTTERS = {"user": "❯ ", "system": "§ ", "thinking": "┆ ", "thinking-title": "┆ "}
GUTTER = "  "
LEAST_WIDTH = 6


class Place(NamedTuple):
    """A token of the conversation: the number of its answer, and its own there."""

    answer: int
    token: int


class Drawn(NamedTuple):
    """A line of the screen.

    Attributes:
        role: what kind of text it is.
        tokens: (token, start, end) of those with a part in the text, ascending.
        answer: the number of the answer it belongs to.
        pending: bytes at the end that are no character yet, as they are shown.
    """

    role: str
    gutter: str
    text: str
    tokens: Sequence[tuple[int, int, int]]
    answer: int
    pending: str = ""


@dataclass
class Block:
    """Lines of one role. ``written`` are tokens; else ``fixed`` says what the lines are."""

    role: str
    fixed: list[str] = field(default_factory=list)
    written: WrittenText | None = None
    section: Section | None = None
    trim: bool = False

    @property
    def height(self) -> int:
        """Lines it takes. Of an answer that is over, empty ones at the end of a section count for nothing."""
        if self.written is None:
            return len(self.fixed)
        lines = self.written.lines
        height = len(lines)
        while self.trim and height > 1 and lines[height - 1].start == lines[height - 1].end:
            height -= 1
        return height


class TranscriptLines:
    """All answers of a session in one writing and width.

    Attributes:
        folded: answers whose thinking is folded away, by number.
    """

    def __init__(self, writing: Writing, width: int, folded: set[int] | None = None) -> None:
        self.folded = folded if folded is not None else set()
        self._writing, self._width = writing, max(LEAST_WIDTH, width) - len(GUTTER)
        self._answers: list[Answer] = []
        self._written: dict[tuple[int, Section], WrittenText] = {}
        self._said: dict[tuple[str, str], Block] = {}
        self._blocks: list[tuple[int, Block]] = []
        self._starts: list[int] = []

    def __len__(self) -> int:
        return self._starts[-1] + self._blocks[-1][1].height if self._blocks else 0

    def update(self, session: Session) -> None:
        """Take in what is new."""
        kept = session.answers[: len(self._answers)]
        if len(kept) < len(self._answers) or any(
            a is not b for a, b in zip(self._answers, kept, strict=True)
        ):
            self._written.clear()
            self._said.clear()
        self._answers = list(session.answers)
        self._blocks = [
            (number, block)
            for number, answer in enumerate(self._answers)
            for block in self._blocks_of(number, answer)
        ]
        self._starts = []
        height = 0
        for _, block in self._blocks:
            self._starts.append(height)
            height += block.height

    def line(self, number: int) -> Drawn:
        """Line ``number``, from 0."""
        at = bisect_right(self._starts, number) - 1
        answer, block = self._blocks[at]
        within = number - self._starts[at]
        gutter = GUTTERS.get(block.role, GUTTER) if within == 0 or block.role == "thinking" else GUTTER
        if block.written is None or block.section is None:
            return Drawn(block.role, gutter, block.fixed[within], (), answer)
        line = block.written.lines[within]
        text = self._answers[answer].text
        last = within == block.height - 1 and not block.trim and text is not None
        waiting = pending(text, block.section) if last and text is not None else ""
        tokens = list(block.written.pieces(line))
        return Drawn(block.role, gutter, block.written.text(line), tokens, answer, waiting)

    def line_of(self, place: Place) -> int | None:
        """The line on which a token begins; its section's title if that is folded."""
        answer = self._answers[place.answer] if place.answer < len(self._answers) else None
        if answer is None or answer.text is None or place.token >= len(answer.text):
            return None
        section = answer.text.token(place.token).section
        for start, (number, block) in zip(self._starts, self._blocks, strict=True):
            if number != place.answer:
                continue
            if block.written is not None and block.section == section:
                return start + min(block.written.line_of(place.token), block.height - 1)
            if block.role == "thinking-title" and section == "thinking" and number in self.folded:
                return start
        return None

    def token_at(self, number: int, cell: int) -> Place | None:
        """The token under a cell of a line."""
        if not 0 <= number < len(self):
            return None
        drawn = self.line(number)
        x = len(drawn.gutter)
        for place, character in enumerate(drawn.text):
            x += get_character_cell_size(character)
            if len(drawn.gutter) <= cell < x:
                for token, start, end in drawn.tokens:
                    if start <= place < end:
                        return Place(drawn.answer, token)
                return None
        return None

    def title_at(self, number: int) -> int | None:
        """The answer whose thinking's title a line is."""
        if not 0 <= number < len(self):
            return None
        drawn = self.line(number)
        return drawn.answer if drawn.role == "thinking-title" else None

    def _blocks_of(self, number: int, answer: Answer) -> Iterator[Block]:
        """An answer as it is read: what was said before, prompt, thinking, answer, how it ended."""
        for message in earlier_messages(self._answers, number):
            role = message["role"] if message["role"] != "assistant" else "answer"
            yield self._message(role, message["content"])
        if answer.prefilled is not None and (source := answer.prefilled.source) is not None:
            yield self._fixed("note", imported_text(source, answer))
        if answer.prompt or not answer.imported:
            yield self._message("user", answer.prompt)
        if answer.wrong:
            yield Block("wrong", [f" {answer.alarm} "])
        if answer.text is not None:
            for section in SECTIONS:
                text = answer.text.text_of(section)
                tokens = len(answer.text.of_section[section])
                if (
                    not text
                    and answer.text.section != section
                    and (self._writing.view == "text" or not tokens)
                ):
                    continue
                if section == "thinking":
                    folded = number in self.folded
                    yield Block(
                        "thinking-title",
                        [f"▸ thinking, {counted(tokens, 'token')}" if folded else "thinking"],
                    )
                    if folded:
                        continue
                yield self._section(number, answer, section)
        if note := ending(answer):
            yield self._fixed("note", note)
        yield Block("note", [""])

    def _section(self, number: int, answer: Answer, section: Section) -> Block:
        assert answer.text is not None
        written = self._written.get((number, section))
        if written is None:
            written = WrittenText(answer.text, section, self._writing, self._width)
            self._written[number, section] = written
        written.update()
        return Block(section, written=written, section=section, trim=answer.over)

    def _message(self, role: str, text: str) -> Block:
        """A message as it was sent; made once, since it may be MiBs long and every paint asks for it."""
        block = self._said.get((role, text))
        if block is None:
            block = self._said[role, text] = self._fixed(role, escape(text, keep_newlines=True))
        return block

    def _fixed(self, role: str, text: str) -> Block:
        lines = [
            line[start:end] for line in text.split("\n") for start, end in break_lines(line, self._width)
        ]
        return Block(role, lines)


def earlier_messages(answers: Sequence[Answer], number: int) -> Sequence[Message]:
    """What the model was told before an answer's prompt, as far as no answer above shows it: what came before
    the first answer, and a system message that is another than before."""
    answer = answers[number]
    if answer.prefilled is None:
        return ()
    before = answer.prefilled.messages[:-1]
    if number == 0:
        return before
    above = answers[number - 1].prefilled
    known = [m["content"] for m in above.messages if m["role"] == "system"] if above is not None else []
    return [m for m in before if m["role"] == "system" and m["content"] not in known]


def imported_text(source: Source, answer: Answer) -> str:
    """Where an answer is from, and which of its texts are unknown, in a line."""
    missing = [] if answer.prompt else ["the prompt"]
    if (
        answer.finished is not None
        and answer.text is not None
        and not (answer.text.answer or answer.text.thinking)
    ):
        missing.append("the text")
    unknown = f" · {' and '.join(missing)} unknown" if missing else ""
    return f"{source_text(source, answer.loaded)}{unknown}"
