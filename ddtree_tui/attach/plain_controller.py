"""What the app does with another program's server: prompts go there, and how it decodes is its own affair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ddtree_tui.attach.plain_link import PlainLink
from ddtree_tui.controller import Controller
from ddtree_tui.problem import Problem
from ddtree_tui.served import SETTINGS, name_of
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import setting
from ddtree_tui.watchdog import Watchdog
from engine.commands import SettingValue
from engine.errors import EngineError
from engine.events import Failed, Loaded
from engine.settings import DecodeSettings, LoadSettings


class PlainController(Controller):
    """Whatever such a server cannot do is said, and not sent."""

    def __init__(self, settings: DecodeSettings, link: PlainLink, *, log_path: Path | None = None) -> None:
        super().__init__(settings, engine=link, log_path=log_path, load=LoadSettings(model="a model"))
        self.link = link
        self.place = link.place
        self.watchdog = Watchdog(math.inf)  # others may be in front of us, and Esc stops it

    def offers(self, name: str) -> bool:
        """Whether that setting can be changed here."""
        return name in SETTINGS

    @property
    def checks(self) -> bool:
        """Whether answers can be compared here with what the target alone writes."""
        return False

    @property
    def lists(self) -> bool:
        """Whether the requests of others can be listed."""
        return False

    @property
    def state(self) -> tuple[str, str]:
        if self.session.phase is Phase.BROKEN:
            return "no server", "bad"
        word, kind = super().state
        return ("waiting for the server" if word == "reading the prompt" else word), kind

    def tick(self, now: float) -> bool:
        self.notices += self.link.notices()
        return super().tick(now)

    def _loaded(self, event: Loaded) -> None:
        self.settings = msgspec.structs.replace(self.settings, mode=event.mode or self.settings.mode)

    def _failed(self, event: Failed) -> None:
        self.waiting = None
        self._run_is_over()
        broken = self.session.phase is Phase.BROKEN
        title = "The server cannot be used" if broken else "The prompt was not answered"
        self._problems.append(Problem(title, event.message, event.hint, self._log_path, restart=broken))

    # What the user does

    def submit(self, prompt: str, *, one_round: bool = False) -> bool:
        """Have a prompt answered, after those before it."""
        if one_round:
            self._cannot("wait between rounds")
            return False
        return super().submit(prompt)

    def check(self, *, sequential: bool = False) -> bool:
        self._cannot("compare an answer with what the target alone writes")
        return False

    def start_race(self, prompt: str, lanes: Sequence[DecodeSettings]) -> bool:
        self._cannot("race")
        return False

    def toggle_pause(self, now: float) -> None:
        """Play what is there; an answer under way goes on."""
        if self.session.running:
            self._cannot("pause")
        else:
            self.toggle_player(now)

    def step(self) -> None:
        self._cannot("wait between rounds")

    def toggle_hold(self, now: float) -> None:
        self._cannot("wait between rounds")

    def change(self, **changes: SettingValue) -> None:
        """Change what the next prompt is asked with.

        Raises:
            EngineError: ``bad_setting``, also for what the server decides; nothing has changed then.
        """
        for name in changes:
            if not self.offers(name):
                raise EngineError(
                    "bad_setting",
                    f"{self._name} decides the {setting(name).title} itself.",
                    "It is chosen where the server is started.",
                )
        super().change(**changes)

    def reload(self, load: LoadSettings) -> None:
        raise EngineError(
            "bad_setting",
            f"{self._name} loads its models itself.",
            "To use another server, attach to that one.",
        )

    @property
    def _name(self) -> str:
        loaded = self.session.loaded
        return name_of(loaded.system if loaded is not None else "")

    def _cannot(self, what: str) -> None:
        self.notices.append(f"{self._name} cannot {what}.")
