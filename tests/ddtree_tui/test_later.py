"""On a machine where others have the processors."""

from __future__ import annotations

import asyncio
import time
from itertools import count

import pytest
from playing import ask, playing
from textual import _time
from textual.app import App

from ddtree_tui.later import later


@pytest.fixture
def held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at Textual's clock comes three milliseconds late."""
    late = count()
    monkeypatch.setattr(_time, "get_time", lambda: time.monotonic() + 0.003 * next(late))


async def test_what_is_late_already_is_done(held_up: None) -> None:
    app: App[None] = App()
    async with app.run_test():
        done = asyncio.Event()
        later(app, 0.001, done.set)
        await asyncio.wait_for(done.wait(), 60)


async def test_the_clock_of_the_app_does_not_stop(held_up: None) -> None:
    async with playing(rounds=5) as play:
        await ask(play)
        await play.until(lambda: play.rounds == 5 and not play.controller.busy)
