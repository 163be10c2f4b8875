"""One lane of a race: how it stands, and its text."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical

from ddtree_tui.escape import fit
from ddtree_tui.race.course import Lane, Race
from ddtree_tui.widgets.painted import Lines, Span, spread
from ddtree_tui.widgets.transcript import Transcript

ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "6th")


class LaneHeading(Lines):
    """Name and place, how far it has come, its numbers."""

    ROLES = ("name", "number", "quiet", "ahead", "bar", "rest", "wrong")
    COMPONENT_CLASSES = set(ROLES)
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

    def __init__(self, race: Race, lane: Lane) -> None:
        super().__init__()
        self._race, self._lane = race, lane

    def draw(self, width: int, height: int) -> list[list[Span]]:
        race, lane = self._race, self._lane
        ahead = race.leader is lane
        state, role = self._state(ahead)
        done = min(width, round(width * len(lane.ids) / race.track))
        bar: list[Span] = [("█" * done, "ahead" if ahead else "bar"), ("─" * (width - done), "rest")]
        name: list[Span] = [(fit(lane.name, width), "name")]
        if lane.answer.wrong:
            name += [("  ", ""), (lane.answer.alarm, "wrong")]
        return [spread(name, [(state, role)], width), bar, self._numbers(width)]

    def _state(self, ahead: bool) -> tuple[str, str]:
        race, lane = self._race, self._lane
        if lane.answer.failed is not None:
            return "failed", "wrong"
        if lane.answer.finished is not None and not lane.complete:
            return "stopped", "quiet"
        if lane in race.places:
            return f"{ORDINALS[race.places.index(lane)]} in {lane.decode_seconds:.2f} s", (
                "ahead" if ahead else "number"
            )
        if lane.answer.prefilled is None:
            return "reads the prompt", "quiet"
        return ("leads", "ahead") if ahead else ("", "quiet")

    def _numbers(self, width: int) -> list[Span]:
        lane, acceptance = self._lane, self._lane.answer.statistics.acceptance
        if not acceptance.rounds:
            return []
        ratio = self._race.ratio(lane)
        parts = [
            (f"{lane.tokens_per_second:.0f}", " tok/s"),
            (f"{ratio:.2f}×" if ratio else "", ""),
            (f"{acceptance.mean:.2f}", " accepted"),
            (str(acceptance.rounds), " round" if acceptance.rounds == 1 else " rounds"),
            (str(len(lane.ids)), " tokens"),
            (f"{lane.decode_seconds:.2f}", " s"),
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
    """The lane's answer, its tokens tinted by where they come from; there is no cursor in it."""

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()


class LaneView(Vertical):
    """Heading and text of a lane."""

    DEFAULT_CSS = """
    LaneView { height: 1fr; }
    LaneView LaneText { padding: 0 0 0 1; }
    """

    def __init__(self, race: Race, lane: Lane) -> None:
        super().__init__()
        self._race, self._lane = race, lane

    def compose(self) -> ComposeResult:
        """How it stands, above its text."""
        yield LaneHeading(self._race, self._lane)
        text = LaneText()
        text.tint = "tints"
        yield text

    def show(self) -> None:
        """Paint the newest state."""
        answer = self._lane.answer
        self.query_one(LaneHeading).redraw()
        shown = (answer, len(answer.rounds) - 1) if answer.rounds and not answer.over else None
        self.query_one(LaneText).show(self._lane.session, shown, False)
