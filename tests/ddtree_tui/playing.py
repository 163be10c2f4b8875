"""The app for tests: on a scripted engine or on a recording, with ways to wait for what happens."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripted_engine import ScriptedEngine
from textual.events import Key
from textual.keys import REPLACED_KEYS, _character_to_key, key_to_character
from textual.pilot import Pilot

from ddtree_tui.config import Config
from ddtree_tui.config_file import ReadConfig
from ddtree_tui.controller import Controller, Engine
from ddtree_tui.options import AppOptions
from ddtree_tui.pace import MOST, Pace
from ddtree_tui.playback import Playback
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.session import Phase
from engine.events import AnyEvent
from engine.settings import DecodeSettings, LoadSettings

PAINTS = 30
"""In a second, where nobody has to read them: what a key does is seen the sooner."""


class WatchedApp(PlaygroundApp):
    """Counts what it does, keeps what it said in passing; its clock can be stopped and put forward.

    Attributes:
        begun, done: how often it has begun to take in what there is and to paint it, and was done with that.
    """

    CSS_PATH = Path(inspect.getfile(PlaygroundApp)).with_name("app.tcss")
    begun = done = 0
    stopped_at: float | None = None

    def __init__(self, controller: Controller, options: AppOptions) -> None:
        self.told: list[str] = []
        super().__init__(controller, options)

    def notify(self, message: str, **how: Any) -> None:
        self.told.append(message)
        super().notify(message, **how)

    def now(self) -> float:
        return super().now() if self.stopped_at is None else self.stopped_at

    async def _tick(self) -> None:
        due = time.monotonic() >= self.pace.news_at()
        self.begun += due
        await super()._tick()
        self.done += due


class QuickPilot(Pilot[None]):
    """Waits until the app has nothing left to do; Textual's own waits until its process is idle, which takes
    40 ms a key where it is and seconds where an engine runs in it."""

    app: WatchedApp

    async def press(self, *keys: str) -> None:
        for key in keys:
            name = _character_to_key(key) if len(key) == 1 else key
            character = key if len(key) == 1 else key_to_character(REPLACED_KEYS.get(key, key))
            self.app.post_message(Key(name, character))
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        """Until all messages have been dealt with, those they give rise to as well, and the screen is as they
        made it."""
        end = time.monotonic() + 1  # an engine may keep the app busy for ever
        while time.monotonic() < end and self.app.is_running:
            await asyncio.sleep(0)
            if self._at_work():
                continue
            screen = self.app.screen
            if not self.app.animator._complete_event.is_set():  # scrolls come with its next picture
                await self.app.animator.wait_until_complete()
            elif screen._layout_required or screen._dirty_widgets or screen._callbacks:
                screen._on_timer_update()
            else:
                break
        if delay is not None:
            await asyncio.sleep(delay)

    def _at_work(self) -> bool:
        """Whether the app or a widget has a message, or does what one says."""
        widgets = [w for screen in self.app.screen_stack for w in screen.walk_children(with_self=True)]
        return any(
            pump.message_queue_size or not pump._message_queue.ready_event._waiters
            for pump in (self.app, *widgets)
            if not (pump._closing or pump._closed)
        )


@dataclass
class Playing:
    """A running app and its strings."""

    app: WatchedApp
    pilot: Pilot[None]
    engine: Engine | None

    @property
    def controller(self) -> Controller:
        return self.app.controller

    @property
    def rounds(self) -> int:
        return len(self.controller.session.rounds)

    @property
    def told(self) -> list[str]:
        """What was said in passing, however long ago."""
        return self.app.told

    async def until(self, condition: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait for something the app does by itself."""
        end = time.monotonic() + seconds
        while not condition():
            assert self.app.is_running
            assert time.monotonic() < end, self.text()
            await asyncio.sleep(0.005)
        await self.pilot.pause()

    async def settle(self) -> None:
        """Until what has happened, also in the engine and in threads of the app, is taken in and painted."""
        await self.pilot.pause()
        begun = self.app.begun
        await self.until(lambda: self.app.done > begun)
        end = time.monotonic() + 60
        while self._at_work():
            assert time.monotonic() < end, self.text()
            await self.pilot.pause(0.005)  # which lays out what still has to be
        await self.pilot.pause()

    async def at_rest(self) -> None:
        """Until the scripted engine waits before a round, and all that it emitted is taken in and painted."""
        assert isinstance(self.engine, ScriptedEngine)
        await self.until(lambda: self.engine.resting)
        await self.settle()

    def _at_work(self) -> bool:
        app = self.app
        to_paint = app._dirty or app.screen._layout_required
        return app.is_running and (to_paint or not all(worker.is_finished for worker in app.workers))

    async def stop_clock(self) -> None:
        """No more time passes for recordings, playing and the watchdog, only what ``pass_time`` says."""
        self.app.stopped_at = self.app.now()
        await self.settle()

    async def pass_time(self, seconds: float) -> None:
        """Put the stopped clock forward."""
        assert self.app.stopped_at is not None
        self.app.stopped_at += seconds
        await self.settle()

    async def type(self, text: str) -> None:
        """Press the keys of ``text``."""
        await self.pilot.press(*("space" if character == " " else character for character in text))

    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    def part(self, selector: str) -> str:
        """What one widget of the main screen shows."""
        main = self.app.screen_stack[0]
        region = main.query_one(selector).region
        strips = main._compositor.render_strips()[region.y : region.bottom]
        return "\n".join(strip.crop(region.x, region.right).text.rstrip() for strip in strips)


