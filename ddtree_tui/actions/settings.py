"""Turning knobs."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_tui.actions.base import Actions
from ddtree_tui.keys import Key
from ddtree_tui.widgets.knobs import SPECS, since, turned, value_text
from engine.errors import EngineError

KEYS = (
    Key("set.mode", "turn('mode', 1)", "mode: ar, chain, tree; from the next round", "", "f7", "m"),
    Key("set.budget", "edit('budget')", "budget: type it; from the next round", always="f8"),
    Key("set.budget_half", "turn('budget', -1)", "half the budget", free="minus"),
    Key("set.budget_twice", "turn('budget', 1)", "twice the budget", free="plus,equals_sign"),
    Key("set.thinking", "turn('thinking', 1)", "thinking on or off; from the next run", "", "f9", "t"),
    Key("set.temperature", "edit('temperature')", "temperature: type it; from the next run", free="T"),
)


class SettingActions(Actions):
    def tell_of_config(self, problems: Sequence[str]) -> None:
        """One notice for all that is wrong with the configuration."""
        if problems:
            told = " ".join(problems)
            source = str(self.options.config_path or "")
            where = "" if source in told else f"{source}: "
            self.controller.notices.append(f"{where}{told} Everything else holds.")

    def action_turn(self, name: str, by: int) -> None:
        """Turn a knob."""
        if self.controller.playback is None:
            self.attempt(lambda: self.controller.change(**turned(self.controller.settings, name, by)))

    def action_edit(self, name: str) -> None:
        """Type a value for a knob."""
        if self.controller.playback is not None:
            return
        from ddtree_tui.screens.value import ValueScreen

        spec = next(spec for spec in SPECS if spec.name == name)
        kind = int if name == "budget" else float

        def apply(text: str) -> None:
            try:
                value = kind(text)
            except ValueError:
                raise EngineError(
                    "bad_setting", f"{text!r} is no number.", f"The {name} is {spec.help}."
                ) from None
            self.controller.change(**{name: value})
            self.changed()

        value = value_text(self.controller.settings, name)
        self.push_screen(ValueScreen(f"{name}, {since(spec)}", value, spec.help, apply))

    def action_verify(self, backend: str) -> None:
        """Verify the next runs another way."""
        self.attempt(lambda: self.controller.change(verify=backend))
