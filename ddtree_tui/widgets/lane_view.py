"""One lane of a race: how it stands, and its text."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.strip import Strip

from ddtree_tui.escape import fit
from ddtree_tui.race.course import Lane
from ddtree_tui.race.standing import Standing, Standings
from ddtree_tui.widgets.painted import Lines, Span, spread
from ddtree_tui.widgets.transcript import Transcript

ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th")


class LaneHeading(Lines):
    """Name and place, how far it has come, its numbers."""

    ROLES = ("name", "number", "quiet", "ahead", "bar", "rest", "wrong")
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    LaneHeading {
        height: 3;
        padding: 0 1;
        .name { color: $foreground; text-style: bold; }
        .number { color: $foreground; }
        .quiet { color: $quiet; }
        .ahead { color: $accepted; text-style: bold; }
        .bar { color: $bar; }
        .rest { color: $line; }
        .wrong { color: $wrong; text-style: bold; }
    }
    """

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self._lane = lane
        self._standings: Standings | None = None

    def show(self, standings: Standings) -> None:
        """Take how all lanes stand."""
        self._standings = standings
        self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        standings, lane = self._standings, self._lane
        if standings is None:
            return []
        one = standings.lanes[lane.number]
        ahead = standings.leader is one
        state, role = self._state(standings, one, ahead)
        done = min(width, round(width * one.tokens / standings.track))
        bar: list[Span] = [("█" * done, "ahead" if ahead else "bar"), ("─" * (width - done), "rest")]
        name: list[Span] = [(fit(lane.name, width), "name")]
        if lane.answer.wrong:
            name += [("  ", ""), (lane.answer.alarm, "wrong")]
        return [spread(name, [(state, role)], width), bar, _numbers(standings, one, width)]

    def _state(self, standings: Standings, one: Standing, ahead: bool) -> tuple[str, str]:
        if one.over and one.lane.answer.failed is not None:
            return "failed", "wrong"
        if one.over and not one.complete:
            return "stopped", "quiet"
        if (place := standings.place(one)) is not None:
            return f"{ORDINALS[place - 1]} in {one.seconds:.2f} s", "ahead" if ahead else "number"
        if one.lane.answer.prefilled is None:
            return "reads the prompt", "quiet"
        return ("leads", "ahead") if ahead else ("", "quiet")


def _numbers(standings: Standings, one: Standing, width: int) -> list[Span]:
    """As many of a lane's numbers as have room, the most telling first."""
    if not one.rounds:
        return []
    ratio = standings.ratio(one)
    parts = [
        (f"{one.tokens_per_second:.0f}", " tok/s"),
        (f"{ratio:.2f}×" if ratio else "", ""),
        (f"{one.acceptance_length:.2f}", " a round"),
        (str(one.rounds), " round" if one.rounds == 1 else " rounds"),
        (str(one.tokens), " tokens"),
        (f"{one.seconds:.2f}", " s"),
    ]
    spans: list[Span] = []
    used = 0
    for number, unit in parts:
        cells = cell_len(number + unit) + (2 if spans else 0)
        if number and used + cells <= width:
            spans += [("  " if spans else "", ""), (number, "number"), (unit, "quiet")]
            used += cells
    return spans


class LaneText(Transcript, can_focus=False):
    """The lane's answer, its tokens tinted by where they come from; there is no cursor in it. Looking back,
    what was not written yet is left out."""

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()

    def draw_line(self, line: int) -> Strip:
        strip = super().draw_line(line)
        if not self._looking_back or self._shown is None or line >= len(self._lines):
            return strip
        answer, last = self._shown
        drawn = self._lines.line(line)
        if not drawn.tokens:
            later = drawn.role == "note" and last < len(answer.rounds) - 1
            return Strip([]) if later else strip
        assert answer.text is not None
        text = answer.text
        there = next((start for token, start, _ in drawn.tokens if text.token(token).round > last), None)
        return strip if there is None else strip.crop(0, cell_len(drawn.gutter + drawn.text[:there]))


class LaneView(Vertical):
    """Heading and text of a lane."""

    DEFAULT_CSS = """
    LaneView { height: 1fr; }
    LaneView LaneText { padding: 0 0 0 1; }
    """

    def __init__(self, lane: Lane) -> None:
        super().__init__()
        self._lane = lane

    def compose(self) -> ComposeResult:
        """How it stands, above its text."""
        yield LaneHeading(self._lane)
        text = LaneText()
        text.tint = "tints"
        yield text

    def show(self, standings: Standings, looking_back: bool) -> None:
        """Paint the newest state, or an older one."""
        answer = self._lane.answer
        self.query_one(LaneHeading).show(standings)
        rounds = standings.lanes[self._lane.number].rounds
        shown = None
        if looking_back or (answer.rounds and not answer.over):
            shown = (answer, rounds - 1)
        self.query_one(LaneText).show(self._lane.session, shown, looking_back)
