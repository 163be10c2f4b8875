"""The conversation: what the shown round wrote is marked, tokens are tinted by where they come from."""

from __future__ import annotations

from typing import Literal

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from ddtree_tui.answer import Answer
from ddtree_tui.answer_text import AR, BONUS, FIRST, UNTOLD, Written
from ddtree_tui.keys import pane_bindings
from ddtree_tui.session import Session
from ddtree_tui.transcript_lines import Drawn, Place, TranscriptLines
from ddtree_tui.widgets import transcript_keys
from ddtree_tui.widgets.painted import PLAIN, ScrolledLines
from ddtree_tui.written_text import VIEWS, Writing

Tint = Literal["none", "tints", "signs"]
TINTS: tuple[Tint, ...] = ("tints", "signs", "none")
TokenWay = Literal["left", "right", "up", "down", "first", "last"]
ROLE_OF = {"thinking-title": "note"}
DEEP = ((8, "deep"), (4, "middle"), (1, "near"))
"""From which depth on a drafted token has which tint."""


class Transcript(ScrolledLines, can_focus=True):
    """Draws the lines in view. A cursor stands on a token; ``Pointed`` says when it has moved."""

    ROLES = (
        *("user", "system", "thinking", "answer", "note", "wrong", "gutter", "mark", "pending", "cursor"),
        *("near", "middle", "deep", "bonus", "ar", "first"),
    )
    ALLOW_SELECT = False
    BINDINGS = [*pane_bindings(transcript_keys.KEYS)]
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
        .system { color: $quiet; }
        .thinking { color: $quiet; text-style: italic; }
        .answer { color: $foreground; }
        .note { color: $faint; }
        .wrong { color: $on-wrong; background: $wrong; text-style: bold; }
        .gutter { color: $faint; }
        .mark { text-style: underline; color: $shown; }
        .pending { color: $faint; }
        .cursor { text-style: bold reverse; color: $shown; }
    }
    """

    class Pointed(Message):
        """The cursor has moved to a token."""

    class TitleClicked(Message):
        """The user clicked on the title of an answer's thinking."""

        def __init__(self, answer: int) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.writing = Writing()
        self.tint: Tint = "none"
        self.folded: set[int] = set()
        self.cursor: Place | None = None
        self._session: Session | None = None
        self._lines = TranscriptLines(self.writing, 80, self.folded)
        self._width = 0
        self._shown: tuple[Answer, int] | None = None
        self._looking_back = False
        self._placed_y = 0
        self._marked_line = 0
        self._kept: tuple[object, ...] = ()

    def show(self, session: Session, shown: tuple[Answer, int] | None, looking_back: bool) -> None:
        """Take the newest text; ``shown``: the answer and the index of its round to mark. Another round than
        before comes into view while looking back, else the end does unless the user has scrolled away."""
        moved = shown is None or self._shown is None or shown[0] is not self._shown[0] or shown != self._shown
        self._session, self._shown, self._looking_back = session, shown, looking_back
        if self.cursor is not None and self.token() is None:
            self.cursor = None
        kept, self._kept = self._kept, _what_stands(session)
        self._update(find_mark=moved and looking_back, from_mark=kept == self._kept)

    def on_resize(self) -> None:
        self._begin()

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        line = offset.y + self.scroll_offset.y
        answer = self._lines.title_at(line)
        if answer is not None:
            self.post_message(self.TitleClicked(answer))
        elif (place := self._lines.token_at(line, offset.x)) is not None:
            self.put_cursor(place)

    def token(self) -> Written | None:
        """What the cursor stands on."""
        answer = self.answer()
        if answer is None or answer.text is None or self.cursor is None:
            return None
        return answer.text.token(self.cursor.token) if self.cursor.token < len(answer.text) else None

    def answer(self) -> Answer | None:
        """The answer in which the cursor stands."""
        answers = self._session.answers if self._session is not None else []
        return answers[self.cursor.answer] if self.cursor and self.cursor.answer < len(answers) else None

    def put_cursor(self, place: Place | None) -> None:
        """Select a token, or none."""
        self.cursor = place
        self.forget_strips()
        if place is not None:
            self._reveal(place, place)
            self.post_message(self.Pointed())
        self.refresh()

    def move(self, way: TokenWay) -> None:
        """Move the cursor; where there is none yet, put it to where the shown round begins."""
        here = self.cursor
        if here is None:
            mark = self._mark()
            self.put_cursor(mark[0] if mark is not None else self._neighbour(None, way))
        elif way in ("up", "down"):
            self.put_cursor(self._on_line(here, -1 if way == "up" else 1))
        else:
            self.put_cursor(self._neighbour(here, way))

    def next_view(self) -> None:
        """Text, tokens, ids, bytes."""
        view = VIEWS[(VIEWS.index(self.writing.view) + 1) % len(VIEWS)]
        self.writing = Writing(view, self.writing.signs)
        self._begin()

    def next_tint(self) -> None:
        """Tints; tints and signs; neither."""
        self.tint = TINTS[(TINTS.index(self.tint) + 1) % len(TINTS)]
        self.writing = Writing(self.writing.view, self.tint == "signs")
        self._begin()

    def toggle_thinking(self, answer: int | None = None) -> None:
        """Fold the thinking of an answer, or show it; of all answers without one given."""
        answers = range(len(self._session.answers)) if self._session is not None else range(0)
        if answer is not None:
            self.folded ^= {answer}
        elif self.folded:
            self.folded.clear()
        else:
            self.folded.update(answers)
        self._update()

    def draw_line(self, line: int) -> Strip:
        if line >= len(self._lines):
            return Strip([])
        drawn = self._lines.line(line)
        base = self.role_style(ROLE_OF.get(drawn.role, drawn.role))
        segments = [Segment(drawn.gutter, self.role_style("gutter"))] if drawn.gutter.strip() else []
        if not segments:
            segments.append(Segment(drawn.gutter, self.role_style(PLAIN)))
        if not drawn.tokens:
            segments.append(Segment(drawn.text, base))
        for token, start, end in drawn.tokens:
            style = base
            for role in self._roles(drawn, token):
                style += self.role_style(role)
            segments.append(Segment(drawn.text[start:end], style))
        if drawn.pending:
            segments.append(Segment(drawn.pending, self.role_style("pending")))
        return Strip(segments)

    def _roles(self, drawn: Drawn, number: int) -> list[str]:
        """What styles a token besides its section."""
        assert self._session is not None
        if drawn.answer >= len(self._session.answers):
            return []  # a conversation forgotten just now: its lines stand until the next paint
        answer = self._session.answers[drawn.answer]
        assert answer.text is not None
        token = answer.text.token(number)
        roles = [tint_role(token.origin)] if self.tint != "none" else []
        if self._shown is not None and self._shown == (answer, token.round):
            roles.append("mark")
        if self.cursor == (drawn.answer, number):
            roles.append("cursor")
        return roles

    def _mark(self) -> tuple[Place, Place] | None:
        """First and last token that the shown round wrote."""
        if self._shown is None or self._session is None or self._shown[0].text is None:
            return None
        answer, number = self._shown
        tokens = self._shown[0].text.of_round(number)
        at = next((at for at, other in enumerate(self._session.answers) if other is answer), None)
        return (Place(at, tokens[0]), Place(at, tokens[-1])) if tokens and at is not None else None

    def _neighbour(self, here: Place | None, way: TokenWay) -> Place | None:
        answers = self._session.answers if self._session is not None else []
        counts = [len(answer.text) if answer.text is not None else 0 for answer in answers]
        if not any(counts):
            return None
        if here is None:
            last = max(number for number, count in enumerate(counts) if count)
            return Place(last, counts[last] - 1)
        if way in ("first", "last"):
            return Place(here.answer, 0 if way == "first" else counts[here.answer] - 1)
        token = here.token + (1 if way == "right" else -1)
        if 0 <= token < counts[here.answer]:
            return Place(here.answer, token)
        beyond = range(here.answer + 1, len(counts)) if way == "right" else range(here.answer - 1, -1, -1)
        answer = next((number for number in beyond if counts[number]), None)
        return here if answer is None else Place(answer, 0 if way == "right" else counts[answer] - 1)

    def _on_line(self, here: Place, by: int) -> Place:
        """The token nearest to the cursor on the next line up or down that has one."""
        line = self._lines.line_of(here)
        if line is None:
            return here
        drawn = self._lines.line(line)
        x = next((start for token, start, _ in drawn.tokens if token == here.token), 0)
        line += by
        while 0 <= line < len(self._lines):
            drawn = self._lines.line(line)
            begun = [
                token for token in drawn.tokens if self._lines.line_of(Place(drawn.answer, token[0])) == line
            ]
            if begun:
                token = min(begun, key=lambda t: max(t[1] - x, x - t[2] + 1, 0))[0]
                if (drawn.answer, token) != here:
                    return Place(drawn.answer, token)
            line += by
        return here

    def _reveal(self, first: Place, last: Place) -> None:
        """Bring tokens into view."""
        lines = [line for line in (self._lines.line_of(first), self._lines.line_of(last)) if line is not None]
        height = self.scrollable_content_region.height
        y = self.scroll_offset.y
        if lines and not (y <= lines[0] and lines[-1] < y + height):
            self._place(max(0, lines[0] - height // 2))

    def _place(self, y: int) -> None:
        """Scroll, and remember where to: elsewhere means that the user has scrolled."""
        self.scroll_to(y=y, animate=False, immediate=True)
        self._placed_y = self.scroll_offset.y

    def _begin(self) -> None:
        """Another width or writing: everything is written anew."""
        self._width = self.scrollable_content_region.width
        self._lines = TranscriptLines(self.writing, self._width, self.folded)
        self._update(find_mark=self._looking_back)

    def _update(self, find_mark: bool = False, from_mark: bool = False) -> None:
        """Draw what is new. ``from_mark``: no line before the round that is marked, or was, has changed."""
        if self._session is None or not self._width:
            return
        untouched = self.scroll_offset.y == self._placed_y or self.scroll_offset.y >= self.max_scroll_y
        before = self._marked_line
        self._lines.update(self._session)
        mark = self._mark()
        self._marked_line = (self._lines.line_of(mark[0]) if mark is not None else None) or 0
        first = min(before, self._marked_line) if from_mark else 0
        self._strips = {line: strip for line, strip in self._strips.items() if line < first}
        self.set_extent(0, len(self._lines))
        self.set_class(self.max_scroll_y > 0, "-overflows")
        if find_mark and mark is not None:
            self._reveal(*mark)
        elif untouched and not self._looking_back:
            self._place(self.max_scroll_y)
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        if first < bottom:
            self.refresh_lines(max(first, top), bottom - max(first, top))


def _what_stands(session: Session) -> tuple[object, ...]:
    """Changes when lines change that were written before the newest round."""
    answer = session.answer
    text = answer.text if answer is not None else None
    return (
        session,
        len(session.answers),
        text,
        text.version if text else 0,
        answer is not None and answer.over,
    )


def tint_role(origin: int) -> str:
    """The style of a token by where it comes from."""
    if origin > 0:
        return next(role for depth, role in DEEP if origin >= depth)
    return {FIRST: "first", BONUS: "bonus", AR: "ar", UNTOLD: "answer"}[origin]
