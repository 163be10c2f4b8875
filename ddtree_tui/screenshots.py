"""Pictures of the real app on the demo pair: python -m ddtree_tui.screenshots

Each scene starts the app without a terminal, presses the keys a user would press, and writes what the screen
shows as SVG, and as PNG where a Chromium is installed. The scene ``cast`` is a short film instead: the
program on a terminal of its own, from start to end.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from textual.pilot import Pilot

from ddtree_tui.cast import Act, record_cast
from ddtree_tui.controller import Controller
from ddtree_tui.draft_shape import DraftShape
from ddtree_tui.engine_link import EngineLink
from ddtree_tui.options import AppOptions
from ddtree_tui.playback import Playback
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.session import Phase
from ddtree_tui.svg_image import find_chromium, tidy_svg, write_png
from engine.errors import EngineError
from engine.events import Round
from engine.failures import as_error
from engine.settings import DecodeSettings, LoadSettings
from engine.trace import read_trace

SECONDS_TO_LOAD = 120.0
SECONDS_TO_ANSWER = 300.0


@dataclass(frozen=True)
class Scene:
    """One picture. Without a ``prompt`` it is the first screen; ``keys`` are pressed after the answer.
    ``race``: the prompt is raced, in the lanes of that letter."""

    name: str
    columns: int
    rows: int
    prompt: str = ""
    settings: DecodeSettings = field(default_factory=DecodeSettings)
    light: bool = False
    keys: tuple[str, ...] = ()
    race: str = ""


FAULTY = DecodeSettings(budget=16, oracle="full", inject=("wrong-leaf",))
WORD_PROBLEM = "Tom has 12 apples and buys 8 more. How many apples does he have?"
SCENES = (
    Scene("first", 120, 40),
    Scene("wide", 160, 48, "Write a Python function that reverses a list."),
    Scene("standard", 120, 40, "Tell me a short story about a fox."),
    Scene("thinking", 120, 40, WORD_PROBLEM, DecodeSettings(thinking=True)),
    Scene("light", 120, 40, "Sort 9, 4, 17, 2, 11.", DecodeSettings(thinking=True), light=True),
    Scene("small", 80, 24, WORD_PROBLEM, DecodeSettings(thinking=True)),
    Scene(
        "node",
        120,
        40,
        "Tell me a short story about a fox.",
        DecodeSettings(detail=True),
        keys=("escape", "M"),
    ),
    Scene(
        "overview",
        120,
        40,
        "Tell me a short story about a fox.",
        DecodeSettings(budget=1024),
        keys=("escape", "v", "v"),
    ),
    Scene("chain", 120, 40, "Tell me a short story about a fox.", DecodeSettings(mode="chain")),
    Scene("naive", 120, 40, "Tell me a short story about a fox.", DecodeSettings(verify="naive")),
    Scene("fault", 120, 40, WORD_PROBLEM, FAULTY),
    Scene("diagnosis", 120, 40, WORD_PROBLEM, FAULTY, keys=("escape", "D")),
    Scene("race", 120, 40, "Tell me a short story about a fox.", race="m"),
    Scene("numbers", 120, 40, "Tell me a short story about a fox.", keys=("f12",)),
    Scene("keys", 120, 40, keys=("f1",)),
)


CAST = "cast"
CAST_COLUMNS, CAST_ROWS = 110, 32
LEFT = "\x1b[D"
CAST_ACTS = (
    Act([*"Tell me a short story about a fox."], "ready", pause=1.0),
    Act(["\r"], pause=0.6),
    Act([LEFT] * 6, "ended by itself", pause=1.5, each=0.7),
    Act(["\x11"], pause=1.5),
)
"""Type a prompt, watch it run, look back at some rounds, quit."""


async def shoot(scene: Scene, controller: Controller, options: AppOptions) -> str:
    """Play a scene; the screen at its end as tidied SVG.

    Raises:
        EngineError: what the app would have shown in a dialog.
        TimeoutError: if the models or the answer take too long.
    """
    app = PlaygroundApp(controller, options)
    async with app.run_test(size=(scene.columns, scene.rows)) as pilot:
        if scene.light:
            await pilot.press("ctrl+t")
        if controller.playback is None:
            await _until(pilot, controller, lambda: controller.session.phase is Phase.READY, SECONDS_TO_LOAD)
        else:
            await pilot.press("a")
        if scene.race:
            await _race(pilot, controller, scene)
        elif scene.prompt:
            await _answer(pilot, controller, scene)
        if scene.keys:
            await pilot.press(*scene.keys)
        await pilot.pause(0.4)
        return tidy_svg(app.export_screenshot(title="ddtree-tui"))


async def _answer(pilot: Pilot[None], controller: Controller, scene: Scene) -> None:
    """Send the prompt, wait for the end, and go back to the round that shows most."""
    if controller.playback is None:
        await _type(pilot, scene.prompt)
        await pilot.press("enter")
    await _until(pilot, controller, lambda: not controller.busy, SECONDS_TO_ANSWER)
    if scene.settings.oracle != "off":
        await _until(pilot, controller, lambda: _compared(controller), SECONDS_TO_ANSWER)
    rounds = [round_ for _, round_ in controller.session.rounds]
    if rounds:
        best = max(range(len(rounds)), key=lambda index: how_telling(rounds[index]))
        controller.viewpoint.choose(best, len(rounds))
        pilot.app.screen.focus_next()
        pilot.app.screen.focus_previous()


async def _race(pilot: Pilot[None], controller: Controller, scene: Scene) -> None:
    """Race the prompt to the end."""
    if controller.playback is None:
        await _type(pilot, scene.prompt)
        await pilot.press("f10", scene.race)
    await _until(pilot, controller, lambda: _raced(controller), SECONDS_TO_ANSWER)


async def _type(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if character == " " else character for character in text))


def _raced(controller: Controller) -> bool:
    return controller.race is not None and controller.race.over


def _compared(controller: Controller) -> bool:
    answer = controller.session.answer
    return answer is not None and answer.checked is not None


async def _until(
    pilot: Pilot[None], controller: Controller, condition: Callable[[], bool], seconds: float
) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if (failed := controller.session.failed) is not None:
            raise as_error(failed)
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came for {seconds:.0f} s")
        await pilot.pause(0.05)


def how_telling(round_: Round) -> tuple[bool, int]:
    """A round with a near miss and branches at several depths says more than a straight one."""
    shape = DraftShape.of(round_)
    near_miss = round_.miss is not None and not round_.miss.beyond
    branching = sum(len(shape.children[node]) > 1 for node in [-1, *round_.accepted])
    return near_miss, min(branching, 5) + min(len(round_.accepted), 6)


def controller_for(scene: Scene, replay: Path | None, log_path: Path) -> Controller:
    """The real engine, or a recording instead of it."""
    if replay is not None:
        return Controller(scene.settings, playback=Playback(read_trace(replay).events))
    link = EngineLink(LoadSettings(), log_path)
    link.start()
    return Controller(scene.settings, engine=link, log_path=log_path)


def take(scene: Scene, folder: Path, replay: Path | None, chromium: str | None) -> list[Path]:
    """Write one scene's files; their paths."""
    with tempfile.TemporaryDirectory() as logs:
        log_path = Path(logs) / "engine.log"
        controller = controller_for(scene, replay, log_path)
        options = AppOptions(
            load=LoadSettings(),
            decode=scene.settings,
            replay=replay,
            trace=None,
            prompt=None,
            debug=False,
            log_path=log_path,
        )
        try:
            svg = asyncio.run(shoot(scene, controller, options))
        finally:
            controller.shut_down()
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{scene.name}.svg"]
    written[0].write_text(svg, encoding="utf-8")
    if chromium is not None:
        written.append(folder / f"{scene.name}.png")
        write_png(svg, written[1], chromium)
    return written


