"""One prompt in several ways, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_tui.actions.base import Actions
from ddtree_tui.escape import fit
from ddtree_tui.keys import Key
from ddtree_tui.race.lanes import PRESETS, read_lanes
from ddtree_tui.race.showing import RaceShowing
from ddtree_tui.widgets.prompt import PromptBox
from engine.settings import DecodeSettings

KEYS = (
    Key(
        "race.open",
        "race",
        "race: one prompt in several ways side by side",
        "Race",
        always="f10",
        free="R",
    ),
)
OTHERS = "others"
EXPLANATION = (
    (
        "A race",
        (
            "The prompt is decoded in several ways at once, the lanes, and their speeds and texts are "
            "compared. What a lane does not say is as in the settings; the conversation so far is no part "
            "of it."
        ),
    ),
    (
        "Lanes",
        (
            "ar: no drafting, one token a round; the others are compared with it. chain: the drafter's first "
            "choices alone. tree:64: a draft tree of 64 nodes. tree:auto: the budget of every round is "
            "chosen for speed. +thinking and -thinking behind a lane have it think first, or not."
        ),
    ),
)


class RaceActions(Actions):
    race_lanes = PRESETS["modes"]
    """The lanes that were typed last."""
    _shown_race: RaceShowing | None = None
    """Of a recording: the one that was opened by itself."""

    def action_race(self) -> None:
        """Choose the lanes, then race what is in the prompt box, or the last prompt. In a recording, show the
        race that it holds."""
        from ddtree_tui.screens.pick import Choice, PickScreen

        if self.controller.playback is not None and self.controller.race is not None:
            self._shown_race = None
            self.show_recorded_race()
            return
        prompt = self._prompt_to_race()
        if prompt is None:
            return
        choices = [Choice(name, name[0], name, lanes) for name, lanes in PRESETS.items()]
        choices.append(Choice(OTHERS, "o", OTHERS, "type them"))

        def chosen(name: str | None) -> None:
            if name == OTHERS:
                self._type_lanes(prompt)
            elif name is not None:
                self.attempt(lambda: self._race(prompt, read_lanes(name, self.controller.settings)))

        title = f"Race: {fit(' '.join(prompt.split()), 60)}"
        self.push_screen(PickScreen(title, choices, EXPLANATION), chosen)

    def _prompt_to_race(self) -> str | None:
        """The prompt, if there is one and nothing is in its way; else the user is told what is."""
        answer = self.controller.session.answer
        prompt = self.query_one(PromptBox).text.strip() or (answer.prompt if answer else "")
        if self.controller.playback is not None:
            problem = "A recording has no models to race."
        elif self.controller.place:
            problem = "A server answers one prompt at a time. Race where the models are: ddtree-tui race"
        elif self.controller.session.loaded is None:
            problem = "The models are not loaded."
        elif self.controller.busy:
            problem = "A run is under way: Esc stops it."
        elif not prompt:
            problem = "Type a prompt: it is what is raced."
        else:
            return prompt
        self.notify(problem, markup=False, timeout=3)
        return None

    def _type_lanes(self, prompt: str) -> None:
        from ddtree_tui.screens.value import ValueScreen

        typed: list[list[DecodeSettings]] = []

        def apply(text: str) -> None:
            typed.append(read_lanes(text, self.controller.settings))
            self.race_lanes = text

        def closed(_: None) -> None:
            if typed:
                self._race(prompt, typed[-1])

        explanation = (
            "ar, chain, tree, tree:BUDGET or tree:auto, parted by commas; +thinking or -thinking behind any"
        )
        self.push_screen(ValueScreen("Lanes of the race", self.race_lanes, explanation, apply), closed)

    def _race(self, prompt: str, lanes: Sequence[DecodeSettings]) -> None:
        from ddtree_tui.screens.race import RaceScreen

        if not self.controller.start_race(prompt, lanes):
            self.show_problems()
            return
        showing = self.controller.steward.showing
        assert showing is not None

        def left(what: str | None) -> None:
            if what == "again":
                self._race(prompt, lanes)

        self.push_screen(RaceScreen(showing, self.controller, self.export_race), left)

    def show_recorded_race(self) -> None:
        """Show a race of the recording that is open, once it comes to that."""
        controller, showing = self.controller, self.controller.steward.showing
        if controller.playback is None or showing is None or showing is self._shown_race:
            return
        if len(self.screen_stack) > 1:
            return
        from ddtree_tui.screens.race import RaceScreen

        self._shown_race = showing

        def left(_: str | None) -> None:
            if self.live is not None and not controller.session.answers:
                self.leave_recording()

        name = self.options.replay.name if self.options.replay is not None else ""
        self.push_screen(RaceScreen(showing, controller, self.export_race, name), left)
