"""The first line of a race."""

from __future__ import annotations

from ddtree_tui.escape import escape, fit
from ddtree_tui.race.course import Race
from ddtree_tui.widgets.painted import Lines, Span, spread


class RaceTitle(Lines):
    """What is raced, and on what."""

    ROLES = ("title", "prompt", "where", "state")
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
