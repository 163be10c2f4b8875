"""An engine that plays synthetic rounds: in this process for quick tests, or as a worker for real pipes."""

from __future__ import annotations

import math
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from make_recording import VOCABULARY, Recording, spelled

from engine.commands import (
    AnyCommand,
    Cancel,
    Generate,
    Load,
    Pause,
    Quit,
    Race,
    Resume,
    Set,
    Step,
    decode_command,
)
from engine.control import Control
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Finished, Lane, Loaded, Prefilled, Racing, Round
from engine.settings import DecodeSettings, LoadSettings


class Gate(Control):
    """Knows whether a run stands before it."""

    _reached = False

    def before_round(self, settings: Any) -> Any:
        with self._changed:
            self._reached = True
            try:
                return super().before_round(settings)
            finally:
                self._reached = False

    @property
    def closed(self) -> bool:
        """A run waits here until it is told something; before that it emits nothing more."""
        with self._changed:
            return self._reached and self._paused and not self._steps and not self._cancelled


class Script:
    """Answers commands with events, at ``rounds_per_second``. ``emit`` is called from a thread of its own.

    A prompt of ``die`` ends the worker, ``fail`` fails the run, ``limp`` the second lane of a race.

    Attributes:
        stops_at: an answer goes on for so many rounds and then only when there may be more.
        loads: whether the models are ever there.
    """

    def __init__(
        self,
        emit: Callable[[AnyEvent], None],
        *,
        rounds: int = 40,
        rounds_per_second: float = 200.0,
        seed: int = 0,
        load_seconds: float = 0.0,
        awkward: float = 0.1,
        stops_at: float = math.inf,
        loads: bool = True,
    ) -> None:
        self.stops_at = stops_at
        self.loads = loads
        self.emit = emit
        self.rounds = rounds
        self.pace = 1 / rounds_per_second
        self.load_seconds = load_seconds
        self.recording = Recording(seed, awkward=awkward, ms=1000 * self.pace)
        self.control = Gate()
        self.emitted: list[float] = []
        """When each round was."""

    def do(self, command: AnyCommand) -> None:
        """Take one command; answers come later."""
        match command:
            case Load():
                threading.Thread(target=self._load, daemon=True).start()
            case Generate():
                self.control = Gate()
                if command.paused:
                    self.control.pause()
                threading.Thread(target=self._generate, args=(command, self.control), daemon=True).start()
            case Race():
                self.control = Gate()
                threading.Thread(target=self._race, args=(command, self.control), daemon=True).start()
            case Set():
                self.control.update(**command.settings)
            case Pause():
                self.control.pause()
            case Resume():
                self.control.resume()
            case Step():
                self.control.step()
            case Cancel():
                self.control.cancel()

    def _load(self) -> None:
        for event in self.recording.start():
            time.sleep(self.load_seconds / 5)
            while isinstance(event, Loaded) and not self.loads:
                time.sleep(0.002)
            self.emit(event)

    def _generate(self, command: Generate, control: Gate) -> None:
        prompt = command.messages[-1]["content"]
        if prompt == "fail":
            self.emit(Failed(error="prompt_too_long", message="The prompt is too long.", hint="Shorten it."))
            return
        start = time.monotonic()
        time.sleep(0.02)  # the prefill
        settings = command.settings
        recording = self.recording
        recording.rng = random.Random(f"{recording.seed} {prompt}")
        done: list[Round] = []
        events = recording.answer(prompt, settings=settings, rounds=1, history=tuple(command.messages[:-1]))
        prefilled = next(events)
        assert isinstance(prefilled, Prefilled)
        self.emit(prefilled)
        output, position = [prefilled.first_id], len(prefilled.prompt_ids)
        reason = "stop"
        for index in range(self.rounds):
            new = control.before_round(settings)
            if new is None:
                reason = "cancelled"
                break
            settings = new
            time.sleep(self.pace)
            while index >= self.stops_at and not control.cancelled:
                time.sleep(0.002)
            round_ = recording.round(
                settings,
                index,
                position,
                output[-1],
                stop=index == self.rounds - 1,
                t=time.monotonic() - start,
            )
            self.emitted.append(time.monotonic())
            self.emit(round_)
            done.append(round_)
            output += round_.committed_ids
            position += round_.acceptance_length
        finished: Finished = recording.finished(settings, output, done, time.monotonic() - start, reason)
        self.emit(finished)

    def _race(self, command: Race, control: Gate) -> None:
        """Lanes of synthetic answers, one round each in turn; every lane writes something else."""
        prompt = command.messages[-1]["content"]
        if prompt == "fail":
            self.emit(Failed(error="out_of_memory", message="The lanes do not fit.", hint="Race fewer."))
            return
        awkward = self.recording.awkward
        recordings = [Recording(number, awkward=awkward, ms=5.0) for number in range(len(command.lanes))]
        answers = {
            number: recordings[number].answer(prompt, settings=settings, rounds=self.rounds)
            for number, settings in enumerate(command.lanes)
        }
        seen: list[list[AnyEvent]] = [[spelled(list(range(len(VOCABULARY))))] for _ in recordings]
        self.emit(Racing(messages=command.messages, lanes=command.lanes))
        for number in answers:
            self.emit(Lane(lane=number, event=seen[number][0]))
        while answers:
            for number in list(answers):
                event = next(answers[number])
                rounds = [event for event in seen[number] if isinstance(event, Round)]
                if isinstance(event, Round) and control.before_round(command.lanes[number]) is None:
                    first = next(event for event in seen[number] if isinstance(event, Prefilled))
                    ids = [first.first_id, *(i for round_ in rounds for i in round_.committed_ids)]
                    settings = command.lanes[number]
                    event = recordings[number].finished(settings, ids, rounds, 1.0, "cancelled")
                if prompt == "limp" and number == 1 and len(rounds) == 3:
                    event = Failed(error="not_finite", message="The logits are no numbers.", hint="Reload.")
                time.sleep(self.pace)
                if isinstance(event, Round):
                    self.emitted.append(time.monotonic())
                seen[number].append(event)
                self.emit(Lane(lane=number, event=event))
                if isinstance(event, Finished | Failed):
                    del answers[number]


