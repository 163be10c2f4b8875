"""The terminal app: draws what the controller knows and turns keys into what it does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
import traceback
from collections.abc import Iterable

from msgspec.structs import replace
from rich.text import Text
from textual.app import ComposeResult, SystemCommand
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from ddtree_tui.actions import keep, looks, rounds, runs, settings, tree
from ddtree_tui.actions.chat import KEYS as CHAT_KEYS
from ddtree_tui.actions.chat import ChatActions
from ddtree_tui.actions.doctor import KEYS as DOCTOR_KEYS
from ddtree_tui.actions.doctor import DoctorActions
from ddtree_tui.actions.keep import KeepActions
from ddtree_tui.actions.looks import LookActions
from ddtree_tui.actions.numbers import KEYS as NUMBER_KEYS
from ddtree_tui.actions.numbers import NumberActions
from ddtree_tui.actions.oracle import KEYS as ORACLE_KEYS
from ddtree_tui.actions.oracle import OracleActions
from ddtree_tui.actions.race import KEYS as RACE_KEYS
from ddtree_tui.actions.race import RaceActions
from ddtree_tui.actions.requests import KEYS as REQUEST_KEYS
from ddtree_tui.actions.requests import RequestActions
from ddtree_tui.actions.rounds import RoundActions
from ddtree_tui.actions.runs import RunActions
from ddtree_tui.actions.settings import SettingActions
from ddtree_tui.actions.time import KEYS as TIME_KEYS
from ddtree_tui.actions.time import TimeActions
from ddtree_tui.actions.transcript import KEYS as TEXT_KEYS
from ddtree_tui.actions.transcript import TranscriptActions
from ddtree_tui.actions.tree import TreeActions
from ddtree_tui.alarm import alarm
from ddtree_tui.controller import Controller
from ddtree_tui.escape import escape
from ddtree_tui.examples import examples
from ddtree_tui.first_line import first_line
from ddtree_tui.hints import Situation, hints
from ddtree_tui.keymap import laid_over, renamed
from ddtree_tui.keys import Key, dialog_safe
from ddtree_tui.later import later
from ddtree_tui.options import AppOptions
from ddtree_tui.palette import commands
from ddtree_tui.problem import Problem
from ddtree_tui.screens.live import LiveScreen
from ddtree_tui.screens.palette import Palette
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.screens.sized import SizedScreen
from ddtree_tui.served import known_of
from ddtree_tui.theme import THEMES, role_defaults
from ddtree_tui.unknown import known_settings
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.finding_line import FindingLine
from ddtree_tui.widgets.key_bar import KeyBar
from ddtree_tui.widgets.knobs import Knob, Knobs
from ddtree_tui.widgets.prompt import PromptBox
from ddtree_tui.widgets.replay_bar import Progress, ReplayBar
from ddtree_tui.widgets.run_view import RunView
from ddtree_tui.widgets.top_line import TopLine
from ddtree_tui.widgets.transcript import Transcript
from ddtree_tui.widgets.tree_search import SearchInput
from ddtree_tui.widgets.waiting import MODELS, SERVER, Waiting
from ddtree_tui.widgets.welcome import Welcome

SETTLE_SECONDS = 0.004
"""Widgets say through messages what is to be redrawn; this is how long they are waited for."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
KEYS = (
    *runs.KEYS,
    *rounds.KEYS,
    *TIME_KEYS,
    *settings.KEYS,
    *tree.KEYS,
    *TEXT_KEYS,
    *CHAT_KEYS,
    *keep.KEYS,
    *REQUEST_KEYS,
    *NUMBER_KEYS,
    *RACE_KEYS,
    *DOCTOR_KEYS,
    *ORACLE_KEYS,
    *looks.KEYS,
    Key("app.commands", "command_palette", "all commands", always="ctrl+p", in_dialogs=True),
    Key("app.quit", "quit", "quit", "Quit", "ctrl+q", in_dialogs=True),
)
MAIN_SCREEN_ACTIONS = frozenset(key.action.partition("(")[0] for key in KEYS) - dialog_safe(KEYS)
"""Actions that make no sense while a dialog is open."""
log = logging.getLogger("ddtree_tui")


