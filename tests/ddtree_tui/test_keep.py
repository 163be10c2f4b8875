"""Recording, as the app shows it."""

from __future__ import annotations

from playing import playing

from ddtree_tui import cli
from ddtree_tui.options import AppOptions
from engine.errors import EngineError


def test_runs_are_recorded_unless_told_otherwise() -> None:
    for arguments, expected in (([], True), (["--no-record"], False)):
        options = cli.parse(arguments)
        assert isinstance(options, AppOptions)
        assert options.record is expected


async def test_a_recording_that_ends_is_one_notice_and_no_dialog() -> None:
    async with playing(rounds=20) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        message = "This run is not recorded any further in /[b]x: there is no room left."
        play.engine.trouble.append(EngineError("record", message, "The run goes on."))  # type: ignore[union-attr]
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: len(play.app._notifications))
        (notice,) = play.app._notifications
        assert notice.message.startswith(message)
        assert len(play.app.screen_stack) == 1
        await play.until(lambda: not play.controller.busy)
        assert play.rounds == 20
