"""Turning knobs, and the screen of all settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import asdict, replace

from ddtree_tui.actions.base import Actions
from ddtree_tui.budget import AUTO_HELP, budget_text, read_budget
from ddtree_tui.config_file import parsed
from ddtree_tui.doctor.ways import plantable
from ddtree_tui.keys import Key
from ddtree_tui.setting_list import Limits, Setting, Since, setting, turned, typed
from engine.faults.catalogue import FAULTS
from engine.settings import LoadSettings

KEYS = (
    Key("set.mode", "turn('mode', 1)", "mode: ar, chain, tree; from the next round", "", "f7", "m"),
    Key("set.budget", "edit('budget')", "budget: type it; from the next round", always="f8"),
    Key("set.budget_half", "turn('budget', -1)", "half the budget", free="minus"),
    Key("set.budget_twice", "turn('budget', 1)", "twice the budget", free="plus,equals_sign"),
    Key("set.thinking", "turn('thinking', 1)", "thinking on or off; from the next run", "", "f9", "t"),
    Key("set.temperature", "edit('temperature')", "temperature: type it; from the next run", free="T"),
    Key("set.all", "settings", "all settings, models and device", "All settings", "ctrl+g", "s"),
)

WITH_PROMPT = "from the next prompt"
"""All of a server's settings hold for whole requests."""


class SettingActions(Actions):
    wanted_load: LoadSettings | None = None
    """The models chosen on the settings screen and not yet loaded."""

    def tell_of_config(self, problems: Sequence[str]) -> None:
        """One notice for all that is wrong with the configuration."""
        if problems:
            told = " ".join(problems)
            source = str(self.options.config_path or "")
            where = "" if source in told else f"{source}: "
            self.controller.notices.append(f"{where}{told} Everything else holds.")

    # One setting

    @property
    def limits(self) -> Limits:
        """What the loaded pair allows."""
        return Limits.of(self.controller.session.loaded)

    @property
    def pending(self) -> frozenset[str]:
        """Settings that hold only after the models are loaded anew."""
        if self.wanted_load is None:
            return frozenset()
        loaded, wanted = asdict(self.controller.load), asdict(self.wanted_load)
        return frozenset(name for name, value in wanted.items() if value != loaded[name])

    def offers(self, setting: Setting) -> bool:
        """Whether it can be changed: of a server, what a prompt can be sent with."""
        return setting.since is Since.NOW or self.controller.offers(setting.name)

    def since(self, setting: Setting) -> str:
        """From when on a change of it holds."""
        prompts = self.controller.place and setting.since in (Since.ROUND, Since.RUN)
        return WITH_PROMPT if prompts else setting.since.value

    def value(self, setting: Setting) -> Any:
        """A setting's value, as it was last chosen."""
        sources = {
            "decode": self.controller.settings,
            "models": self.wanted_load or self.controller.load,
            "looks": self.looks,
        }
        return getattr(sources[setting.field.section], setting.name)

    def change(self, setting: Setting, value: Any) -> None:
        """Change a setting.

        Raises:
            EngineError: if the value will not do; nothing has changed then.
        """
        if setting.since is Since.NOW:
            self.change_looks(**{setting.name: value})
        elif setting.since is Since.LOAD:
            wanted = replace(self.wanted_load or self.controller.load, **{setting.name: value})
            wanted.check()
            self.wanted_load = wanted
        else:
            self.controller.change(**{setting.name: list(value) if isinstance(value, tuple) else value})
        self.changed()

    def action_turn(self, name: str, by: int = 1) -> None:
        """Turn a knob."""
        if self.controller.playback is None:
            knob = setting(name)
            self.attempt(lambda: self.change(knob, turned(knob, self.value(knob), by, self.limits)))

    def action_edit(self, name: str) -> None:
        """Type a value for a knob; of a model, pick one on the settings screen."""
        if self.controller.playback is not None:
            return
        knob = setting(name)
        if knob.since is Since.LOAD:
            self.action_settings(name)
            return
        from ddtree_tui.screens.value import ValueScreen

        def apply(text: str) -> None:
            if name == "budget":
                self.controller.change(**read_budget(text))
                self.changed()
            else:
                self.change(knob, parsed(knob.field, text))

        value, help_ = typed(knob, self.value(knob)), knob.field.help
        if name == "budget":
            settings = self.controller.settings
            value, help_ = budget_text(settings.budget, settings.auto_budget), f"{help_}; {AUTO_HELP}"
        heading = f"{knob.title}, {self.since(knob)} on"
        self.push_screen(ValueScreen(heading, value, help_, apply))

    def action_verify(self, backend: str) -> None:
        """Verify the next runs another way."""
        self.attempt(lambda: self.controller.change(verify=backend))

    def action_plant(self) -> None:
        """Pick a fault to plant in the next runs; one that is planted is removed."""
        from ddtree_tui.screens.picker import Choice, PickerScreen

        settings, loaded = self.controller.settings, self.controller.session.loaded
        planted = settings.inject
        choices = [
            Choice(name, f"{'▲' if name in planted else ' '} {name}", fault.plants)
            for name, fault in FAULTS.items()
            if loaded is None or name in planted or plantable(name, settings, loaded)
        ]

        def take(name: str | None) -> None:
            if name:
                left = tuple(other for other in planted if other != name)
                self._inject(left if name in planted else (*planted, name))

        help_ = "From the next run on. One marked ▲ is planted: picking it removes it."
        self.push_screen(PickerScreen("Plant a fault", help_, "", choices), take)

    def action_remove_faults(self) -> None:
        """Decode the next runs without faults."""
        self._inject(())

    def _inject(self, names: tuple[str, ...]) -> None:
        self.attempt(lambda: self.change(setting("inject"), names))

    # All of them

    def action_settings(self, at: str | None = None) -> None:
        """The screen of all settings."""
        if self.controller.playback is not None:
            return
        from ddtree_tui.screens.settings import SettingsScreen

        self.wanted_load = None
        screen = SettingsScreen(self)
        self.push_screen(screen)
        if at is not None:
            self.call_later(screen.focus_on, at)

    def pick(self, setting: Setting, done: Callable[[], None]) -> None:
        """Let the user pick a model; ``done`` is called when one has been taken."""
        from ddtree_tui.model_choices import choices_for
        from ddtree_tui.screens.picker import PickerScreen

        def picked(text: str | None) -> None:
            if text is None:
                return
            changed = choices.taken(text, self.wanted_load or self.controller.load)
            self.attempt(lambda: self._want(changed))
            done()

        choices = choices_for(setting.name)
        value = typed(setting, self.value(setting))
        self.push_screen(PickerScreen(setting.title, choices.help, value, choices.all), picked)

    def _want(self, load: LoadSettings) -> None:
        load.check()
        self.wanted_load = load

    def reload(self) -> None:
        """Load the models chosen, after a question."""
        if not self.controller.offers("model"):
            return
        from ddtree_tui.screens.confirm import ConfirmScreen

        load = self.wanted_load or self.controller.load
        drafter = f", drafter {load.drafter}" if load.drafter else ""
        stops = "The run under way ends. " if self.controller.busy else ""
        question = ConfirmScreen(
            f"Load {load.model}{drafter} on {load.device}?",
            f"{stops}The engine starts anew; text and rounds stay.",
            "Load",
        )

        def answered(yes: bool | None) -> None:
            if not yes:
                return
            self.wanted_load = None
            self.attempt(lambda: self.controller.reload(load))
            while len(self.screen_stack) > 1 and not self.screen.is_modal:
                self.pop_screen()
            self.show_problems()

        self.push_screen(question, answered)
