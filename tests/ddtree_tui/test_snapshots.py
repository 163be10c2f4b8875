"""Every screen as somebody last found it right, in ``snapshots/``, at three sizes and in three looks.

A row of a snapshot is what the screen shows, behind a digest of its colours and attributes in each look: a
change of the text reads as such, a change of the styles alone as another digest. Where a look changes the
text, its row follows. A failure names the folder with SVG pictures of what is shown now. To accept that:
``SNAPSHOTS_ACCEPT=1 python -m pytest tests/ddtree_tui/test_snapshots.py``; look at the difference in Git.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pytest
from make_recording import Recording
from playing import Playing, playing, replaying
from rich.segment import Segment
from rich.style import Style
from sick_run import sick
from textual.widgets import Input, TextArea

from ddtree_tui.attach.wire import Watched
from ddtree_tui.problem import failure
from ddtree_tui.recorder import Recorder
from ddtree_tui.screens.requests import RequestsScreen
from ddtree_tui.screens.runs import RunsScreen
from ddtree_tui.screenshots import how_telling
from ddtree_tui.svg_image import tidy_svg
from engine.events import AnyEvent, Failed
from engine.settings import DecodeSettings

FOLDER = Path(__file__).parent / "snapshots"
ACCEPT = "SNAPSHOTS_ACCEPT"
SIZES = ((80, 24), (120, 40), (200, 60))
DARK, LIGHT, NO_COLOUR = (
    {"theme": "dark", "colour": True},
    {"theme": "light", "colour": True},
    {"theme": "dark", "colour": False},
)
LOOKS = {(80, 24): (DARK,), (120, 40): (DARK, LIGHT, NO_COLOUR), (200, 60): (DARK,)}
PROMPT = "[/b] [link=x] \x1b[31m \u202eabc 你好 한국 🙂 👩\u200d💻 &<br>"
NOON = 1_790_000_000.0
"""A day on which all the recorded runs were made, in seconds since 1970."""


@functools.cache
def recorded(budget: int, *, awkward: float = 0.4, detail: bool = False, rounds: int = 30) -> list[AnyEvent]:
    """A run of tokens that are hard to show: markup, control and bidirectional characters, CJK, emoji."""
    recording = Recording(3, awkward=awkward)
    settings = DecodeSettings(budget=budget, thinking=True, detail=detail)
    answer = recording.answer(PROMPT, settings=settings, rounds=rounds, thinking_rounds=6)
    return [*recording.start(), *answer]


@asynccontextmanager
async def replay(size: tuple[int, int], events: list[AnyEvent]) -> AsyncIterator[Playing]:
    """The round of a recording that shows most."""
    async with replaying(events, size=size) as play:
        rounds = [round_ for _, round_ in play.controller.session.rounds]
        best = max(range(len(rounds)), key=lambda index: how_telling(rounds[index]))
        play.controller.viewpoint.choose(best, len(rounds))
        play.app.changed()
        await play.settle()
        yield play


def a_run(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64))


def a_detailed_run(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64, detail=True))


def a_sick_run(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, sick())


def a_run_of_large_trees(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(1024, rounds=6))


@asynccontextmanager
async def the_beginning(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    """The app with a pair, before the first prompt."""
    async with playing(size=size) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.settle()
        yield play


@asynccontextmanager
async def loading(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    async with playing(size=size, load_seconds=600.0) as play:
        play.app.submit(PROMPT)
        await play.settle()
        yield play


@asynccontextmanager
async def a_race(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    async with playing(size=size, rounds=12, rounds_per_second=5000, awkward=0.3) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.type("hello")
        await play.pilot.press("f10")
        await play.until(lambda: len(play.app.screen_stack) == 2)
        await play.pilot.press("m")
        await play.until(lambda: play.controller.race is not None and play.controller.race.over)
        await play.settle()
        yield play


@asynccontextmanager
async def recorded_runs(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    for seed, prompt in enumerate((PROMPT, "What is 12 + 30?", "Tell me a short story about a fox. " * 9)):
        recorder = Recorder(state, clock=lambda seed=seed: NOON - 40_000 * seed)  # type: ignore[misc]
        recording = Recording(seed)
        for event in [*recording.start(), *recording.answer(prompt, rounds=12)]:
            recorder.take(event)
        recorder.close()
    async with the_beginning(size, state) as play:
        screen = RunsScreen(state, clock=lambda: NOON + 100)
        play.app.push_screen(screen)
        await play.until(lambda: screen.is_mounted and screen._listed and not screen._reading)
        yield play


@asynccontextmanager
async def requests_of_a_server(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    def request(name: str, age: int, how: str, rounds: int, **settings: object) -> Watched:
        return Watched(
            id=f"{name}-{rounds:032x}",
            kind="chat",
            created=int(NOON) - age,
            state=how,
            prompt_tokens=12,
            output_tokens=1 + 4 * rounds,
            rounds=rounds,
            events=9000,
            events_kept=8000 if rounds > 5000 else 9000,
            settings=settings,
        )

    own = request("chatcmpl", 50, "length", 40, mode="tree", budget=64)
    requests = [
        request("cmpl", 7, "failed", 0, mode="ar"),
        own,
        request("chatcmpl", 60, "running", 777, mode="tree", budget=256),
        request("[/b]\x1b[31m", 90_000, "stop", 6000, mode="chain"),
        request("later", 9_000_000, "of another version", 3, mode=5),
    ]
    async with the_beginning(size, state) as play:
        screen = RequestsScreen("demo at box:30000", lambda: requests, {own.id}, clock=lambda: NOON + 100)
        play.app.push_screen(screen)
        await play.until(lambda: len(screen._listed) > 1)
        await play.pilot.press("end", "up")
        yield play


def open_problem(play: Playing) -> None:
    message = "The engine was killed by signal 9 while it decoded [/b]\x1b[31m 你好 שלום."
    dead = Failed(error="engine_died", message=message, hint="Start it again; the text so far stays.")
    play.app.open_dialog(failure(dead, Path("test.log"), broken=True, back=True))


@dataclass(frozen=True)
class Sitting:
    """A start of the app, and the screens that are seen in it: by name, what is pressed or done for each."""

    start: Callable[[tuple[int, int], Path], AbstractAsyncContextManager[Playing]]
    screens: Mapping[str, Sequence[str | Callable[[Playing], object]]]


SITTINGS = (
    Sitting(
        the_beginning,
        {
            "first": (),
            "settings": ("ctrl+g",),
            "budget": ("f8",),
            "keys": ("f1",),
            "prompts": ("ctrl+l",),
            "system_message": (lambda play: play.app.action_system_message(), *"Be", "space", *"brief"),
            "picker": ("ctrl+g", lambda play: play.app.screen.focus_on("model"), "enter", "down"),
            "question": ("ctrl+g", "r"),
            "problem": (open_problem,),
        },
    ),
    Sitting(
        a_run,
        {
            "main_screen": (),
            "numbers": ("f12",),
            "numbers_explained": ("f12", "f1"),
            "exact_prompt": ("P",),
            "copies": ("y",),
        },
    ),
    Sitting(a_detailed_run, {"node": ("M",)}),
    Sitting(a_sick_run, {"diagnosis": ("D",), "comparison": ("C",)}),
    Sitting(a_run_of_large_trees, {"overview": ("v", "v")}),
    Sitting(loading, {"waiting": ()}),
    Sitting(a_race, {"race": (), "race_texts": ("d",)}),
    Sitting(recorded_runs, {"runs": ()}),
    Sitting(requests_of_a_server, {"requests": ()}),
)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for recorded runs, where every clock is Greenwich's."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield tmp_path / "runs"
    monkeypatch.undo()
    time.tzset()


def digest(row: list[Segment]) -> str:
    """Of the colours and attributes of a row's cells."""
    told = hashlib.sha256()
    for style, cells in groupby(row, key=lambda segment: described(segment.style)):
        told.update(f"{style} {sum(segment.cell_length for segment in cells)}\n".encode())
    return told.hexdigest()[:6]


