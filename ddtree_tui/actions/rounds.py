"""Which round is shown."""

from __future__ import annotations

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key

KEYS = (
    Key(
        "round.back",
        "move_round(-1)",
        "show the round before; the run goes on",
        always="f3",
        free="left,left_square_bracket",
    ),
    Key(
        "round.forth",
        "move_round(1)",
        "show the round after",
        always="f4",
        free="right,right_square_bracket",
    ),
    Key("round.first", "first_round", "show the first round", "First round", free="home"),
    Key("round.newest", "follow", "follow the newest round again", "Newest round", "f5", "f,end"),
    Key("round.all", "play_all", "all of a recording at once", free="a"),
)


class RoundActions(Actions):
    def action_move_round(self, by: int) -> None:
        """Show the round before or after."""
        self.controller.move(by, self.now())
        self.changed()

    def action_first_round(self) -> None:
        """Show the first round."""
        self.controller.show(0)
        self.changed()

    def action_follow(self) -> None:
        """Show the newest round, and every one that comes."""
        self.controller.show_newest()
        self.changed()

    def action_play_all(self) -> None:
        """Let all of a recording come at once."""
        self.controller.play_all(self.now())
        self.changed()
