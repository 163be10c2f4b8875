"""What every area's actions may use of the app."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.app import App

from ddtree_tui.config import Looks
from ddtree_tui.controller import Controller
from ddtree_tui.keys import Key, spelled
from ddtree_tui.options import AppOptions
from ddtree_tui.pace import Pace
from ddtree_tui.problem import Problem
from ddtree_tui.race.course import Race
from engine.errors import EngineError


class Actions(App[None]):
    """The app as its actions see it; ``ddtree_tui.playground`` is the whole of it."""

    controller: Controller
    options: AppOptions
    looks: Looks
    pace: Pace
    live: Controller | None = None
    """What runs behind a recording that was opened over it."""

    def changed(self) -> None:
        """The user changed something: show it at once, or as soon as there may be one more paint."""
        raise NotImplementedError

    def all_keys(self) -> tuple[Key, ...]:
        """All keys of the main screen, by area."""
        raise NotImplementedError

    def key_of(self, action: str) -> str:
        """The first key for an action, as it is printed on keyboards."""
        key = next(key for key in self.all_keys() if key.action == action)
        return spelled(",".join(key.all_keys()[:1]))

    def now(self) -> float:
        """Seconds of the clock that recordings, playing and the watchdog go by."""
        return time.monotonic()

    def submit(self, text: str, *, one_round: bool = False) -> None:
        """Run a prompt, and look at the tree."""
        raise NotImplementedError

    def action_focus_prompt(self) -> None:
        """Go to the prompt box."""
        raise NotImplementedError

    def leave_recording(self) -> None:
        """Back from a recording to the run it was opened over, if there is one."""
        raise NotImplementedError

    def export_race(self, race: Race) -> None:
        """Choose what to make of a race, and where to."""
        raise NotImplementedError

    def show_problems(self) -> None:
        """Open a dialog for each problem the controller has met."""
        raise NotImplementedError

    def open_dialog(self, problem: Problem) -> None:
        """Tell of a problem in a dialog."""
        raise NotImplementedError

    def change_looks(self, **changed: object) -> None:
        """Look different from now on, until the app ends."""
        raise NotImplementedError

    def attempt(self, change: Callable[[], None]) -> None:
        """Change a setting; a dialog says why it will not do."""
        try:
            change()
        except EngineError as error:
            self.open_dialog(Problem("The setting cannot be changed", error.message, error.hint))
        self.changed()
