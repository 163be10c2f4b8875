"""A race while it goes on, and how it ended; or a recorded one."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container

from ddtree_tui.controller import Controller
from ddtree_tui.race.comparison import Comparison
from ddtree_tui.race.course import Race
from ddtree_tui.race.showing import RaceShowing
from ddtree_tui.race.table import comparisons
from ddtree_tui.round_player import speed_text
from ddtree_tui.screens.live import EXPLAIN, QUIT, LiveScreen
from ddtree_tui.widgets.key_bar import Hint, KeyBar
from ddtree_tui.widgets.lane_view import LaneView
from ddtree_tui.widgets.race_result import RaceTable, TextDiff
from ddtree_tui.widgets.race_title import RaceTitle
from ddtree_tui.widgets.replay_bar import Progress, ReplayBar

ROUND_ACTIONS = ("first", "newest", "play", "play_all", "step", "pause", "speed")
WIDE = 100
"""Cells from which on lanes stand side by side."""


class RaceScreen(LiveScreen[str]):
    """Dismissed with ``again`` for the same race once more.

    Args:
        export: asks what to make of the race, and where to.
        name: what the recording is called, where one is shown.
    """

    EXPLANATION = (
        (
            "One prompt in several ways",
            (
                "Each lane decodes it in its own way, over the same weights and with caches of its own. "
                "Rounds alternate: next is the lane whose rounds have taken the least time so far. So all "
                "lanes meet the same device, and the ratios hold also while something else is at work on "
                "it."
            ),
        ),
        (
            "Above each text",
            (
                "Speed and time are of the lane's own rounds; what the others take meanwhile is not in "
                "them. The ratio is against ar, or the first lane. Then the mean number of tokens that a "
                "round adds. The bars show how many tokens there are, on one scale."
            ),
        ),
        (
            "The texts",
            (
                "Tokens are tinted by where they come from: drafted (the deeper in the tree, the stronger), "
                "bonus, the prefill's own, or decoded without a draft. Lanes of one prompt are to write the "
                "same text. Where they do not, d shows both as one and the first token that differs: a tie "
                "is explained by rounding, a DEFECT by nothing. Drawn tokens (temperature above 0) may "
                "differ."
            ),
        ),
        (
            "Keys",
            (
                "Space pauses, n decodes one round. ← → or [ ] show how it stood a round before or after, { "
                "} ten, Home the first, f the newest; p plays from the shown round on, < > slower and "
                "faster. x exports the race, or a lane as a page; r races again. Esc stops, then goes back."
            ),
        ),
    )
    BINDINGS = [
        Binding("escape,q,f10", "leave", "Stop or back"),
        Binding("space,f2", "pause", "Pause or go on", priority=True),
        Binding("n,f6", "step", "One round"),
        Binding("d,enter", "diff", "Texts"),
        Binding("left,left_square_bracket,f3", "move(-1)", "Round before", show=False, priority=True),
        Binding("right,right_square_bracket,f4", "move(1)", "Round after", show=False, priority=True),
        Binding("ctrl+left,left_curly_bracket", "move(-10)", "Ten rounds back", show=False, priority=True),
        Binding("ctrl+right,right_curly_bracket", "move(10)", "Ten rounds on", show=False, priority=True),
        Binding("home", "first", "First round", priority=True),
        Binding("end,f,f5", "newest", "Newest round", priority=True),
        Binding("p", "play", "Play rounds"),
        Binding("a", "play_all", "All at once"),
        Binding("less_than_sign,comma", "speed(-1)", "Slower", show=False),
        Binding("greater_than_sign,full_stop", "speed(1)", "Faster", show=False),
        Binding("r", "again", "Again"),
        Binding("x,ctrl+s", "export", "Export", priority=True),
    ]
    DEFAULT_CSS = """
    RaceScreen {
        #race-lanes { height: 1fr; layout: grid; grid-gutter: 0 1; }
        #race-diff, #race-table, ReplayBar { display: none; }
        &.-over #race-table { display: block; }
        &.-replay ReplayBar { display: block; }
        &.-diff #race-diff { display: block; }
        &.-diff #race-lanes, &.-diff ReplayBar { display: none; }
    }
    """

    def __init__(
        self,
        showing: RaceShowing,
        controller: Controller,
        export: Callable[[Race], None],
        name: str = "",
    ) -> None:
        super().__init__()
        self.showing = showing
        self._controller = controller
        self._export = export
        self._file = name
        self._compared: dict[int, Comparison] | None = None
        self._chosen = 0

    @property
    def race(self) -> Race:
        return self.showing.race

    def compose(self) -> ComposeResult:
        """Prompt, lanes or the difference of two, table, keys."""
        yield RaceTitle(self.race)
        with Container(id="race-lanes"):
            for lane in self.race.lanes:
                yield LaneView(lane)
        yield TextDiff(id="race-diff")
        yield RaceTable(self.race, id="race-table")
        yield ReplayBar()
        yield KeyBar()

    def on_mount(self) -> None:
        self.set_class(self.showing.playback is not None, "-replay")
        self.showing.player.speed = self._controller.player.speed
        self.call_after_refresh(self.show, self._controller)

    def on_resize(self) -> None:
        lanes = len(self.race.lanes)
        columns = min(3, lanes) if self.size.width >= WIDE else 1 + (lanes > 3)
        self.query_one("#race-lanes").styles.grid_size_columns = columns

    def show(self, controller: Controller) -> None:
        if not self.is_mounted or not self.query(KeyBar):
            return
        standings = self.showing.standings()
        for view in self.query(LaneView):
            view.show(standings, self.showing.looking_back)
        self.query_one(RaceTitle).show(self._state())
        self._show_replay()
        if self.race.over and self._compared is None:
            self._compared = comparisons(self.race)
            self.add_class("-over")
            self.query_one(RaceTable).show(self._compared)
            self._chosen = self._first_difference()
        self.query_one(KeyBar).show(self._hints())

    def _state(self) -> str:
        """What is not to be seen of the lanes themselves."""
        showing, steward = self.showing, self._controller.steward
        if showing.looking_back and (index := showing.shown) is not None:
            playing = f"playing {speed_text(showing.player.speed)}, " if showing.player.playing else ""
            return f"{playing}round {index + 1} of {showing.round_count}"
        if self.race.over or showing.playback is not None:
            return ""
        if steward.stopping:
            return "stopping"
        if steward.paused:
            return "paused"
        return "measuring rounding" if self.race.measuring else ""

    def _show_replay(self) -> None:
        playback = self.showing.playback
        if playback is not None:
            position = playback.position(time.monotonic())
            speed = self.showing.player.speed
            self.query_one(ReplayBar).show(
                Progress(self._file, position, playback.duration, playback.playing, playback.over, speed)
            )

    def _hints(self) -> tuple[Hint, ...]:
        if self.has_class("-diff"):
            views: tuple[Hint, ...] = (
                ("d", "lanes", "screen.diff"),
                ("← →", "other text", "screen.move(1)"),
            )
            return (("Esc", "back", "screen.leave"), *views, EXPLAIN, QUIT)
        playback, rounds = self.showing.playback, ("← →", "round", "screen.move(-1)")
        newest: tuple[Hint, ...] = ()
        if self.showing.looking_back:
            newest = (("f", "newest", "screen.newest"),)
        if playback is not None and not playback.over:
            pause = "pause" if playback.playing else "play"
            return (
                ("Esc", "back", "screen.leave"),
                ("Space", pause, "screen.pause"),
                rounds,
                *newest,
                ("a", "all at once", "screen.play_all"),
                ("< >", "speed", "screen.speed(1)"),
                EXPLAIN,
                QUIT,
            )
        if not self.race.over and playback is None:
            pause = "go on" if self._controller.steward.paused else "pause"
            return (
                ("Esc", "stop", "screen.leave"),
                ("Space", pause, "screen.pause"),
                ("n", "one round", "screen.step"),
                rounds,
                *newest,
                EXPLAIN,
                QUIT,
            )
        again: tuple[Hint, ...] = () if playback is not None else (("r", "again", "screen.again"),)
        compare: tuple[Hint, ...] = ()
        if self._compared is not None:  # it is not where a recording was cut short
            compare = (("d", "compare texts", "screen.diff"),)
        return (
            ("Esc", "back", "screen.leave"),
            *compare,
            rounds,
            *newest,
            ("p", "play", "screen.play"),
            *again,
            ("x", "export", "screen.export"),
            EXPLAIN,
            QUIT,
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Over the texts, keys that look at rounds are the texts' own."""
        return not (self.has_class("-diff") and action in ROUND_ACTIONS)

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
        if not self.race.over and self.showing.playback is None:
            self._controller.stop()
            self.show(self._controller)
        elif self.has_class("-diff"):
            self.action_diff()
        else:
            self.dismiss(None)

    def action_pause(self) -> None:
        """Have all lanes wait before their next round, or let them go on; the same for a recording's clock.
        Once all is there, play its rounds."""
        playback, now = self.showing.playback, time.monotonic()
        if playback is not None and not playback.over:
            self.showing.show_newest()
            self._controller.toggle_pause(now)
        elif self.race.over or playback is not None:
            self.showing.toggle_player(now)
        else:
            self._controller.steward.toggle_pause()
        self.show(self._controller)

    def action_step(self) -> None:
        """One round of one lane, then wait."""
        if self.showing.playback is not None:
            self.action_move(1)
        else:
            self.showing.show_newest()
            self._controller.steward.step()
            self.show(self._controller)

    def action_move(self, by: int) -> None:
        """Show another round; of the texts, compare another lane's."""
        if self.has_class("-diff"):
            self._other(by)
        else:
            self.showing.move(by, time.monotonic())
            self.show(self._controller)

    def action_first(self) -> None:
        """Show the first round."""
        self.showing.show(0)
        self.show(self._controller)

    def action_newest(self) -> None:
        """Show the newest round, and every one that comes."""
        self.showing.show_newest()
        self.show(self._controller)

    def action_play(self) -> None:
        """Play the rounds that are there, from the shown one on."""
        self.showing.toggle_player(time.monotonic())
        self.show(self._controller)

    def action_play_all(self) -> None:
        """Let all of a recording come at once."""
        self.showing.show_newest()
        self.showing.play_all(time.monotonic())
        self.show(self._controller)

    def action_speed(self, by: int) -> None:
        """Play slower or faster."""
        self.showing.change_speed(by, time.monotonic())
        self._controller.player.speed = self.showing.player.speed
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

    def _other(self, by: int) -> None:
        compared = self._compared or {}
        if compared:
            self._chosen = (self._chosen + by) % len(compared)
            self._show_diff()

    def action_again(self) -> None:
        """The same race once more."""
        if self.race.over and self.showing.playback is None:
            self.dismiss("again")

    def action_export(self) -> None:
        """Make a file of the race, or of one lane."""
        self._export(self.race)