def film(folder: Path) -> Path:
    """Record the demo pair answering a prompt; the path of the cast.

    Raises:
        TimeoutError: if the answer does not come.
    """
    with tempfile.TemporaryDirectory() as logs:
        command = [
            sys.executable,
            "-m",
            "ddtree_tui",
            "--budget",
            "32",
            "--no-record",
            "--log",
            f"{logs}/log",
        ]
        cast = record_cast(command, CAST_ACTS, columns=CAST_COLUMNS, rows=CAST_ROWS, title="ddtree-tui")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "demo.cast"
    path.write_text(cast, encoding="utf-8")
    return path


def main(argv: Sequence[str] | None = None) -> int:
    """Take all pictures, or those named."""
    parser = argparse.ArgumentParser(prog="python -m ddtree_tui.screenshots", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="of " + ", ".join((*(scene.name for scene in SCENES), CAST)))
    parser.add_argument("--out", type=Path, default=Path("screenshots"), help="folder to write to")
    parser.add_argument("--replay", type=Path, help="show this recording instead of running the demo pair")
    parser.add_argument("--no-png", action="store_true", help="write SVG only")
    given = parser.parse_args(argv)
    if unknown := set(given.names) - {scene.name for scene in SCENES} - {CAST}:
        parser.error(f"there is no scene {', '.join(sorted(unknown))}")
    chromium = None if given.no_png else find_chromium()
    try:
        for scene in SCENES:
            if not given.names or scene.name in given.names:
                for path in take(scene, given.out, given.replay, chromium):
                    print(path)
        if CAST in given.names or (not given.names and given.replay is None):
            print(film(given.out))
    except (EngineError, TimeoutError, RuntimeError) as error:
        print(f"no picture: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
