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
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import groupby
from pathlib import Path

import pytest
from make_recording import Recording
from playing import Playing, playing, replaying
from rich.segment import Segment
from rich.style import Style
from textual.widgets import Input, TextArea

from ddtree_tui.recorder import Recorder
from ddtree_tui.screens.runs import RunsScreen
from ddtree_tui.screenshots import how_telling
from ddtree_tui.svg_image import tidy_svg
from engine.events import AnyEvent
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
async def replay(size: tuple[int, int], events: list[AnyEvent], *keys: str) -> AsyncIterator[Playing]:
    """The round of a recording that shows most, and what some keys make of it."""
    async with replaying(events, size=size) as play:
        rounds = [round_ for _, round_ in play.controller.session.rounds]
        best = max(range(len(rounds)), key=lambda index: how_telling(rounds[index]))
        play.controller.viewpoint.choose(best, len(rounds))
        play.app.changed()
        await play.settle()
        for key in keys:
            await play.pilot.press(key)
            await play.settle()
        yield play


@asynccontextmanager
async def ready(size: tuple[int, int], *keys: str) -> AsyncIterator[Playing]:
    """The app with a pair, before the first prompt."""
    async with playing(size=size) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        for key in keys:
            await play.pilot.press(key)
            await play.settle()
        yield play


def main_screen(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64))


def node(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64, detail=True), "M")


def overview(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(1024, rounds=6), "v", "v")


def numbers(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64), "f12")


def exact_prompt(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return replay(size, recorded(64), "P")


def first(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return ready(size)


def settings(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return ready(size, "ctrl+g")


def budget(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return ready(size, "f8")


def keys(size: tuple[int, int], state: Path) -> AbstractAsyncContextManager[Playing]:
    return ready(size, "f1")


@asynccontextmanager
async def runs(size: tuple[int, int], state: Path) -> AsyncIterator[Playing]:
    for seed, prompt in enumerate((PROMPT, "What is 12 + 30?", "Tell me a short story about a fox. " * 9)):
        recorder = Recorder(state, clock=lambda seed=seed: NOON - 40_000 * seed)  # type: ignore[misc]
        recording = Recording(seed)
        for event in [*recording.start(), *recording.answer(prompt, rounds=12)]:
            recorder.take(event)
        recorder.close()
    async with ready(size) as play:
        screen = RunsScreen(state, clock=lambda: NOON + 100)
        play.app.push_screen(screen)
        await play.until(lambda: screen.is_mounted and screen._listed and not screen._reading)
        yield play


SCREENS: tuple[Callable[[tuple[int, int], Path], AbstractAsyncContextManager[Playing]], ...] = (
    first,
    main_screen,
    node,
    overview,
    numbers,
    exact_prompt,
    runs,
    settings,
    budget,
    keys,
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


async def pictured(play: Playing, size: tuple[int, int], svg: Callable[[str], Path]) -> list[str]:
    """The rows of a screen, each behind its digests in the looks."""
    for box in (*play.app.screen.query(Input), *play.app.screen.query(TextArea)):
        box.cursor_blink = False
    texts: list[list[str]] = []
    digests: list[list[str]] = []
    for number, look in enumerate(LOOKS[size]):
        play.app.change_looks(**look)
        await play.settle()
        strips = play.app.screen._compositor.render_strips()
        texts.append([strip.text.rstrip() for strip in strips])
        digests.append([digest(list(strip)) for strip in strips])
        svg(f"{size[0]}x{size[1]}-{number}.svg").write_text(
            tidy_svg(play.app.export_screenshot()), encoding="utf-8"
        )
    rows = []
    for styles, (text, *others) in zip(zip(*digests, strict=True), zip(*texts, strict=True), strict=True):
        rows.append(f"{' '.join(styles)}│{text}")
        rows += [f"{' ' * len(' '.join(styles))}│{other}" for other in others if other != text]
    return rows


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.__name__)
async def test_a_screen_is_as_it_was(screen, state: Path, tmp_path: Path) -> None:
    rows: list[str] = []
    for size in SIZES:
        async with screen(size, state / f"{size[0]}") as play:
            rows += [f"=== {size[0]}x{size[1]}", *await pictured(play, size, lambda name: tmp_path / name)]
    path = FOLDER / f"{screen.__name__}.txt"
    if os.environ.get(ACCEPT):
        FOLDER.mkdir(exist_ok=True)
        path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    before = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    changes = "\n".join(difflib.unified_diff(before, rows, "as it was", "as it is", lineterm="", n=1))
    assert not changes, f"{screen.__name__} has changed; pictures of it are in {tmp_path}\n{changes}"
