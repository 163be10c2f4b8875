"""The app without a screen: prompts and commands are read line by line, what happens is printed and stays."""

from __future__ import annotations

import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TextIO

from ddtree_tui import exit_codes
from ddtree_tui.budget import budget_text, read_budget
from ddtree_tui.config_file import parsed
from ddtree_tui.controller import Controller
from ddtree_tui.escape import escape
from ddtree_tui.narration import Narrator
from ddtree_tui.plural import counted
from ddtree_tui.race.report import race_text
from ddtree_tui.session import Phase
from ddtree_tui.setting_list import SETTINGS, Since, shown
from ddtree_tui.signals import signals_to
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Finished

TICK_SECONDS = 0.05
COMMANDS = {
    "/help": "these commands",
    "/stop": "stop the run, and take back prompts that wait; Ctrl-C does too",
    "/pause": "hold the run between two rounds",
    "/go": "let it go on",
    "/step": "decode one round",
    "/rounds": "tell every round, or not",
    "/settings": "all settings and their values",
    "/set NAME VALUE": "change one: /set budget 16",
    "/new": "new conversation",
    "/restart": "start the engine anew",
    "/quit": "end; Ctrl-D does too",
}
HOW = "Type a prompt and press Enter. /help lists the commands, /quit ends."


class PlainLog:
    """``controller`` runs the engine; ``read`` gives a line each call and nothing at the end."""

    def __init__(self, controller: Controller, read: Callable[[], str], out: TextIO) -> None:
        self._controller = controller
        self._out = out
        self._read = read
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._narrator = Narrator(controller.session)
        self._at_end = False
        self._signals: list[int] = []
        """What has come and was not looked at yet."""
        self._prompts: deque[str] = deque()
        """Those that wait for the end of the run under way."""
        self._unanswered = False
        """Whether the prompt that it was started with has no answer yet."""
        self._failed: str | None = None
        """The kind of the last failure."""
        controller.listener = self._heard

    def run(self, prompt: str | None, problems: Iterable[str]) -> int:
        """Until the user ends it, or the input has ended and nothing runs; returns the exit code, which then
        says whether ``prompt`` was answered."""
        self._say(HOW)
        for problem in problems:
            self._say(f"Notice: {problem}")
        if prompt is not None:
            self._unanswered = True
            self._ask(prompt)
        threading.Thread(target=self._read_all, name="input", daemon=True).start()
        with signals_to(self._interrupt):
            while (code := self._turn()) is None:
                pass
        return code

    def _interrupt(self, number: int) -> None:
        """A signal has come, maybe in the middle of an event: it waits for the next turn. A second one that
        finds it waiting does not."""
        if self._signals:
            raise KeyboardInterrupt
        self._signals.append(number)

    def _turn(self) -> int | None:
        """Take in a signal and a line, then what the engine has reported; the exit code at the end."""
        if self._signals:
            number = self._signals.pop()
            if number != signal.SIGINT or not self._controller.busy:
                return exit_codes.interrupted(number)
            self._stop()
        line = ""
        try:
            line = self._lines.get(timeout=TICK_SECONDS)
            if not line:
                self._at_end = True
            elif line.strip() == "/quit":
                self._unanswered = False
                return self._code()
            elif line.startswith("/"):
                self._command(line.strip())
            elif line.strip():
                self._ask(line.strip())
        except queue.Empty:
            pass
        controller = self._controller
        controller.tick(time.monotonic())
        for problem in controller.take_problems():
            self._say(f"{problem.title}: {problem.message} {problem.hint}")
            if problem.restart:
                self._say("/restart starts the engine anew.")
        while controller.notices:
            self._say(f"Notice: {controller.notices.pop(0)}")
        if self._prompts and not controller.busy:
            self._ask(self._prompts.popleft())
        loading = controller.session.phase is Phase.LOADING and controller.waiting is not None
        under_way = controller.busy or loading or bool(self._prompts)
        under_way = under_way or (controller.expects and not self._unanswered)
        return None if not self._at_end or under_way else self._code()

    def _read_all(self) -> None:
        try:
            while line := self._read():
                self._lines.put(line)
        finally:
            self._lines.put("")

    def _code(self) -> int:
        if not self._unanswered:
            return exit_codes.OK
        if self._failed is None:
            return exit_codes.NOT_LOADED
        return exit_codes.exit_code(self._failed, loading=self._controller.session.loaded is None)

    def _heard(self, event: AnyEvent) -> None:
        asked = self._controller.asked
        if isinstance(event, Failed):
            self._failed = event.error
        elif isinstance(event, Finished) and asked and asked[-1].finished is event:
            self._unanswered = False
        if not isinstance(event, Failed):  # told as a problem
            for line in self._narrator.tell(event):
                self._print(line)

    def _ask(self, prompt: str) -> None:
        if self._controller.busy:
            self._prompts.append(prompt)
            self._say("A run is under way: the prompt waits for its end. /stop takes it back, too.")
        elif self._controller.submit(prompt) and self._controller.waiting is not None:
            whom = "server" if self._controller.place else "models"
            self._say(f"The prompt waits for the {whom}.")

    def _stop(self) -> None:
        waited = len(self._prompts)
        self._prompts.clear()
        self._controller.stop()
        self._say("Stopping." + (f" Taken back: {counted(waited, 'prompt')}." if waited else ""))

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        controller = self._controller
        match name:
            case "/help":
                for command, what in COMMANDS.items():
                    self._say(f"{command}: {what}")
            case "/stop":
                self._stop()
            case "/pause" | "/go":
                if controller.session.running and controller.paused == (name == "/go"):
                    controller.toggle_pause(time.monotonic())
                self._say("Paused." if controller.paused else "Not paused.")
            case "/step":
                controller.step()
            case "/rounds":
                self._narrator.rounds = not self._narrator.rounds
                self._say("Rounds are told." if self._narrator.rounds else "Rounds are not told.")
            case "/settings":
                self._settings()
            case "/set":
                self._set(rest)
            case "/new":
                controller.new_conversation()
                self._say("New conversation.")
            case "/restart":
                controller.restart_engine()
            case _:
                self._say(f"There is no command {name}. /help lists them.")

    def _settings(self) -> None:
        settings = self._controller.settings
        for setting in SETTINGS:
            if setting.since in (Since.ROUND, Since.RUN):
                value = shown(setting, getattr(settings, setting.name))
                self._say(f"{setting.name}: {value}. {setting.field.help}; {setting.since.value}.")

    def _set(self, rest: str) -> None:
        name, _, text = rest.partition(" ")
        known = {setting.name: setting for setting in SETTINGS if setting.since in (Since.ROUND, Since.RUN)}
        setting = known.get(name.replace("-", "_"))
        if setting is None:
            self._say(f"There is no setting {name}. /settings lists them.")
            return
        try:
            if setting.name == "budget":
                self._controller.change(**read_budget(text))
                settings = self._controller.settings
                self._say(
                    f"budget: {budget_text(settings.budget, settings.auto_budget)}, {setting.since.value} on."
                )
                return
            value = parsed(setting.field, text.strip())
            self._controller.change(**{setting.name: list(value) if isinstance(value, tuple) else value})
        except EngineError as error:
            self._say(f"{error.message} {error.hint}")
        else:
            self._say(f"{setting.title}: {shown(setting, value)}, {setting.since.value} on.")

    def _say(self, text: str) -> None:
        self._print(escape(text, keep_newlines=True))

    def _print(self, line: str) -> None:
        print(line, file=self._out, flush=True)


def run_plain_log(controller: Controller, prompt: str | None, problems: Iterable[str]) -> int:
    """On this process's streams; of a recording, all of it at once. Returns the exit code."""
    if controller.playback is not None:
        narrator = Narrator(controller.session)
        controller.listener = lambda event: [print(line) for line in narrator.tell(event)]
        controller.steward.ended = lambda race: print(race_text(race), end="")
        while not controller.playback.over:
            controller.play_all(time.monotonic())
        return exit_codes.OK
    return PlainLog(controller, sys.stdin.readline, sys.stdout).run(prompt, problems)
