"""The terminal app: draws what the controller knows and turns keys into what it does."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
import traceback
from collections.abc import Callable, Iterable

from rich.text import Text
from textual.app import App, ComposeResult, SystemCommand
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import Static

from ddtree_tui.controller import Controller, Problem
from ddtree_tui.examples import examples
from ddtree_tui.hints import Situation, hints
from ddtree_tui.keys import BINDINGS, MAIN_SCREEN_ACTIONS
from ddtree_tui.options import AppOptions
from ddtree_tui.pace import GAP_SECONDS, Pace
from ddtree_tui.palette import commands
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.theme import DARK, LIGHT, role_defaults
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.key_bar import KeyBar
from ddtree_tui.widgets.knobs import SPECS, Knob, Knobs, since, turned, value_text
from ddtree_tui.widgets.prompt import PromptBox
from ddtree_tui.widgets.replay_bar import Progress, ReplayBar
from ddtree_tui.widgets.round_heading import WRONG
from ddtree_tui.widgets.run_view import RunView
from ddtree_tui.widgets.timeline import Timeline
from ddtree_tui.widgets.top_line import Status, TopLine
from ddtree_tui.widgets.welcome import Welcome
from engine.errors import EngineError

SETTLE_SECONDS = 0.004
"""Widgets say through messages what is to be redrawn; this is how long they are waited for."""
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
log = logging.getLogger("ddtree_tui")


class PlaygroundApp(App[None]):
    """One main screen. ``controller`` runs the engine or the recording; ``options`` says how to start."""

    TITLE = "ddtree"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (32, "-tall")]
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS = [*BINDINGS]

    def __init__(self, controller: Controller, options: AppOptions) -> None:
        super().__init__()
        self.controller = controller
        self.options = options
        self.paints = 0
        self._dirty = True
        self._pace = Pace()
        self._prompt_to_send = options.prompt
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self.theme = DARK.name

    # Screen

    def compose(self) -> ComposeResult:
        """From the top line to the keys."""
        yield TopLine(id="top-line")
        yield Static(f" {WRONG}: on such targets the text is not the target's own ", id="wrong", markup=False)
        yield Welcome(examples(self.options.load.model), id="welcome")
        yield RunView(id="run")
        yield Knobs(id="knobs", recorded=self.controller.playback is not None)
        if self.controller.playback is None:
            with Horizontal(id="ask"):
                yield Static("❯ ", id="ask-sign", markup=False)
                yield PromptBox(examples(self.options.load.model), id="prompt")
        else:
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
            self.controller.playback.play(time.monotonic())
        self.watch(self.screen, "focused", self._focus_moved, init=False)
        self.screen.screen_layout_refresh_signal.subscribe(self, self._layout_changed)
        self._mark_state(self.screen)
        self.call_next(self._tick)

    def _mark_state(self, main: Screen[object]) -> None:
        """Classes the style sheet goes by: is the first screen shown, can the text be wrong."""
        session = self.controller.session
        answers = session.answers
        naive = self.controller.settings.verify == "naive"
        wrong = (naive and session.hybrid) or any(answer.wrong for answer in answers)
        main.set_class(wrong, "-wrong")
        main.set_class(not answers and self.controller.playback is None, "-empty")

    def _layout_changed(self, screen: Screen[object]) -> None:
        """A layout, as when a scroll bar appears, redraws by itself: that counts among the paints."""
        self._pace.painted(time.monotonic())

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
        if now >= self._pace.news_at():
            was_busy = self.controller.busy
            if self.controller.tick(now):
                self._dirty = True
            if was_busy and not self.controller.busy:
                self._run_is_over()
            if self._prompt_to_send is not None:
                self.controller.submit(self._prompt_to_send)
                self._prompt_to_send = None
            self._show_problems()
            if self._dirty:
                self._pace.painted(now)
                await self._paint_at_once()
        wait = max(self._pace.news_at(), now + GAP_SECONDS) - time.monotonic()
        self.set_timer(max(0.001, wait), self._tick)

    def _run_is_over(self) -> None:
        """Back to the prompt box, unless the user is looking at something."""
        watching = isinstance(self.screen_stack[0].focused, DraftTreeView)
        if watching and self.controller.viewpoint.following:
            self.action_focus_prompt()

    def changed(self) -> None:
        """The user changed something: show it at once, or as soon as there may be one more paint."""
        self._dirty = True
        wait = self._pace.user_at() - time.monotonic()
        if wait <= 0:
            self.call_next(self._paint_for_user)
        else:
            self.set_timer(wait, self._paint_for_user)

    async def _paint_for_user(self) -> None:
        now = time.monotonic()
        if self._dirty and now >= self._pace.user_at():
            self._pace.painted(now, for_user=True)
            await self._paint_at_once()

    async def _paint_at_once(self) -> None:
        """Paint; whatever the widgets want to redraw goes to the terminal in one piece."""
        if not self.is_running:
            return
        with self.batch_update():
            self._paint(time.monotonic())
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
        state, kind = controller.state
        answer = session.answer
        running = (
            answer.settings if answer is not None and controller.playback is not None else controller.settings
        )
        mode = f"tree {running.budget}" if running.mode == "tree" else running.mode
        model = session.loaded.target.name if session.loaded else self.options.load.model
        if controller.playback is not None and session.loaded is None:
            model = "recorded run"
        main.query_one(TopLine).show(Status(model, session.loaded, session.loading, mode, state, kind))
        self._mark_state(main)
        main.query_one(RunView).show(session, controller.viewpoint)
        main.query_one(Knobs).show(running, disabled=controller.playback is not None)
        if controller.playback is not None:
            self._paint_replay(main, now)
        main.query_one(KeyBar).show(hints(self._situation(main)))

    def _paint_replay(self, main: Screen[object], now: float) -> None:
        playback, replay = self.controller.playback, self.options.replay
        assert playback is not None
        main.query_one(ReplayBar).show(
            Progress(
                replay.name if replay else "",
                playback.position(now),
                playback.duration,
                playback.playing,
                playback.over,
            )
        )

    def _situation(self, main: Screen[object]) -> Situation:
        controller = self.controller
        return Situation(
            typing=isinstance(main.focused, PromptBox),
            busy=controller.busy,
            paused=controller.paused,
            replay=controller.playback is not None,
            rounds=bool(controller.session.rounds),
            looking_back=not controller.viewpoint.following,
            on_knob=isinstance(main.focused, Knob),
        )

    # What the user does

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys of the main screen do nothing while a dialog is open."""
        return action not in MAIN_SCREEN_ACTIONS or len(self.screen_stack) == 1

    def action_stop(self) -> None:
        """Stop the run; when nothing runs, leave the prompt box."""
        if self.controller.busy:
            self.controller.stop()
            self.changed()
        elif isinstance(self.focused, PromptBox) and self.controller.session.rounds:
            self.query_one(DraftTreeView).focus()

    def action_pause(self) -> None:
        """Pause or go on; in a recording, play or pause."""
        self.controller.toggle_pause(time.monotonic())
        self.changed()

    def action_step_round(self) -> None:
        """Decode one round; from an idle prompt box, start its prompt with one round."""
        if self.controller.playback is not None:
            self.controller.move(1, time.monotonic())
        elif self.controller.session.running:
            self.controller.step()
        elif isinstance(self.focused, PromptBox) and self.focused.text.strip():
            self._submit(self.focused.text, one_round=True)
        self.changed()

    def action_move_round(self, by: int) -> None:
        """Show the round before or after."""
        self.controller.move(by, time.monotonic())
        self.changed()

    def action_first_round(self) -> None:
        """Show the first round."""
        self.controller.viewpoint.choose(0, len(self.controller.session.rounds))
        self.changed()

    def action_follow(self) -> None:
        """Show the newest round, and every one that comes."""
        self.controller.viewpoint.follow()
        self.changed()

    def action_play_all(self) -> None:
        """Let all of a recording come at once."""
        self.controller.play_all(time.monotonic())
        self.changed()

    def action_turn(self, name: str, by: int) -> None:
        """Turn a knob."""
        if self.controller.playback is None:
            self._change(lambda: self.controller.change(**turned(self.controller.settings, name, by)))

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

    def action_unfold(self) -> None:
        """Show every node of the tree, or fold it to its height again."""
        self.query_one(DraftTreeView).toggle_unfolded()
        self.changed()

    def action_zoom(self) -> None:
        """All, only the tree, only the text."""
        self.query_one(RunView).zoom()

    def action_focus_prompt(self) -> None:
        """Go to the prompt box."""
        for prompt in self.query(PromptBox):
            prompt.focus()

    def action_new_conversation(self) -> None:
        """Forget the conversation."""
        if self.controller.playback is None:
            self.controller.new_conversation()
            self.action_focus_prompt()
            self.changed()

    def action_toggle_theme(self) -> None:
        """Light or dark."""
        self.theme = LIGHT.name if self.current_theme.dark else DARK.name

    def action_help(self) -> None:
        """Keys and glyphs."""
        from ddtree_tui.screens.help import HelpScreen

        self.push_screen(HelpScreen())

    def action_copy_answer(self) -> None:
        """Put the newest answer on the clipboard."""
        answer = self.controller.session.answer
        if answer is not None and answer.text is not None:
            self.copy_to_clipboard(answer.text.answer)

    def action_verify(self, backend: str) -> None:
        """Verify the next runs another way."""
        self._change(lambda: self.controller.change(verify=backend))

    def action_restart_engine(self) -> None:
        """End the engine and start it anew."""
        self.controller.restart_engine()
        self.changed()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        return commands(self)

    # Messages of the widgets

    def on_prompt_box_submitted(self, message: PromptBox.Submitted) -> None:
        self._submit(message.text)

    def on_welcome_picked(self, message: Welcome.Picked) -> None:
        self._submit(message.prompt)

    def on_knob_turned(self, message: Knob.Turned) -> None:
        self.action_turn(message.name, message.by)

    def on_knob_edit(self, message: Knob.Edit) -> None:
        self.action_edit(message.name)

    def on_timeline_chosen(self, message: Timeline.Chosen) -> None:
        self.controller.viewpoint.choose(message.index, len(self.controller.session.rounds))
        self.changed()

    def _submit(self, text: str, *, one_round: bool = False) -> None:
        if self.controller.busy:
            self.notify("A run is under way: Esc stops it.", markup=False, timeout=3)
        elif self.controller.submit(text, one_round=one_round):
            self.query_one(PromptBox).remember(text)
            if self.controller.session.running:
                self.query_one(DraftTreeView).focus()
        self.changed()
        self._show_problems()

    def _change(self, change: Callable[[], None]) -> None:
        try:
            change()
        except EngineError as error:
            self._open_dialog(Problem("The setting cannot be changed", error.message, error.hint))
        self.changed()

    # Problems and the end

    def _show_problems(self) -> None:
        for problem in self.controller.take_problems():
            self._open_dialog(problem)

    def _open_dialog(self, problem: Problem) -> None:
        def answered(answer: str | None) -> None:
            if answer == "restart":
                self.action_restart_engine()
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
