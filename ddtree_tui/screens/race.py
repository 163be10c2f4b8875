"""A race while it goes on, and how it ended."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container

from ddtree_tui.controller import Controller
from ddtree_tui.escape import escape, fit
from ddtree_tui.race.comparison import Comparison
from ddtree_tui.race.course import Race
from ddtree_tui.race.table import comparisons
from ddtree_tui.screens.live import LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.lane_view import LaneView
from ddtree_tui.widgets.painted import Lines, Span, spread
from ddtree_tui.widgets.race_result import RaceTable, TextDiff

QUIT: Hint = ("^Q", "quit", "quit")
WIDE = 100
"""Cells from which on lanes stand side by side."""


class RaceTitle(Lines):
    """What is raced, and on what."""

    ROLES = ("title", "prompt", "where", "state")
    COMPONENT_CLASSES = set(ROLES)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    RaceTitle {
        height: 1;
        padding: 0 1;
        background: $panel;
        .title { color: $shown; text-style: bold; }
        .prompt { color: $foreground; }
        .where { color: $quiet; }
        .state { color: $bonus; text-style: bold; }
    }
    """

    def __init__(self, race: Race) -> None:
        super().__init__()
        self._race = race
        self._state = ""

    def show(self, state: str) -> None:
        """Take how it stands, where that is not to be seen of the lanes."""
        if state != self._state:
            self._state = state
            self.redraw()

    def draw(self, width: int, height: int) -> list[list[Span]]:
        loaded = self._race.loaded
        where = escape(f"{loaded.target.name}, {loaded.target.dtype}, {loaded.device}")
        state = f"{self._state}  " if self._state else ""
        room = max(20, width - len(state) - len(where) - 8)
        prompt = fit(escape(" ".join(self._race.prompt.split())), room)
        right: list[Span] = [*([(state, "state")] if state else []), (where, "where")]
        return [spread([("Race  ", "title"), (prompt, "prompt")], right, width)]


class RaceScreen(LiveScreen[str]):
    """Dismissed with ``again`` for the same race once more."""

    BINDINGS = [
        Binding("escape,q,f10", "leave", "Stop or back"),
        Binding("space,f2", "pause", "Pause or go on", priority=True),
        Binding("d,enter", "diff", "Texts"),
        Binding("left", "other(-1)", "Other lane", show=False, priority=True),
        Binding("right", "other(1)", "Other lane", show=False, priority=True),
        Binding("r", "again", "Again"),
    ]
    DEFAULT_CSS = """
    RaceScreen {
        #race-lanes { height: 1fr; layout: grid; grid-gutter: 0 1; }
        #race-diff, #race-table { display: none; }
        &.-over #race-table { display: block; }
        &.-diff #race-diff { display: block; }
        &.-diff #race-lanes { display: none; }
    }
    """

    def __init__(self, race: Race, controller: Controller) -> None:
        super().__init__()
        self.race = race
        self._controller = controller
        self._compared: dict[int, Comparison] | None = None
        self._chosen = 0

    def compose(self) -> ComposeResult:
        """Prompt, lanes or the difference of two, table, keys."""
        yield RaceTitle(self.race)
        with Container(id="race-lanes"):
            for lane in self.race.lanes:
                yield LaneView(self.race, lane)
        yield TextDiff(id="race-diff")
        yield RaceTable(self.race, id="race-table")
        yield KeyBar()

    def on_mount(self) -> None:
        self.show(self._controller)

    def on_resize(self) -> None:
        lanes = len(self.race.lanes)
        columns = min(3, lanes) if self.size.width >= WIDE else 1 + (lanes > 3)
        self.query_one("#race-lanes").styles.grid_size_columns = columns

    def show(self, controller: Controller) -> None:
        if not self.is_mounted or not self.query(KeyBar):
            return
        for view in self.query(LaneView):
            view.show()
        steward = controller.steward
        state = "stopping" if steward.stopping else "paused" if steward.paused else ""
        state = state or ("measuring rounding" if self.race.measuring else "")
        self.query_one(RaceTitle).show("" if self.race.over else state)
        if self.race.over and self._compared is None:
            self._compared = comparisons(self.race)
            self.add_class("-over")
            self.query_one(RaceTable).show(self._compared)
            self._chosen = self._first_difference()
        self.query_one(KeyBar).show(self._hints())

    def _hints(self) -> tuple[Hint, ...]:
        if self._compared is None:
            pause = "go on" if self._controller.steward.paused else "pause"
            return (("Esc", "stop", "screen.leave"), ("Space", pause, "screen.pause"), QUIT)
        if self.has_class("-diff"):
            views: tuple[Hint, ...] = (
                ("d", "lanes", "screen.diff"),
                ("← →", "other text", "screen.other(1)"),
            )
        else:
            views = (("d", "compare texts", "screen.diff"),)
        return (("Esc", "back", "screen.leave"), *views, ("r", "again", "screen.again"), QUIT)

    def _first_difference(self) -> int:
        """The first text that is not the same, among those that are compared."""
        compared = list((self._compared or {}).values())
        return next((place for place, found in enumerate(compared) if found.where is not None), 0)

    def _show_diff(self) -> None:
        compared = list((self._compared or {}).values())
        self.query_one(TextDiff).show(compared[self._chosen] if compared else None)

    # What the user does

    def action_leave(self) -> None:
        """Stop the race; once it is over, go back from the texts to the lanes, or to the main screen."""
        if not self.race.over:
            self._controller.stop()
            self.show(self._controller)
        elif self.has_class("-diff"):
            self.action_diff()
        else:
            self.dismiss(None)

    def action_pause(self) -> None:
        """Have all lanes wait before their next round, or let them go on."""
        self._controller.steward.toggle_pause()
        self.show(self._controller)

    def action_diff(self) -> None:
        """The texts as one, or the lanes again."""
        if self._compared is None:
            return
        self.toggle_class("-diff")
        if self.has_class("-diff"):
            diff = self.query_one(TextDiff)
            diff.focus()
            self.call_after_refresh(self._show_diff)
        self.query_one(KeyBar).show(self._hints())

    def action_other(self, by: int) -> None:
        """Compare another lane's text."""
        compared = self._compared or {}
        if compared and self.has_class("-diff"):
            self._chosen = (self._chosen + by) % len(compared)
            self._show_diff()

    def action_again(self) -> None:
        """The same race once more."""
        if self.race.over:
            self.dismiss("again")