def described(style: Style | None) -> str:
    """What a terminal shows of a style."""
    if style is None:
        return ""
    colours = [
        colour and (colour.triplet.hex if colour.triplet else colour.name)
        for colour in (style.color, style.bgcolor)
    ]
    attributes = style.bold, style.dim, style.italic, style.underline, style.reverse, style.strike
    return f"{colours} {[bool(attribute) for attribute in attributes]}"


async def in_each_look(play: Playing, size: tuple[int, int], see: Callable[[int], None]) -> None:
    """Have the app look in all ways, the first one last."""
    looks = LOOKS[size]
    for number, look in enumerate(looks):
        if len(looks) > 1:
            play.app.change_looks(**look)
            await play.settle()
        see(number)
    if len(looks) > 1:
        play.app.change_looks(**looks[0])


async def written(play: Playing, size: tuple[int, int]) -> list[str]:
    """The rows of a screen, each behind its digests in the looks."""
    for box in (*play.app.screen.query(Input), *play.app.screen.query(TextArea)):
        box.cursor_blink = False
    texts: list[list[str]] = []
    digests: list[list[str]] = []

    def see(_: int) -> None:
        strips = play.app.screen._compositor.render_strips()
        texts.append([strip.text.rstrip() for strip in strips])
        digests.append([digest(list(strip)) for strip in strips])

    await in_each_look(play, size, see)
    rows = [f"=== {size[0]}x{size[1]}"]
    for styles, (text, *others) in zip(zip(*digests, strict=True), zip(*texts, strict=True), strict=True):
        rows.append(f"{' '.join(styles)}│{text}")
        rows += [f"{' ' * len(' '.join(styles))}│{other}" for other in others if other != text]
    return rows


