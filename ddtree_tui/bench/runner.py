"""Has the engine answer every prompt in every way, and writes down what that showed."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from ddtree_tui.bench.configuration import Condition, Configuration, decode_settings
from ddtree_tui.bench.measurement import Failure, Key, Recorder
from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.bench.progress import BenchProgress
from ddtree_tui.bench.prompts import Prompt
from ddtree_tui.bench.work_file import FloorLine, NoiseLine, Session, WorkFile
from ddtree_tui.engine_process import EngineProcess
from engine.commands import AnyCommand, Generate, Load, MeasureFloor, MeasureMemory, MeasureNoise
from engine.errors import EngineError
from engine.events import (
    AnyEvent,
    Checking,
    Failed,
    Finished,
    Floor,
    Loaded,
    Loading,
    MemoryUse,
    Noise,
    Prefilled,
    Round,
)

WARM_UP_TOKENS = 32

OF_THE_ANSWER = frozenset({"prompt_too_long", "empty_prompt", "out_of_memory", "not_finite"})
"""Kinds of failure that say nothing about the other answers."""

Inbox = queue.SimpleQueue[AnyEvent | int]
"""Events of the engine, and the numbers of signals that arrived."""


class SignalledError(Exception):
    """A signal arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(f"signal {number}")
        self.number = number


class EngineFailedError(EngineError):
    """The engine reported a failure that ends the benchmark."""

    def __init__(self, event: Failed, *, loading: bool) -> None:
        super().__init__(event.error, event.message, event.hint, event.detail)
        self.loading = loading


@dataclass(frozen=True)
class Job:
    """One answer to measure. ``order``: its place among the ways of its prompt and condition."""

    prompt: Prompt
    condition: Condition
    way: Configuration
    order: int

    @property
    def key(self) -> Key:
        return self.prompt.digest, self.condition, self.way

    @property
    def label(self) -> str:
        name = f"{self.way.name} {self.condition.label}".rstrip()
        return f"{self.prompt.source} {self.prompt.number}, {name}"


def all_jobs(
    prompts: Sequence[Prompt], conditions: Sequence[Condition], ways: Sequence[Configuration]
) -> list[Job]:
    """Prompt by prompt, so that what the device does meanwhile hits all ways alike; who goes first takes
    turns. A prompt that comes twice counts once."""
    jobs: dict[Key, Job] = {}
    turn = 0
    for prompt in prompts:
        for condition in conditions:
            first = turn % len(ways)
            for order, way in enumerate([*ways[first:], *ways[:first]]):
                job = Job(prompt, condition, way, order)
                jobs.setdefault(job.key, job)
            turn += 1
    return list(jobs.values())


