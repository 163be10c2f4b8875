"""What the app does, without a screen: commands go to the engine or the recording, events to the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from ddtree_tui.answer import Answer
from ddtree_tui.pair_choice import PairChoice
from ddtree_tui.playback import Playback
from ddtree_tui.problem import Problem, failure, silence
from ddtree_tui.race.course import Race
from ddtree_tui.race.steward import Steward
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import Limits, changed
from ddtree_tui.showing import SessionShowing
from ddtree_tui.watchdog import Watchdog
from engine.commands import (
    AnyCommand,
    Cancel,
    Check,
    Generate,
    MeasureMemory,
    Pause,
    Resume,
    Set,
    SettingValue,
    Step,
)
from engine.control import LIVE_SETTINGS
from engine.divergence import choices
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Finished, Loaded
from engine.settings import DecodeSettings, LoadSettings, Message


class Engine(Protocol):
    """What the controller needs of ``EngineLink``."""

    def start(self, load: LoadSettings | None = None) -> None: ...
    def send(self, command: AnyCommand) -> None: ...
    def drain(self) -> list[AnyEvent]: ...
    def problems(self) -> list[EngineError]: ...
    def stop(self) -> None: ...


class Controller(SessionShowing):
    """Exactly one of ``engine`` and ``playback`` is given.

    Attributes:
        settings: what the next run starts with; live ones also hold for the rounds to come.
        waiting: a prompt sent before the models were loaded.
        paused: the run waits between two rounds, or the recording's clock stands still.
        system: the message in front of every conversation, from the next run on.
        hold: the engine waits for the user before every round.
        steward: looks after races.
        listener: is told of every event once it is taken in.
        notices: sentences to be shown in passing; whoever shows them takes them out.
        place: where the engine is, unless it is here.
    """

    def __init__(
        self,
        settings: DecodeSettings,
        *,
        engine: Engine | None = None,
        playback: Playback | None = None,
        log_path: Path | None = None,
        load: LoadSettings | None = None,
        recent: Path | None = None,
    ) -> None:
        super().__init__(playback)
        self.settings = settings
        self.listener: Callable[[AnyEvent], object] | None = None
        self._pair = PairChoice(load or LoadSettings(), recent)
        self.waiting: str | None = None
        self.system: str | None = None
        self.steward = Steward(self._send, playback, self.tick)
        self.hold = False
        self._engine = engine
        self._log_path = log_path
        self.watchdog = Watchdog()
        self._paused = False
        self._stopping = False
        self._clear_at_end = False
        self._one_round = False
        self._problems: list[Problem] = []
        self.notices: list[str] = []
        self.place = ""

    # What is going on

    def offers(self, name: str) -> bool:
        """Whether that setting can be changed here."""
        return True

    @property
    def checks(self) -> bool:
        """Whether answers can be compared here with what the target alone writes."""
        return self._engine is not None

    @property
    def lists(self) -> bool:
        """Whether the engine is a server's whose requests can be listed."""
        return bool(self.place)

    @property
    def watching(self) -> bool:
        """Whether the run under way is somebody else's."""
        return False

    @property
    def asked(self) -> Sequence[Answer]:
        """The answers to prompts of this conversation that were sent from here."""
        return self.session.answers

    @property
    def expects(self) -> bool:
        """Whether something may come that nobody here has asked for."""
        return False

    @property
    def load(self) -> LoadSettings:
        """The pair that is loaded, or is being loaded."""
        return self._pair.load

    @property
    def race(self) -> Race | None:
        """The one under way, or the last one."""
        return self.steward.race

    @property
    def paused(self) -> bool:
        return not self._playback.playing if self._playback else self._paused

    @property
    def busy(self) -> bool:
        """Whether an answer or a race is under way, or a prompt waits for the models."""
        waits = self.session.running or self.waiting is not None
        return self._playback is None and (waits or self.steward.racing)

    @property
    def state(self) -> tuple[str, str]:
        """A word for the first line, and its style: quiet, busy, paused or bad."""
        if self._playback is not None:
            if self._playback.over:
                return "recording", "quiet"
            if self.hold:
                return "held before every round", "paused"
            return ("playing", "busy") if self._playback.playing else ("paused", "paused")
        if self.session.phase is Phase.BROKEN:
            return "engine stopped", "bad"
        if self.session.phase is Phase.LOADING:
            return "starting the engine", "quiet"
        if self.session.phase is Phase.READY:
            return ("ready, will hold every round" if self.hold else "ready"), "busy"
        if self._stopping:
            return "stopping", "paused"
        if self._paused:
            return ("held: Space decodes a round" if self.hold else "paused"), "paused"
        answer = self.session.answer
        return ("reading the prompt" if answer and answer.prefilled is None else "decoding"), "busy"

    def take_problems(self) -> list[Problem]:
        """What to tell since the last call."""
        taken, self._problems = self._problems, []
        return taken

    # What happens

    def tick(self, now: float) -> bool:
        """Take in the events that have come; whether anything has changed."""
        moved = self.play_on(now)
        if self.steward.showing is not None:
            moved = self.steward.showing.play_on(now) or moved
        if self._playback is not None:
            was_playing = self._playback.playing
            events = self._playback.due(now)
            self._apply(events)
            return bool(events) or was_playing or moved
        assert self._engine is not None
        events = self._engine.drain()
        self._apply(events)
        racing = self.steward.racing and not self.steward.paused
        waiting = racing or (self.session.running and not self._paused)
        if self.watchdog.look(now, waiting=waiting, heard=bool(events)):
            self._problems.append(silence(self.watchdog.patience, self._log_path))
        for error in self._engine.problems():
            if error.kind == "record":
                self.notices.append(f"{error.message} {error.hint}")
            else:
                self.tell("The trace has ended", error.message, error.hint)
        return bool(events) or bool(self._problems) or bool(self.notices) or moved

    def _apply(self, events: Sequence[AnyEvent]) -> None:
        for event in events:
            if self.steward.apply(event):
                continue
            self.session.apply(event)
            if self.listener is not None:
                self.listener(event)
            match event:
                case Loaded():
                    self._loaded(event)
                    if self.waiting is not None:
                        prompt, self.waiting = self.waiting, None
                        self.submit(prompt, one_round=self._one_round)
                case Finished():
                    self._run_is_over()
                    if self._engine is not None:
                        self._engine.send(MeasureMemory())
                case Failed() if self._playback is None:
                    self._failed(event)

    def _loaded(self, event: Loaded) -> None:
        if self._playback is not None:
            return  # what it allows is of no account
        mode = self._pair.loaded(event, self.settings.mode)
        if event.drafter is None and mode != self.settings.mode:
            self.notices.append("No drafter is loaded: the mode is ar, one token a round.")
        self.settings = msgspec.structs.replace(self.settings, mode=mode)

    def _failed(self, event: Failed) -> None:
        self.waiting = None
        self._run_is_over()
        broken, back = self.session.phase is Phase.BROKEN, self._pair.changed
        self._problems.append(failure(event, self._log_path, broken=broken, back=back))

    def _run_is_over(self) -> None:
        self._paused = self._stopping = False
        if self._clear_at_end:
            self._clear_at_end = False
            self.session.forget_answers()

    def _send(self, command: AnyCommand) -> None:
        if self._engine is not None:
            self._engine.send(command)

    def tell(self, title: str, message: str, hint: str = "") -> None:
        """Have a dialog say something."""
        self._problems.append(Problem(title, message, hint, self._log_path))

    # What the user does

    def submit(self, prompt: str, *, one_round: bool = False) -> bool:
        """Run a prompt, now or as soon as the models are loaded; False if it cannot be taken.

        ``one_round``: it starts paused and is let go for one round, so that no second one can slip in."""
        if self._engine is None or not prompt.strip() or self.busy:
            return False
        if self.session.phase is Phase.BROKEN:
            failed = self.session.failed
            message = failed.message if failed else "The engine does not run."
            hint = failed.hint if failed else ""
            self._problems.append(
                Problem("The engine does not run", message, hint, self._log_path, restart=True)
            )
            return False
        if self.session.phase is Phase.LOADING:
            self.waiting, self._one_round = prompt, one_round
            return True
        before = [*self._system_messages(), *self._conversation()]
        messages: list[Message] = [*before, {"role": "user", "content": prompt}]
        try:
            self.settings.check()
            paused = one_round or self.hold
            if self.session.comparing:  # of the answer before; the new one does not wait for it
                self._engine.send(Cancel())
            self._engine.send(Generate(messages=messages, settings=self.settings, paused=paused))
        except EngineError as error:
            self.tell("The prompt cannot be run", error.message, error.hint)
            return False
        self.session.ask(prompt, self.settings)
        self.show_newest()
        self._paused, self._stopping = self.hold, False
        if one_round:
            self.step()
        return True

    def _conversation(self) -> list[Message]:
        return self.session.messages()

    def _system_messages(self) -> list[Message]:
        return [{"role": "system", "content": self.system}] if self.system else []

    def stop(self) -> None:
        """End the answer before its next round, or take back a prompt that still waits."""
        self.waiting = None
        self.steward.stop()
        if self.session.running and self._engine is not None:
            self._stopping = True
            self._engine.send(Cancel())

    def check(self, *, sequential: bool = False) -> bool:
        """Have the oracle compare the shown answer; False if that cannot be now.

        Args:
            sequential: the target alone decodes it one token at a time.
        """
        answer = self.shown_answer
        if self._engine is None or self.busy or self.session.comparing:
            return False
        if answer is None or answer.prefilled is None or answer.finished is None:
            return False
        if answer.loaded is not self.session.loaded:
            self.notices.append("Another pair is loaded now; this answer is not its own.")
            return False
        _, chosen = choices([answer.prefilled, *answer.rounds])
        self._engine.send(
            Check(
                prompt_ids=answer.prefilled.prompt_ids,
                choices=chosen,
                settings=answer.settings,
                sequential=sequential,
            )
        )
        self.session.check(answer)
        return True

    def start_race(self, prompt: str, lanes: Sequence[DecodeSettings]) -> bool:
        """Race these lanes, without the conversation so far; False if that cannot be now."""
        loaded = self.session.loaded
        if self._engine is None or loaded is None or self.busy:
            return False
        messages: list[Message] = [*self._system_messages(), {"role": "user", "content": prompt}]
        try:
            self.steward.start(prompt, messages, lanes, loaded)
        except EngineError as error:
            self.tell("The prompt cannot be raced", error.message, error.hint)
            return False
        return True

    def toggle_pause(self, now: float) -> None:
        """Hold the run between two rounds, or let it go on; the same for the recording's clock. While every
        round is held, let one pass. Where nothing is under way, play what is there."""
        if self._playback is not None and not self._playback.over:
            if self.hold:
                self.move(1, now)
            elif self._playback.playing:
                self.tick(now)
                self._playback.pause(now)
            else:
                self.show_newest()
                self._playback.play(now)
        elif not self.session.running or self._engine is None:
            self.toggle_player(now)
        elif self.hold and self._paused:
            self.step()
        else:
            self._paused = not self._paused
            self._engine.send(Pause() if self._paused else Resume())

    def step(self) -> None:
        """Decode one round, then pause."""
        if self._engine is not None and self.session.running:
            self._paused = True
            self.show_newest()
            self._engine.send(Step())

    def toggle_hold(self, now: float) -> None:
        """Have the engine, or the recording, wait for the user before every round; or let it go again."""
        self.hold = not self.hold
        if self._playback is not None:
            if self.hold:
                self.tick(now)
                self._playback.pause(now)
            else:
                self._playback.play(now)
        elif self._engine is not None and self.session.running:
            self._paused = self.hold
            self._engine.send(Pause() if self.hold else Resume())

    def change(self, **changes: SettingValue) -> None:
        """Change settings: live ones from the next round on, the others from the next run on.

        Raises:
            EngineError: ``bad_setting``, ``no_drafter``; nothing has changed then.
        """
        settings = changed(self.settings, Limits.of(self.session.loaded), changes)
        live = {name: value for name, value in changes.items() if name in LIVE_SETTINGS}
        if live and self._engine is not None and self.session.running:
            self._engine.send(Set(settings=live))
        self.settings = settings

    def reload(self, load: LoadSettings) -> None:
        """Load other models, or the same elsewhere; text and rounds stay.

        Raises:
            EngineError: ``bad_setting``; nothing has changed then.
        """
        self._pair.take(load)
        self.restart_engine()

    def load_those_before(self) -> None:
        """Back to the models that were loaded before the last ``reload``."""
        if self._pair.back():
            self.restart_engine()

    def new_conversation(self) -> None:
        """Forget all answers; one that is under way is stopped first."""
        if self.session.running:
            self._clear_at_end = True
            self.stop()
        else:
            self.waiting = None
            self.session.forget_answers()
        self.show_newest()

    def restart_engine(self) -> None:
        """Start the engine anew; text and rounds stay."""
        if self._engine is None:
            return
        self.session.engine_restarted()
        self.steward.engine_restarted()
        self.waiting = None
        self._run_is_over()
        try:
            self._engine.start(self.load)
        except EngineError as error:
            self.session.apply(Failed(error=error.kind, message=error.message, hint=error.hint))
            self._problems.append(
                Problem("The engine does not start", error.message, error.hint, self._log_path, restart=True)
            )

    def shut_down(self) -> None:
        """End the engine, if there is one."""
        if self._engine is not None:
            self._engine.stop()
