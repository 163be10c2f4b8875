"""What the app does with a server in place of an engine of its own."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path

from ddtree_tui.answer import Answer
from ddtree_tui.attach.asking import ASKED, askable
from ddtree_tui.attach.connection import Reach
from ddtree_tui.attach.options import check_budget
from ddtree_tui.attach.remote_link import CANCELLED, RemoteLink
from ddtree_tui.attach.watching import GAP
from ddtree_tui.command_line import reported_load
from ddtree_tui.controller import Controller
from ddtree_tui.escape import fit
from ddtree_tui.plural import counted
from ddtree_tui.problem import Problem
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import setting
from ddtree_tui.watchdog import Watchdog
from engine.commands import SettingValue
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Prefilled
from engine.settings import DecodeSettings, LoadSettings, Message

MOST_ROUNDS = 20_000
"""Of what was watched; beyond, it is forgotten when the next request begins. The server lists it still."""
REASON_CELLS = 30
"""So much of the server's reason has room in the first line; all of it is told once, in passing."""
HELD = "view held, the server goes on"
LEFT = "remote_left"
"""The kind of the ``failed`` of a request whose end was not waited for."""
_TOLD_IN_PLACE = {CANCELLED, GAP, LEFT, "remote_missing"}
"""Failures that the text tells of where they are, which is enough."""


