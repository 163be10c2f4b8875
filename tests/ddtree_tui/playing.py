"""The app for tests: on a scripted engine or on a recording, with ways to wait for what happens."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from scripted_engine import ScriptedEngine
from textual.pilot import Pilot

from ddtree_tui.config import Config
from ddtree_tui.config_file import ReadConfig
from ddtree_tui.controller import Controller, Engine
from ddtree_tui.options import AppOptions
from ddtree_tui.playback import Playback
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.session import Phase
from engine.events import AnyEvent
from engine.settings import DecodeSettings, LoadSettings


@dataclass
class Playing:
    """A running app and its strings."""

    app: PlaygroundApp
    pilot: Pilot[None]
    engine: Engine | None

    @property
    def controller(self) -> Controller:
        return self.app.controller

    @property
    def rounds(self) -> int:
        return len(self.controller.session.rounds)

    async def until(self, condition: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait for something the app does by itself."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.text()
            await self.pilot.pause(0.01)

    async def settle(self) -> None:
        """Until what has happened is painted."""
        await self.pilot.pause(0.15)
        for _ in range(60):  # a burst of keys may have used up the paints of a second
            if not self.app._dirty and not any(screen._layout_required for screen in self.app.screen_stack):
                break
            await self.pilot.pause(0.02)

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
async def playing(
    *,
    size: tuple[int, int] = (120, 40),
    settings: DecodeSettings | None = None,
    engine: Engine | None = None,
    prompt: str | None = None,
    model: str = "demo",
    config: ReadConfig | None = None,
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
    app = PlaygroundApp(controller, options)
    async with app.run_test(size=size) as pilot:
        try:
            yield Playing(app, pilot, engine)
        finally:
            controller.shut_down()


@asynccontextmanager
async def replaying(
    events: Sequence[AnyEvent], *, size: tuple[int, int] = (120, 40), at_once: bool = True
) -> AsyncIterator[Playing]:
    """The app on a recording."""
    settings = DecodeSettings()
    controller = Controller(settings, playback=Playback(events))
    app = PlaygroundApp(controller, options_for(settings, replay=Path("run.jsonl")))
    async with app.run_test(size=size) as pilot:
        playing = Playing(app, pilot, None)
        if at_once:
            await pilot.press("a")
            await playing.settle()
        yield playing