async def ask(play: Playing, prompt: str = "hello") -> None:
    await play.until(lambda: play.controller.session.phase is Phase.READY)
    answers = len(play.controller.session.answers)
    await play.type(prompt)
    await play.pilot.press("enter")
    await play.until(lambda: len(play.controller.session.answers) > answers)


def options_for(settings: DecodeSettings, **changed: object) -> AppOptions:
    given: dict[str, object] = {
        "load": LoadSettings(),
        "decode": settings,
        "replay": None,
        "trace": None,
        "prompt": None,
        "debug": True,
        "log_path": Path("test.log"),
    }
    return AppOptions(**(given | changed))  # type: ignore[arg-type]


@asynccontextmanager
async def watched(
    controller: Controller,
    options: AppOptions,
    engine: Engine | None,
    *,
    size: tuple[int, int] = (120, 40),
    stopped: bool = False,
    quick: bool = True,
) -> AsyncIterator[Playing]:
    """The app. ``stopped``: with a clock that goes as ``pass_time`` says; ``quick``: with more paints than a
    user gets."""
    app = WatchedApp(controller, options)
    app.stopped_at = app.now() if stopped else None
    if quick and app.pace.most == MOST:
        app.pace = Pace(PAINTS)
    async with app.run_test(size=size):
        yield Playing(app, QuickPilot(app), engine)


@asynccontextmanager
async def playing(
    *,
    size: tuple[int, int] = (120, 40),
    settings: DecodeSettings | None = None,
    engine: Engine | None = None,
    prompt: str | None = None,
    model: str = "demo",
    config: ReadConfig | None = None,
    quick: bool = True,
    **script: float,
) -> AsyncIterator[Playing]:
    """The app on a scripted engine."""
    settings = settings or DecodeSettings()
    engine = engine or ScriptedEngine(**script)
    load = LoadSettings(model=model)
    controller = Controller(settings, engine=engine, log_path=Path("test.log"), load=load)
    engine.start()
    read = config or ReadConfig(Config(), Path("config.toml"))
    options = options_for(
        settings,
        prompt=prompt,
        load=load,
        config=read.config,
        config_path=read.path,
        problems=read.problems,
    )
    async with watched(controller, options, engine, size=size, quick=quick) as play:
        try:
            yield play
        finally:
            controller.shut_down()


@asynccontextmanager
async def replaying(
    events: Sequence[AnyEvent],
    *,
    size: tuple[int, int] = (120, 40),
    at_once: bool = True,
    stopped: bool = False,
    quick: bool = True,
) -> AsyncIterator[Playing]:
    """The app on a recording."""
    settings = DecodeSettings()
    controller = Controller(settings, playback=Playback(events))
    options = options_for(settings, replay=Path("run.jsonl"))
    async with watched(controller, options, None, size=size, stopped=stopped, quick=quick) as play:
        if at_once:
            await play.pilot.press("a")
            await play.settle()
        yield play