class Runner:
    """Measures what is still to be measured.

    Args:
        engine: started.
        inbox: where its events and the signals arrive.
    """

    def __init__(
        self,
        options: BenchOptions,
        work: WorkFile,
        engine: EngineProcess,
        inbox: Inbox,
        progress: BenchProgress,
    ) -> None:
        self._options, self._work, self._progress = options, work, progress
        self._engine, self._inbox = engine, inbox
        self._loaded = False

    def run(self, jobs: Sequence[Job], done: int) -> None:
        """Load, warm up, measure; ``done`` answers are there already.

        Raises:
            SignalledError: what was measured before is in the work file.
            EngineFailedError: the same.
            EngineError: ``no_drafter``, ``bench_file``.
        """
        loaded = self._load()
        self._check(loaded, jobs)
        options = self._options
        self._work.begin(Session(load=options.load, decode=options.decode, loaded=loaded))
        session = len(self._work.sessions) - 1
        self._warm_up(jobs)
        if options.floor:
            self._measure_floor()
        if options.tie_gap is None and any(job.way.mode == "ar" for job in jobs):
            self._measure_noise()
        self._progress.begin(done, done + len(jobs))
        for job in jobs:
            self._measure(job, session)
            self._progress.advance(job.label)

    def _load(self) -> Loaded:
        for event in self._ask(Load(settings=self._options.load)):
            match event:
                case Loading():
                    self._progress.stage(f"Loading: {event.stage}")
                case Loaded():
                    self._loaded = True
                    return event
                case Failed():
                    raise EngineFailedError(event, loading=True)
        raise AssertionError("unreachable")

    def _check(self, loaded: Loaded, jobs: Sequence[Job]) -> None:
        if loaded.drafter is None and any(job.way.mode != "ar" for job in jobs):
            raise EngineError(
                "no_drafter",
                "The modes chain and tree need a drafter and none is loaded.",
                "Name one with --drafter, or measure --modes ar alone.",
            )
        if not loaded.thinking and any(job.condition.thinking for job in jobs):
            self._progress.say("The model's chat template does not know thinking; on and off may be alike.")

    def _warm_up(self, jobs: Sequence[Job]) -> None:
        """Answer a little in every way: compilers, caches and clocks are then as they stay."""
        first = {job.way: job for job in reversed(jobs)}
        for job in first.values():
            self._progress.stage(f"Warming up: {job.way.name}")
            tokens = min(WARM_UP_TOKENS, self._options.decode.max_new_tokens)
            for event in self._ask(self._question(job, max_new_tokens=tokens)):
                if isinstance(event, Failed):
                    self._raise_unless_of_the_answer(event)

    def _measure_floor(self) -> None:
        self._progress.stage("Measuring the bandwidth")
        for event in self._ask(MeasureFloor()):
            match event:
                case Floor():
                    self._work.add(FloorLine(floor=event))
                case Failed():
                    self._raise_unless_of_the_answer(event)
                    self._progress.say(f"The bandwidth could not be measured: {event.message}")

    def _measure_noise(self) -> None:
        for event in self._ask(MeasureNoise()):
            match event:
                case Checking():
                    self._progress.stage(event.stage)
                case Noise():
                    self._work.add(NoiseLine(noise=event))
                case Failed():
                    self._raise_unless_of_the_answer(event)
                    self._progress.say(f"The noise of the kernels could not be measured: {event.message}")

    def _measure(self, job: Job, session: int) -> None:
        self._memory()  # starts the peak anew
        recorder = Recorder()
        for event in self._ask(self._question(job)):
            match event:
                case Prefilled():
                    recorder.prefilled(event)
                case Round():
                    recorder.round(event)
                case Failed():
                    self._raise_unless_of_the_answer(event)
                    self._work.add(self._failure(job, event))
                case Finished():
                    self._work.add(
                        recorder.measurement(
                            event,
                            self._memory(),
                            prompt=job.prompt.digest,
                            source=job.prompt.source,
                            number=job.prompt.number,
                            session=session,
                            order=job.order,
                            way=job.way,
                            condition=job.condition,
                        )
                    )

    def _memory(self) -> MemoryUse | None:
        found = None
        for event in self._ask(MeasureMemory()):
            match event:
                case MemoryUse():
                    found = event
                case Failed():
                    self._raise_unless_of_the_answer(event)
        return found

    def _question(self, job: Job, max_new_tokens: int | None = None) -> Generate:
        """Each prompt has a seed of its own, the same in all ways."""
        seed = self._options.decode.seed + job.prompt.number
        settings = decode_settings(self._options.decode, job.way, job.condition, seed)
        if max_new_tokens is not None:
            settings = msgspec.structs.replace(settings, max_new_tokens=max_new_tokens)
        return Generate(messages=job.prompt.turns(job.condition.thinking), settings=settings, fresh=True)

    def _failure(self, job: Job, event: Failed) -> Failure:
        return Failure(
            prompt=job.prompt.digest,
            source=job.prompt.source,
            number=job.prompt.number,
            condition=job.condition,
            way=job.way,
            error=event.error,
            message=event.message,
        )

    def _raise_unless_of_the_answer(self, event: Failed) -> None:
        if event.error not in OF_THE_ANSWER:
            raise EngineFailedError(event, loading=not self._loaded)

    def _ask(self, command: AnyCommand) -> Iterator[AnyEvent]:
        """Send a command; its events, up to the one that ends it."""
        self._engine.send(command)
        while True:
            item = self._inbox.get()
            if isinstance(item, int):
                raise SignalledError(item)
            yield item
            if isinstance(item, Loaded | Finished | MemoryUse | Floor | Noise | Failed):
                return
