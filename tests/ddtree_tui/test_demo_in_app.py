"""The app on the real engine and the demo pair, through real pipes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playing import playing

from ddtree_tui.engine_link import EngineLink
from ddtree_tui.session import Phase
from engine.presets import demo_folder
from engine.settings import DecodeSettings, LoadSettings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (demo_folder() / "target" / "config.json").exists(), reason="no demo pair"),
]


async def test_a_conversation_with_the_demo_pair(tmp_path: Path) -> None:
    link = EngineLink(LoadSettings(), tmp_path / "log", trace=tmp_path / "run.jsonl")
    start = time.monotonic()
    async with playing(engine=link, settings=DecodeSettings(thinking=True)) as play:
        await play.until(lambda: play.controller.session.phase is not Phase.LOADING, 120)
        assert play.controller.session.phase is Phase.READY
        print(f"demo pair ready after {time.monotonic() - start:.1f} s")
        await play.settle()
        assert "gated-delta" in play.part("#top-line")
        await play.type("What is 12 + 30?")
        await play.pilot.press("f6")
        await play.until(lambda: play.rounds == 1, 60)
        await play.settle()
        assert "paused" in play.part("#top-line")
        play.controller.change(budget=4)
        await play.pilot.press("f6")
        await play.until(lambda: play.rounds == 2, 60)
        assert len(play.controller.session.rounds[1][1].nodes.ids) <= 4
        await play.pilot.press("f2")
        await play.until(lambda: not play.controller.busy, 120)
        await play.settle()
        answer = play.controller.session.answers[0]
        assert answer.finished is not None
        assert answer.text is not None
        assert answer.text.answer == answer.finished.text
        assert answer.text.thinking == answer.finished.thinking_text
        assert answer.tokens == answer.finished.tokens
        assert "42" in answer.finished.text
        assert "thinking" in play.part("#transcript")
        await play.type("And 5 more?")
        await play.pilot.press("enter")
        await play.until(lambda: len(play.controller.session.answers) == 2 and not play.controller.busy, 120)
        second = play.controller.session.answers[1].prefilled
        assert second is not None
        assert len(second.messages) == 3
    assert (tmp_path / "run.jsonl").read_bytes().count(b'"finished"') == 2