class PlaygroundApp(
    RunActions,
    RoundActions,
    TimeActions,
    SettingActions,
    TreeActions,
    TranscriptActions,
    ChatActions,
    RequestActions,
    KeepActions,
    NumberActions,
    RaceActions,
    DoctorActions,
    OracleActions,
    LookActions,
):
    """One main screen. ``controller`` runs the engine or the recording; ``options`` says how to start."""

    TITLE = "ddtree"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall")]
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS = [binding for key in KEYS for binding in key.bindings()]

    def __init__(self, controller: Controller, options: AppOptions) -> None:
        self.looks = options.config.looks  # Textual asks for its filters from the start
        super().__init__()
        self.controller = controller
        self.options = options
        self.paints = 0
        self._dirty = True
        self._alarm = ""
        self._told: Situation | None = None
        self._prompt_to_send = options.prompt
        self._keymap_in_force = laid_over(KEYS, options.config.keys)
        self.set_keymap(dict(self._keymap_in_force.bindings))
        for theme in THEMES.values():
            self.register_theme(theme)
        if self.no_color:  # the environment asks for it
            self.looks = replace(self.looks, colour=False)
        self.apply_looks()
        self.tell_of_config([*options.problems, *self._keymap_in_force.problems])

    # Screen

    def get_default_screen(self) -> Screen[None]:
        """The main screen, under all others."""
        return SizedScreen(id="_default")

    def action_command_palette(self) -> None:
        """Show the command palette."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def compose(self) -> ComposeResult:
        """From the top line to the keys."""
        yield TopLine(id="top-line")
        yield Static(id="wrong", markup=False)
        yield Welcome(examples(self.options.load.model), id="welcome")
        yield RunView(id="run")
        recorded, sent = self.controller.playback is not None, bool(self.controller.place)
        yield Knobs(id="knobs", recorded=recorded, sent=sent)
        yield FindingLine(id="finding")
        yield Waiting(id="waiting")
        with Horizontal(id="ask"):
            yield Static("❯ ", id="ask-sign", markup=False)
            yield PromptBox(examples(self.options.load.model), id="prompt")
        yield ReplayBar(id="replay-bar")
        yield KeyBar(id="keys")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return role_defaults(self.current_theme.dark)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):  # not the main thread
                loop.add_signal_handler(number, self._ended_by, number)
        if self.controller.playback is None:
            self.query_one(PromptBox).focus()
        else:
            self.query_one(DraftTreeView).focus()
            self.controller.playback.play(self.now())
        if self.looks.layout != "auto":
            self.query_one(DraftTreeView).look.arrangement = self.looks.layout
        self.watch(self.screen, "focused", self._focus_moved, init=False)
        self.screen.screen_layout_refresh_signal.subscribe(self, self._layout_changed)
        self._mark_state(self.screen)
        self.call_next(self._tick)

    def _mark_state(self, main: Screen[object]) -> None:
        """Classes the style sheet goes by: is the first screen shown, can the text be wrong."""
        session = self.controller.session
        answers = session.answers
        told = alarm(self.controller.settings, session.hybrid)
        told = told or next((answer.alarm for answer in reversed(answers) if answer.wrong), "")
        main.set_class(bool(told), "-wrong")
        if told and told != self._alarm:
            self._alarm = told
            main.query_one("#wrong", Static).update(f" {told}: the text is not the target's own ")
        recorded = self.controller.playback is not None
        main.set_class(not answers and not recorded, "-empty")
        main.set_class(recorded, "-recorded")

    def _layout_changed(self, screen: Screen[object]) -> None:
        """A layout, as when a scroll bar appears, redraws by itself: that counts among the paints."""
        self.pace.painted(time.monotonic())

    def _focus_moved(self) -> None:
        self.changed()

    def _ended_by(self, number: int) -> None:
        self.exit(return_code=128 + number)

    # The one clock

    async def _tick(self) -> None:
        """Take in events and paint the newest state, as often as ``Pace`` allows."""
        if not self.is_running:
            return
        now = time.monotonic()
        if now >= self.pace.news_at():
            if self.live is not None:
                self.live.tick(self.now())
            was_busy = self.controller.busy
            if self.controller.tick(self.now()):
                self._dirty = True
            if was_busy and not self.controller.busy:
                self.call_later(self._run_is_over)  # behind the focus, which may still be on its way
            if self._prompt_to_send is not None:
                self.controller.submit(self._prompt_to_send)
                self._prompt_to_send = None
            self.show_problems()
            self._close_what_is_over()
            self.show_recorded_race()
            if self._dirty:
                self.pace.painted(now)
                await self._paint_at_once()
        wait = max(self.pace.news_at(), now + self.pace.gap) - time.monotonic()
        later(self, max(0.001, wait), self._tick)

    def _close_what_is_over(self) -> None:
        """An engine that answers again needs no decision."""
        screen = self.screen
        if isinstance(screen, ProblemScreen) and screen.problem.wait and not self.controller.watchdog.barked:
            screen.dismiss("answers")

    def _run_is_over(self) -> None:
        """Back to the prompt box, unless the user is looking at something. A prompt that could not be taken
        is there again, to be changed."""
        answer, box = self.controller.session.answer, self.screen_stack[0].query_one(PromptBox)
        if answer is not None and answer.failed is not None and answer.prefilled is None and not box.text:
            box.text = answer.prompt
            box.move_cursor(box.document.end)
        watching = isinstance(self.screen_stack[0].focused, DraftTreeView)
        if watching and self.controller.viewpoint.following:
            self.action_focus_prompt()

    def changed(self) -> None:
        """The user changed something: show it at once, or as soon as there may be one more paint."""
        self._dirty = True
        wait = self.pace.user_at() - time.monotonic()
        if wait <= 0:
            self.call_next(self._paint_for_user)
        else:
            later(self, wait, self._paint_for_user)

    async def _paint_for_user(self) -> None:
        now = time.monotonic()
        if self._dirty and now >= self.pace.user_at():
            self.pace.painted(now, for_user=True)
            await self._paint_at_once()

    async def _paint_at_once(self) -> None:
        """Paint; whatever the widgets want to redraw goes to the terminal in one piece."""
        if not self.is_running:
            return
        with self.batch_update():
            self._paint(self.now())
            await asyncio.sleep(SETTLE_SECONDS)
        for screen in self.screen_stack:
            screen.check_idle()

    def _paint(self, now: float) -> None:
        self._dirty = False
        self.paints += 1
        main = self.screen_stack[0]
        if not main.is_mounted:
            return
        controller, session = self.controller, self.controller.session
        told = session.answer if controller.playback is not None else None
        running = told.settings if told is not None else controller.settings
        known = known_settings(told.prefilled) if told is not None else known_of(session.loaded)
        main.query_one(TopLine).show(first_line(controller))
        self._mark_state(main)
        main.query_one(RunView).show(
            session,
            controller.viewpoint,
            controller.player,
            detail=controller.settings.detail if controller.playback is None else None,
        )
        main.query_one(FindingLine).show(
            session.findings_of(controller.shown_answer), self.key_of("diagnose")
        )
        main.query_one(Waiting).show(controller.waiting, SERVER if controller.place else MODELS)
        main.query_one(Knobs).show(running, known, disabled=controller.playback is not None)
        if controller.playback is not None:
            self._paint_replay(main, now)
        situation = self._situation(main)
        if situation != self._told:
            self._told = situation
            main.query_one(KeyBar).show(tuple(renamed(hints(situation), KEYS, self.all_keys())))
        for screen in self.screen_stack[1:]:
            if isinstance(screen, LiveScreen):
                screen.show(controller)

    def _paint_replay(self, main: Screen[object], now: float) -> None:
        controller, replay = self.controller, self.options.replay
        playback = controller.playback
        assert playback is not None
        main.query_one(ReplayBar).show(
            Progress(
                replay.name if replay else "",
                playback.position(now),
                playback.duration,
                playback.playing,
                playback.over,
                controller.player.speed,
            )
        )

    def _situation(self, main: Screen[object]) -> Situation:
        controller, server = self.controller, self.live or self.controller
        return Situation(
            typing=isinstance(main.focused, PromptBox),
            busy=controller.busy,
            paused=controller.paused,
            replay=controller.playback is not None,
            rounds=bool(controller.session.rounds),
            looking_back=not controller.viewpoint.following,
            on_knob=isinstance(main.focused, Knob),
            on_switch=isinstance(main.focused, Knob) and main.focused.setting.is_switch,
            searching=isinstance(main.focused, SearchInput),
            pointing=isinstance(main.focused, DraftTreeView) and main.focused.look.cursor is not None,
            over_a_run=self.live is not None,
            held=controller.hold,
            reading=isinstance(main.focused, Transcript),
            raced=controller.playback is not None and controller.race is not None,
            attached=server.lists,
            theirs=bool(server.place) and not server.lists,
            watching=controller.watching,
        )

    # What the user does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the main screen do nothing while a dialog is open."""
        return action not in MAIN_SCREEN_ACTIONS or len(self.screen_stack) == 1

    def all_keys(self) -> tuple[Key, ...]:
        return self._keymap_in_force.keys

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        return commands(self)

    # Messages of the widgets

    def on_prompt_box_submitted(self, message: PromptBox.Submitted) -> None:
        self.submit(message.text)

    def on_welcome_picked(self, message: Welcome.Picked) -> None:
        self.submit(message.prompt)

    def on_knob_turned(self, message: Knob.Turned) -> None:
        self.action_turn(message.name, message.by)

    def on_knob_edit(self, message: Knob.Edit) -> None:
        self.action_edit(message.name)

    # Problems and the end

    def show_problems(self) -> None:
        for problem in self.controller.take_problems():
            self.open_dialog(problem)
        while self.controller.notices:
            self.notify(escape(self.controller.notices.pop(0)), severity="warning", timeout=10, markup=False)

    def open_dialog(self, problem: Problem) -> None:
        def answered(answer: str | None) -> None:
            if answer == "restart":
                self.action_restart_engine()
            elif answer == "back":
                self.controller.load_those_before()
                self.changed()
            elif problem.wait and answer in ("wait", "close"):
                self.controller.watchdog.wait_longer(self.now())
            elif answer == "quit":
                self.exit()

        self.push_screen(ProblemScreen(problem), answered)

    def _fatal_error(self) -> None:
        """A defect of the app: a sentence and the log, the traceback itself with --debug."""
        details = traceback.format_exc()
        with contextlib.suppress(OSError), self.options.log_path.open("a") as file:
            file.write(details)
        if self.options.debug:
            super()._fatal_error()
            return
        self.bell()
        self._exit_renderables.append(
            Text(f"ddtree-tui: the app has failed. Please report it with the log: {self.options.log_path}")
        )
        self._close_messages_no_wait()