class RemoteController(Controller):
    """The requests of others are watched; those sent from here are a conversation of their own."""

    def __init__(self, settings: DecodeSettings, link: RemoteLink, *, log_path: Path | None = None) -> None:
        load = LoadSettings(model=link.model)
        super().__init__(askable(settings), engine=link, log_path=log_path, load=load)
        self.link = link
        self.place = link.client.address.authority
        self.watchdog = Watchdog(math.inf)  # a long silence may be another's prompt
        self._own: list[Answer] = []
        self._told: tuple[object, ...] = ()
        self._ailing: tuple[bool, bool] = (False, False)
        """Whether it was told that the server does not serve, and that it has failed."""

    # What is going on

    def offers(self, name: str) -> bool:
        return name in ASKED

    @property
    def checks(self) -> bool:
        return False

    @property
    def load(self) -> LoadSettings:
        loaded = self.session.loaded
        return reported_load(loaded) if loaded is not None else super().load

    @property
    def busy(self) -> bool:
        """Whether a prompt sent from here is under way."""
        asked = self.link.sent is not None or bool(self._own and not self._own[-1].over)
        return asked or self.waiting is not None

    @property
    def watching(self) -> bool:
        """Whether the request of somebody else is under way."""
        return self.session.running and not self.busy

    @property
    def expects(self) -> bool:
        shown = self.link.shown
        return self.link.follows or (shown is not None and not shown.over) or self.session.running

    @property
    def state(self) -> tuple[str, str]:
        connection = self.link.connection
        if connection.reach is Reach.LOST:
            seconds = max(0, math.ceil(connection.again_at - time.monotonic()))
            return f"connection lost, again in {seconds} s", "bad"
        if connection.reach is Reach.CONNECTING:
            return "connecting", "quiet"
        if connection.reason and (not self.busy or self.waiting is not None):
            return f"not serving: {fit(connection.reason, REASON_CELLS)}", "bad"
        if self.busy:
            return self._own_state()
        if self.session.phase is Phase.BROKEN:
            return "the server's engine has stopped", "bad"
        shown = self.link.shown
        if self.watching:
            behind = shown.behind if shown is not None else 0
            return (f"watching, {counted(behind, 'round')} behind" if behind else "watching"), "busy"
        if self.session.loaded is None:
            return "the server is starting", "quiet"
        if self.link.follows:
            return "waiting for a request", "quiet"
        return "ready", "busy"

    def _own_state(self) -> tuple[str, str]:
        sent = self.link.sent
        if self._stopping:
            return "stopping", "paused"
        if self.waiting is not None:
            return "the server is starting", "quiet"
        if sent is not None and sent.id is None:
            return "waiting for its turn", "paused"
        return "decoding", "busy"

    # What happens

    def tick(self, now: float) -> bool:
        self.notices += self.link.sentences()
        self._tell_health()
        changed = super().tick(now)
        there = self.session.phase in (Phase.READY, Phase.RUNNING)
        if self.waiting is not None and self.link.serves and there:
            prompt, self.waiting = self.waiting, None
            self.submit(prompt)
        told = (self.state, self.busy)
        changed = changed or told != self._told
        self._told = told
        return changed

    def _tell_health(self) -> None:
        """Whether the server serves, where that has changed; the first line says why in each moment."""
        connection = self.link.connection
        ailing = (bool(connection.reason), connection.failed)
        if connection.reach is not Reach.HEARD or ailing == self._ailing:
            return
        self._ailing = ailing
        told = (
            f"The server does not serve: {connection.reason}" if connection.reason else "The server serves."
        )
        self.notices.append(told)
        if connection.failed and self.waiting is not None:
            self.waiting = None
            self._not_served()

    def _not_served(self) -> None:
        reason = self.link.connection.reason
        message = f"The server does not serve: {reason}"
        self._problems.append(Problem("The prompt was not answered", message, log_path=self._log_path))

    def _apply(self, events: Sequence[AnyEvent]) -> None:
        for event in events:
            begins, own = isinstance(event, Prefilled), self.busy
            if begins and not own and self._too_much():
                self.session.forget_answers()
            super()._apply([event])
            if begins and own and self._own and self.session.answer is not self._own[-1]:
                self._own.append(self.session.answers[-1])  # goes on behind a gap

    def _too_much(self) -> bool:
        return self.viewpoint.following and len(self.session.rounds) > MOST_ROUNDS

    def _failed(self, event: Failed) -> None:
        own = bool(self._own) and self._own[-1].failed is event
        self.waiting = None
        self._run_is_over()
        if own and event.error not in _TOLD_IN_PLACE:
            title = "The prompt was not answered"
            self._problems.append(Problem(title, event.message, event.hint, self._log_path))

    # What the user does

    def watch(self, request: str | None) -> bool:
        """Watch one request from its beginning, or whatever runs; False while an own prompt is under way."""
        if self.busy:
            self.notices.append("Your prompt is being answered: Esc stops it.")
            return False
        self._leave()
        self.link.watch(request)
        self.show_newest()
        return True

    def submit(self, prompt: str, *, one_round: bool = False) -> bool:
        """Send a prompt; the conversation is that of the prompts sent from here."""
        if one_round:
            self.notices.append("The server does not stop between rounds: Enter sends the prompt.")
            return False
        if not prompt.strip() or self.busy:
            return False
        if self.link.connection.failed:
            self._not_served()
            return False
        if self.session.phase is Phase.LOADING or not self.link.serves:
            self.waiting = prompt
            return True
        if self.session.phase in (Phase.READY, Phase.RUNNING):
            self._leave()
        asked = len(self.session.answers)
        if not super().submit(prompt):
            return False
        if len(self.session.answers) > asked:
            self._own.append(self.session.answers[-1])
        return True

    @property
    def asked(self) -> Sequence[Answer]:
        return self._own

    def _conversation(self) -> list[Message]:
        return self.session.messages(self._own)

    def _leave(self) -> None:
        """The request of somebody else that is shown will not be watched to its end."""
        answer = self.session.answer
        if answer is not None and not answer.over:
            answer.failed = Failed(error=LEFT, message="Its end was not waited for.")
        if self.session.phase is Phase.RUNNING:
            self.session.phase = Phase.READY

    def stop(self) -> None:
        """Have the server end the answer under way, if it is to a prompt sent from here."""
        if self.busy:
            super().stop()
        elif self.watching:
            self.notices.append("Only whoever sent this request can stop it.")

    def new_conversation(self) -> None:
        self.waiting = None
        if self.busy:
            super().new_conversation()
        else:
            self._leave()
            self.link.rest()
            self.session.forget_answers()
            self._own.clear()
            self.show_newest()

    def _run_is_over(self) -> None:
        if self._clear_at_end:
            self._own.clear()
        super()._run_is_over()

    def toggle_pause(self, now: float) -> None:
        """Hold the view, or follow again: the server does not wait. Where nothing is under way, play."""
        if not self.session.running:
            self.toggle_player(now)
        elif self.viewpoint.following and self.shown is not None:
            self.show(self.shown, HELD)
        else:
            self.show_newest()

    def step(self) -> None:
        """Show the next round that is there."""
        self.viewpoint.move(1, len(self.session.rounds))

    def toggle_hold(self, now: float) -> None:
        self.notices.append("The server does not wait between rounds; Space holds the view.")

    def check(self, *, sequential: bool = False) -> bool:
        return False

    def start_race(self, prompt: str, lanes: Sequence[DecodeSettings]) -> bool:
        self.notices.append("A server decodes one way at a time. Race where the models are: ddtree-tui race")
        return False

    def change(self, **changes: SettingValue) -> None:
        """Change what the next prompt is asked with.

        Raises:
            EngineError: ``bad_setting`` for what is the server's too; nothing has changed then.
        """
        for name, value in changes.items():
            if not self.offers(name) and value != getattr(self.settings, name):
                raise EngineError(
                    "bad_setting",
                    f"The setting {setting(name).title} is the server's.",
                    "Start the server with another value.",
                )
        settings = self.settings
        check_budget(changes.get("budget", settings.budget), changes.get("auto_budget", settings.auto_budget))
        super().change(**changes)

    def reload(self, load: LoadSettings) -> None:
        raise EngineError(
            "bad_setting", "The models are the server's.", "Start the server with others: ddtree-tui serve"
        )

    def restart_engine(self) -> None:
        """Try to reach the server at once."""
        self.link.reconnect()
