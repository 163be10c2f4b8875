"""The knobs at the bottom of the main screen."""

from __future__ import annotations

from playing import playing

from ddtree_tui.session import Phase
from ddtree_tui.widgets.knobs import Knob
from engine.settings import DecodeSettings


async def test_a_value_is_never_cut_whatever_layouts_come_between() -> None:
    """Two changes before the layout that the first asks for, and a layout of something else between them:
    an automatic width would then be the one measured for the first value."""
    async with playing(size=(80, 24)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.settle()
        knob, screen = play.app.query_one("#knob-budget", Knob), play.app.screen
        knob.show(DecodeSettings(budget=1))
        knob.parent._clear_arrangement_cache()
        screen._refresh_layout()
        knob.show(DecodeSettings(budget=1024))
        await play.settle()
        assert knob.size.width == len("budget  1024 ")
        assert "budget  1024 " in play.part("#knobs") + " "


async def test_the_budget_may_be_the_engines_to_choose() -> None:
    async with playing(size=(120, 40)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("f8", *["backspace"] * 4, *"auto", "enter")
        await play.settle()
        settings = play.controller.settings
        assert (settings.budget, settings.auto_budget) == (256, True)
        assert "budget  auto:256 " in play.part("#knobs")
        await play.pilot.press("f8", *["backspace"] * 8, *"16", "enter")
        await play.settle()
        assert not play.controller.settings.auto_budget
        assert "budget  16 " in play.part("#knobs")


async def test_the_last_line_says_what_enter_does_to_a_knob() -> None:
    async with playing(size=(120, 40)) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        for name, what in (("mode", "Enter turn "), ("budget", "Enter type a value ")):
            play.app.query_one(f"#knob-{name}", Knob).focus()
            await play.settle()
            assert what in play.part("#keys")
            await play.pilot.press("enter")
            await play.settle()
        assert play.controller.settings.mode == "ar"
        assert len(play.app.screen_stack) == 2