async def draw(play: Playing, size: tuple[int, int], path: Path) -> None:
    """SVG pictures of a screen, whose names begin as ``path`` does."""

    def see(number: int) -> None:
        drawing = path.with_name(f"{path.name}-{size[0]}x{size[1]}-{number}.svg")
        drawing.write_text(tidy_svg(play.app.export_screenshot()), encoding="utf-8")

    await in_each_look(play, size, see)


@pytest.mark.parametrize("sitting", SITTINGS, ids=lambda sitting: sitting.start.__name__)
async def test_screens_are_as_they_were(sitting: Sitting, state: Path, tmp_path: Path) -> None:
    rows: dict[str, list[str]] = {name: [] for name in sitting.screens}
    known = {name: snapshot(name) for name in sitting.screens}
    for size in SIZES:
        async with sitting.start(size, state / f"{size[0]}") as play:
            below = len(play.app.screen_stack)
            for name, steps in sitting.screens.items():
                for step in steps:
                    if isinstance(step, str):
                        await play.pilot.press(step)
                    else:
                        step(play)
                    await play.settle()
                await play.settle()  # where there are no steps
                seen = await written(play, size)
                if seen != known[name][len(rows[name]) :][: len(seen)]:
                    await draw(play, size, tmp_path / name)
                rows[name] += seen
                while len(play.app.screen_stack) > below:
                    play.app.pop_screen()
                await play.pilot.pause()
    if os.environ.get(ACCEPT):
        FOLDER.mkdir(exist_ok=True)
        for name in rows:
            (FOLDER / f"{name}.txt").write_text("\n".join(rows[name]) + "\n", encoding="utf-8")
        return
    changes: list[str] = []
    for name in rows:
        labels = f"{name} as it was", f"{name} as it is"
        changes += difflib.unified_diff(known[name], rows[name], *labels, lineterm="", n=1)
    assert not changes, f"Screens have changed; pictures are in {tmp_path}\n" + "\n".join(changes)


def snapshot(name: str) -> list[str]:
    """The rows of a screen as they were; none of a new one."""
    path = FOLDER / f"{name}.txt"
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
