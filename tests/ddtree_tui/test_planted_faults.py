"""Planted faults in the app: marked wherever the answer is shown, and runs with them can be looked at."""

from __future__ import annotations

import msgspec
import pytest
from make_recording import conversation
from playing import Playing, ask, playing, replaying
from rich.cells import cell_len

from ddtree_tui.alarm import alarm
from ddtree_tui.ascii_forms import ascii_form
from ddtree_tui.narration import Narrator
from ddtree_tui.session import Session
from engine.events import AnyEvent, Prefilled, Round
from engine.settings import DecodeSettings

MARK = "▲ FAULT PLANTED: wrong-leaf"


def test_the_alarm_says_which_faults() -> None:
    assert alarm(DecodeSettings(), hybrid=True) == ""
    assert alarm(DecodeSettings(inject=("wrong-leaf",)), hybrid=False) == MARK
    both = DecodeSettings(inject=("mask-id", "tap-norm"), verify="naive")
    assert alarm(both, hybrid=True) == "▲ FAULT PLANTED: mask-id, tap-norm"
    assert ascii_form(MARK) == "^ FAULT PLANTED: wrong-leaf"
    assert cell_len(MARK) == len(MARK)


async def test_a_planted_fault_is_marked_everywhere() -> None:
    for size in ((120, 40), (80, 24)):
        settings = DecodeSettings(inject=("wrong-leaf",))
        async with playing(rounds=6, size=size, settings=settings) as play:
            await play.settle()
            assert MARK in play.part("#wrong")
            await ask(play)
            await play.until(lambda play=play: not play.controller.busy)
            await play.settle()
            roomy = ["#transcript", "#stats"] if size[0] >= 100 else []
            for part in ("#wrong", "#heading", *roomy):
                assert MARK in play.part(part), part


async def test_the_mark_needs_no_colour() -> None:
    async with replaying(planted("wrong-leaf")) as play:
        play.app.change_looks(colour=False)
        await play.settle()
        await marked(play, MARK)


async def test_a_recording_shows_what_was_planted() -> None:
    async with replaying(planted("tap-norm")) as play:
        await play.settle()
        await marked(play, "▲ FAULT PLANTED: tap-norm")


async def marked(play: Playing, mark: str) -> None:
    for part in ("#wrong", "#heading", "#stats"):
        assert mark in play.part(part), part


def planted(name: str) -> list[AnyEvent]:
    """A recording with the mark of a fault."""
    events = conversation(0)
    for number, event in enumerate(events):
        if isinstance(event, Prefilled):
            settings = msgspec.structs.replace(event.settings, inject=(name,))
            events[number] = msgspec.structs.replace(event, settings=settings)
    return events


async def pick(play: Playing, name: str) -> str:
    """Pick a fault from the list; what the list showed."""
    play.app.action_plant()
    await play.settle()
    shown = play.text()
    await play.type(name)
    await play.pilot.press("enter")
    await play.settle()
    return shown


async def test_faults_are_planted_and_removed_in_the_app() -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.loaded)
        await play.pilot.press("ctrl+p")
        await play.type("plant a")
        await play.until(lambda: "Plant a fault…" in play.text())
        await play.pilot.press("escape")
        assert "▲ wrong-leaf" not in await pick(play, "wrong-leaf")
        assert play.controller.settings.inject == ("wrong-leaf",)
        assert MARK in play.part("#wrong")
        assert "▲ wrong-leaf" in await pick(play, "wrong-laef")
        assert play.controller.settings.inject == ("wrong-leaf",)
        assert "Did you mean wrong-leaf?" in play.text()
        await play.pilot.press("escape")
        await pick(play, "mask-id")
        assert play.controller.settings.inject == ("wrong-leaf", "mask-id")
        await pick(play, "wrong-leaf")
        assert play.controller.settings.inject == ("mask-id",)
        play.app.action_remove_faults()
        await play.settle()
        assert play.controller.settings.inject == ()
        assert "FAULT PLANTED" not in play.text()


def test_the_plain_log_says_it() -> None:
    narrator = Narrator(Session())
    told = [line for event in planted("wrong-leaf") for line in narrator.tell(event)]
    assert f"{MARK}." in told


@pytest.mark.parametrize("arrangement", ["horizontal", "indented", "dense"])
async def test_a_path_that_is_none_can_be_looked_at(arrangement: str) -> None:
    """What ``path-not-closed`` leaves: accepted nodes of several branches."""
    events = planted("path-not-closed")
    joined = 0
    for number, event in enumerate(events):
        if isinstance(event, Round) and (path := across(event)):
            joined += 1
            events[number] = msgspec.structs.replace(event, accepted=path)
    assert joined > 3
    async with replaying(events) as play:
        from ddtree_tui.widgets.draft_tree import DraftTreeView

        play.app.query_one(DraftTreeView).look.arrangement = arrangement  # type: ignore[assignment]
        for _ in range(8):
            await play.pilot.press("left", "down", "enter", "right")
        await play.settle()
        assert "FAULT PLANTED: path-not-closed" in play.text()


def across(event: Round) -> list[int]:
    """One node of every depth of the accepted path, the last one of that depth."""
    last = dict(zip(event.nodes.depths, range(len(event.nodes.ids)), strict=True))
    path = [last[depth] for depth in range(1, len(event.accepted) + 1)]
    return path if path != event.accepted else []
