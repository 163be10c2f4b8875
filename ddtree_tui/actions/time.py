"""Moving through the rounds: leaps, landmarks, playing, holding."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.check.no_divergence import no_divergence
from ddtree_tui.keys import Key
from ddtree_tui.overview import next_worst, worst_first
from ddtree_tui.round_player import speed_text
from ddtree_tui.widgets.timeline import Timeline
from engine.errors import EngineError

KEYS = (
    Key("time.back10", "move_round(-10)", "ten rounds back", free="left_curly_bracket,ctrl+left"),
    Key("time.forth10", "move_round(10)", "ten rounds forth", free="right_curly_bracket,ctrl+right"),
    Key("time.goto", "goto_round", "go to a round: type its number", "Go to a round", free="g"),
    Key(
        "time.worst",
        "worst_round",
        "round of fewest tokens here; again: next worst",
        "Worst round",
        free="w",
    ),
    Key(
        "time.divergence",
        "divergence",
        "first token not the target's own; again: next",
        "First divergence",
        free="d",
    ),
    Key("time.play", "play_rounds", "play from the shown round on, or stop", "Play rounds", free="p"),
    Key("time.slower", "change_speed(-1)", "play at half the speed", free="less_than_sign,comma"),
    Key("time.faster", "change_speed(1)", "play at twice the speed", free="greater_than_sign,full_stop"),
    Key(
        "time.hold",
        "toggle_hold",
        "hold every round: it waits for Space or n",
        "Hold every round",
        free="H",
    ),
    Key(
        "time.close_up",
        "close_up",
        "timeline: all rounds, or a bar for each",
        "Timeline close up",
        free="u",
    ),
)
WORST = "a worst round"


class TimeActions(Actions):
    def action_goto_round(self) -> None:
        """Type the number of a round of the shown answer."""
        from ddtree_tui.screens.value import ValueScreen

        rounds, shown = self.controller.session.rounds, self.controller.shown
        if shown is None:
            return
        answer, number = rounds.place(shown)
        count, named = len(answer.rounds), rounds.answer_name(answer)

        def go(text: str) -> None:
            typed = text.strip()
            chosen = int(typed) if typed.isdecimal() and len(typed) <= len(str(count)) else 0
            if not 1 <= chosen <= count:
                raise EngineError("bad_round", f"There is no round {typed[:20]!r}.", f"Type 1 to {count}.")
            self.controller.show(answer.first_round + chosen - 1)
            self.changed()

        title = f"Go to round of {named}" if named else "Go to round"
        self.push_screen(ValueScreen(title, str(number + 1), f"a number from 1 to {count}", go))

    def action_worst_round(self) -> None:
        """The round of the shown answer that drafted and yet wrote the fewest tokens; when one of these is
        shown, the next worst."""
        controller, viewpoint = self.controller, self.controller.viewpoint
        if (shown := controller.shown) is None:
            return
        answer, number = controller.session.rounds.place(shown)
        order = worst_first(answer.rounds.summaries)
        if not order:
            self.notify("No round of this answer drafted anything.", markup=False, timeout=3)
            return
        repeated = not viewpoint.following and viewpoint.why.startswith(WORST) and number in order
        worst = next_worst(order, number if repeated else None)
        if worst is not None:
            place = order.index(worst)
            controller.show(answer.first_round + worst, f"{WORST}, {place + 1} of {len(order)}")
        self.changed()

    def action_divergence(self) -> None:
        """The first round with a divergence; when that is shown, the next."""
        found = self.controller.session.overview.divergent
        if not found:
            self.notify(
                no_divergence(self.controller.shown_answer, self._how_to_compare()), markup=False, timeout=8
            )
            return
        shown = self.controller.shown
        place = found.index(shown) + 1 if shown in found else 0
        place %= len(found)
        self.controller.show(found[place], f"divergence {place + 1} of {len(found)}")
        self.changed()

    def _how_to_compare(self) -> str:
        if self.controller.checks:
            return f"{self.key_of('check_answer')} compares it."
        return "" if self.controller.playback is None else "To compare it: ddtree-tui check FILE"

    def action_play_rounds(self) -> None:
        """Play the rounds that are there, from the shown one on."""
        self.controller.toggle_player(self.now())
        self.changed()

    def action_change_speed(self, by: int) -> None:
        """Play slower or faster."""
        self.controller.change_speed(by, self.now())
        if not self.controller.player.playing and self.controller.playback is None:
            self.notify(f"Rounds play {speed_text(self.controller.player.speed)}", markup=False, timeout=2)
        self.changed()

    def action_toggle_hold(self) -> None:
        """Hold every round, or none."""
        self.controller.toggle_hold(self.now())
        if not self.controller.session.running and self.controller.playback is None:
            on = "Every round waits for Space or n." if self.controller.hold else "Rounds are not held."
            self.notify(on, markup=False, timeout=3)
        self.changed()

    def action_close_up(self) -> None:
        """Timeline of all rounds, or a bar each."""
        self.query_one(Timeline).toggle_close_up()

    def on_timeline_chosen(self, message: Timeline.Chosen) -> None:
        self.controller.show(message.index)
        self.changed()

    def on_timeline_turned(self, message: Timeline.Turned) -> None:
        self.controller.move(message.by, self.now())
        self.changed()