def a_race(lanes: list[DecodeSettings], prompt: str = "hello", rounds: int = 6) -> list[AnyEvent]:
    """All events of a race from loading on, 5 s from one of its lanes' to the next."""
    events: list[AnyEvent] = []
    script = Script(events.append, rounds=rounds, rounds_per_second=1e6)
    script._race(Race(messages=[{"role": "user", "content": prompt}], lanes=lanes), Control())
    timed = (
        msgspec.structs.replace(event, t=5.0 * place) if isinstance(event, Lane) else event
        for place, event in enumerate(events)
    )
    return [*script.recording.start(), *timed]


class ScriptedEngine:
    """Satisfies ``ddtree_tui.controller.Engine`` without a process."""

    def __init__(self, *, fail_to_load: Failed | None = None, **script: float) -> None:
        self.sent: list[AnyCommand] = []
        self.starts = 0
        self.loads: list[LoadSettings | None] = []
        self.stopped = False
        self.queue: deque[AnyEvent] = deque()
        self.trouble: deque[EngineError] = deque()
        self.fail_to_load = fail_to_load
        self.script = Script(self.queue.append, **script)  # type: ignore[arg-type]

    def start(self, load: LoadSettings | None = None) -> None:
        self.starts += 1
        self.loads.append(load)
        if self.fail_to_load is not None:
            self.queue.append(self.fail_to_load)
        else:
            self.send(Load(settings=_load_settings()))

    def send(self, command: AnyCommand) -> None:
        self.sent.append(command)
        if isinstance(command, Generate) and command.messages[-1]["content"] == "die":
            self.queue.append(
                Failed(
                    error="engine_died", message="The engine was killed by signal 9.", hint="Start it again."
                )
            )
            return
        self.script.do(command)

    def drain(self) -> list[AnyEvent]:
        return [self.queue.popleft() for _ in range(len(self.queue))]

    def problems(self) -> list[EngineError]:
        return [self.trouble.popleft() for _ in range(len(self.trouble))]

    def stop(self) -> None:
        self.stopped = True
        self.script.control.cancel()

    @property
    def resting(self) -> bool:
        """A run waits to be told to go on, and all that it emitted has been taken."""
        return self.script.control.closed and not self.queue

    def sent_of(self, kind: type) -> list[AnyCommand]:
        """The commands of one kind, in order."""
        return [command for command in self.sent if isinstance(command, kind)]


def _load_settings() -> object:
    from engine.settings import LoadSettings

    return LoadSettings()


def main() -> None:
    """A worker on pipes, as ``engine.worker`` is one."""
    lock = threading.Lock()

    def emit(event: AnyEvent) -> None:
        with lock:
            sys.stdout.buffer.write(encode_event(event) + b"\n")
            sys.stdout.buffer.flush()

    script = Script(emit, rounds_per_second=float(sys.argv[1]) if len(sys.argv) > 1 else 30.0, rounds=60)
    for line in sys.stdin.buffer:
        command = decode_command(line)
        if isinstance(command, Quit):
            break
        if isinstance(command, Generate | Race) and command.messages[-1]["content"] == "die":
            import os
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        script.do(command)


if __name__ == "__main__":
    main()
