"""Every key of the app's own table does what it says, seen by its effect; a key without an entry here fails.

Two apps are started and shared by all keys: one on an engine, one on a recording.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from make_recording import conversation
from msgspec.structs import replace
from playing import Playing, playing, replaying

from ddtree_tui.draft_shape import ROOT, DraftShape
from ddtree_tui.keys import Key
from ddtree_tui.playground import KEYS
from ddtree_tui.screens.diagnosis import DiagnosisScreen
from ddtree_tui.screens.exact_prompt import ExactPromptScreen
from ddtree_tui.screens.help import HelpScreen
from ddtree_tui.screens.numbers import NumbersScreen
from ddtree_tui.screens.oracle import OracleScreen
from ddtree_tui.screens.palette import Palette
from ddtree_tui.screens.pick import PickScreen
from ddtree_tui.screens.prompts import PromptsScreen
from ddtree_tui.screens.runs import RunsScreen
from ddtree_tui.screens.settings import SettingsScreen
from ddtree_tui.screens.system_message import SystemMessageScreen
from ddtree_tui.screens.value import ValueScreen
from ddtree_tui.session import Phase
from ddtree_tui.tree_layout import MOST_DETAIL
from ddtree_tui.tree_look import TreeLook
from ddtree_tui.widgets import transcript_keys, tree_keys
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.prompt import PromptBox
from ddtree_tui.widgets.run_view import RunView
from ddtree_tui.widgets.timeline import Timeline
from ddtree_tui.widgets.transcript import Transcript
from ddtree_tui.widgets.tree_search import SearchInput, TreeSearch
from engine.events import AnyEvent, Divergence, Round

START = 12
"""The round that is shown before a key is pressed."""
ROUNDS = 30
DIVERGENT = 7


# What is looked at


def shown(play: Playing) -> int | None:
    return play.controller.shown


def screen(play: Playing) -> type:
    return type(play.app.screen)


def tree(play: Playing) -> DraftTreeView:
    return play.app.query_one(DraftTreeView)


def shape(play: Playing) -> DraftShape:
    found = tree(play).shape
    assert found is not None
    return found


def text(play: Playing) -> Transcript:
    return play.app.query_one(Transcript)


def cursor(play: Playing) -> int | None:
    return tree(play).look.cursor


def token(play: Playing) -> int | None:
    here = text(play).cursor
    return here.token if here is not None else None


def follows(play: Playing) -> bool:
    return play.controller.viewpoint.following


def at_the_leaf(play: Playing) -> bool:
    return cursor(play) == tree(play).look.landmark(shape(play), "leaf")


def at_the_miss(play: Playing) -> bool:
    return cursor(play) == tree(play).look.landmark(shape(play), "miss")


def at_the_rejected(play: Playing) -> bool:
    return cursor(play) == tree(play).look.landmark(shape(play), "rejected")


def at_the_worst(play: Playing) -> bool:
    lengths = [s.acceptance_length for s in play.controller.session.answers[0].rounds.summaries]
    index = shown(play)
    return index is not None and lengths[index] == min(lengths)


def match(play: Playing) -> int:
    """Which of the matches the cursor is at."""
    return tree(play).look.found.index(cursor(play))


# What is done before


def cursor_at(where: Callable[[DraftShape], int]) -> Callable[[Playing], None]:
    return lambda play: tree(play).put_cursor(where(shape(play)))


def a_search(play: Playing) -> None:
    tree(play).search("␣")
    assert len(tree(play).look.found) > 2
    tree(play).put_cursor(tree(play).look.found[0])


def a_text_cursor(play: Playing) -> None:
    text(play).move("right")


async def a_paused_run(play: Playing) -> None:
    controller = play.controller
    if not controller.session.running:
        controller.hold = True
        assert controller.submit("hello")
        controller.hold = False
        await play.until(lambda: controller.session.answer and controller.session.answer.prefilled)
    assert controller.paused


async def a_finished_answer(play: Playing) -> None:
    controller = play.controller
    if controller.session.running:
        controller.stop()
        await play.until(lambda: not controller.busy)
    controller.hold = False
    if len(controller.session.rounds) <= START + 1:
        assert controller.submit("hello")
        await play.until(lambda: controller.session.rounds and not controller.busy)


Holds = Callable[[Any, Any], bool]


def becomes(value: object) -> Holds:
    return lambda _, after: after == value


def moves(by: int) -> Holds:
    return lambda before, after: after == before + by


def scales(by: float) -> Holds:
    return lambda before, after: after == before * by


def changes(before: object, after: object) -> bool:
    return after != before


def falls(before: int, after: int) -> bool:
    return after < before


def rises(before: int, after: int) -> bool:
    return after > before


@dataclass(frozen=True)
class Effect:
    """What is looked at; what ``holds`` between what it was and what the key has made of it, and does not
    while it is as it was; what is done before."""

    look: Callable[[Playing], Any]
    holds: Holds
    ready: Callable[[Playing], Awaitable[None] | None] | None = None


NEEDS_AN_ENGINE: dict[str, Effect] = {
    "run.stop": Effect(lambda play: play.controller.session.running, becomes(False), a_paused_run),
    "run.pause": Effect(lambda play: play.controller.paused, changes, a_paused_run),
    "run.step": Effect(lambda play: play.rounds, moves(1), a_paused_run),
    "run.prompt": Effect(lambda play: type(play.app.focused), becomes(PromptBox)),
    "run.new": Effect(lambda play: len(play.controller.session.answers), becomes(0)),
    "round.back": Effect(shown, moves(-1)),
    "round.forth": Effect(shown, moves(1)),
    "round.newest": Effect(follows, becomes(True)),
    "time.hold": Effect(lambda play: play.controller.hold, changes),
    "set.mode": Effect(lambda play: play.controller.settings.mode, changes),
    "set.budget": Effect(screen, becomes(ValueScreen)),
    "set.budget_half": Effect(lambda play: play.controller.settings.budget, scales(0.5)),
    "set.budget_twice": Effect(lambda play: play.controller.settings.budget, scales(2)),
    "set.thinking": Effect(lambda play: play.controller.settings.thinking, changes),
    "set.temperature": Effect(screen, becomes(ValueScreen)),
    "set.all": Effect(screen, becomes(SettingsScreen)),
    "chat.prompts": Effect(screen, becomes(PromptsScreen)),
    "chat.system": Effect(screen, becomes(SystemMessageScreen)),
    "keep.runs": Effect(screen, becomes(RunsScreen)),
    "keep.export": Effect(screen, becomes(PickScreen)),
    "attach.requests": Effect(lambda play: len(play.told), rises),  # here that there are none
    "numbers.open": Effect(screen, becomes(NumbersScreen)),
    "race.open": Effect(screen, becomes(PickScreen)),
    "look.zoom": Effect(lambda play: play.app.query_one(RunView).has_class("-only-tree"), becomes(True)),
    "look.theme": Effect(lambda play: play.app.theme, changes),
    "look.help": Effect(screen, becomes(HelpScreen)),
    "app.commands": Effect(screen, becomes(Palette)),
    "app.quit": Effect(lambda play: play.app._exit, becomes(True)),
}
"""And those that also work while one types: these are pressed in the prompt box."""

IN_A_RECORDING: dict[str, Effect] = {
    "round.all": Effect(lambda play: play.rounds, becomes(ROUNDS)),
    "round.first": Effect(shown, becomes(0)),
    "time.back10": Effect(shown, moves(-10)),
    "time.forth10": Effect(shown, moves(10)),
    "time.goto": Effect(screen, becomes(ValueScreen)),
    "time.worst": Effect(at_the_worst, becomes(True)),
    "time.divergence": Effect(shown, becomes(DIVERGENT)),
    "time.play": Effect(lambda play: play.controller.player.playing, changes),
    "time.slower": Effect(lambda play: play.controller.player.speed, scales(0.5)),
    "time.faster": Effect(lambda play: play.controller.player.speed, scales(2)),
    "time.close_up": Effect(lambda play: play.app.query_one(Timeline).close_up, changes),
    "tree.cursor": Effect(at_the_leaf, becomes(True)),
    "tree.unfold": Effect(lambda play: tree(play).look.unfolded, changes),
    "tree.fold_all": Effect(lambda play: set(tree(play).look.closed), becomes({ROOT})),
    "tree.arrangement": Effect(lambda play: tree(play).look.arrangement, changes),
    "tree.more": Effect(lambda play: tree(play).look.level, moves(1)),
    "tree.less": Effect(lambda play: tree(play).look.level, becomes(MOST_DETAIL)),
    "tree.left": Effect(cursor, becomes(ROOT), cursor_at(lambda shape: shape.children[ROOT][0])),
    "tree.right": Effect(cursor, changes, cursor_at(lambda _: ROOT)),
    "tree.up": Effect(cursor, changes, cursor_at(lambda shape: shape.children[ROOT][1])),
    "tree.down": Effect(cursor, changes, cursor_at(lambda shape: shape.children[ROOT][0])),
    "tree.search": Effect(lambda play: type(play.app.focused), becomes(SearchInput)),
    "tree.next": Effect(match, becomes(1), a_search),
    "tree.before": Effect(match, rises, a_search),
    "tree.leaf": Effect(at_the_leaf, becomes(True)),
    "tree.miss": Effect(at_the_miss, becomes(True)),
    "tree.rejected": Effect(at_the_rejected, becomes(True)),
    "tree.first": Effect(shown, becomes(0)),
    "tree.newest": Effect(follows, becomes(True)),
    "tree.fold": Effect(lambda play: tree(play).look.folds(), changes, cursor_at(lambda _: 0)),
    "tree.leave": Effect(cursor, becomes(None), cursor_at(lambda shape: shape.end)),
    "text.cursor": Effect(lambda play: token(play) is None, becomes(False)),
    "text.left": Effect(token, moves(-1), a_text_cursor),
    "text.right": Effect(token, moves(1), a_text_cursor),
    "text.up": Effect(token, falls, a_text_cursor),
    "text.down": Effect(token, rises, a_text_cursor),
    "text.first": Effect(token, becomes(0), a_text_cursor),
    "text.last": Effect(token, rises, a_text_cursor),
    "text.node": Effect(lambda play: type(play.app.focused), becomes(DraftTreeView), a_text_cursor),
    "text.leave": Effect(token, becomes(None), a_text_cursor),
    "text.view": Effect(lambda play: text(play).writing.view, changes),
    "text.tint": Effect(lambda play: text(play).tint, changes),
    "text.fold": Effect(lambda play: bool(text(play).folded), changes),
    "chat.exact": Effect(screen, becomes(ExactPromptScreen)),
    "keep.copy": Effect(screen, becomes(PickScreen)),
    "oracle.check": Effect(screen, becomes(OracleScreen)),
    "doctor.open": Effect(screen, becomes(DiagnosisScreen)),
}


def test_every_key_has_its_effect_here() -> None:
    assert not NEEDS_AN_ENGINE.keys() & IN_A_RECORDING.keys()
    assert NEEDS_AN_ENGINE.keys() | IN_A_RECORDING.keys() == {key.id for key in KEYS}
    assert not [key.id for key in KEYS if key.always and key.id in IN_A_RECORDING]


async def stage(play: Playing, effect: Effect, focus: str) -> None:
    """Everything as it was at first, painted, but what the effect needs."""
    app, controller = play.app, play.controller
    while len(app.screen_stack) > 1:
        app.pop_screen()
    app.query_one(RunView).remove_class("-only-tree", "-only-text")
    app.query_one(TreeSearch).close()
    text(play).put_cursor(None)
    tree(play).look = TreeLook()
    tree(play).look_changed()
    controller.show(START)
    app.query_one(f"#{focus}").focus() if focus else app.screen.set_focus(None)
    await play.pilot.pause()
    await app._paint_at_once()
    done = effect.ready(play) if effect.ready is not None else None
    if done is not None:
        await done
    await app._paint_at_once()
    await play.pilot.pause()


async def press(play: Playing, key: Key, name: str, effect: Effect) -> None:
    before = effect.look(play)
    assert not effect.holds(before, before), f"{key.id}, {name}: there is nothing to be seen of it"
    await play.pilot.press(name)
    end = time.monotonic() + 60
    while not effect.holds(before, effect.look(play)):
        assert time.monotonic() < end, f"{key.id}, {name}: {before} before, {effect.look(play)} after"
        await play.pilot.pause(0.01)


PANES = {"": "", tree_keys.PANE: "tree", transcript_keys.PANE: "transcript"}


async def test_keys_with_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with playing(rounds=ROUNDS, rounds_per_second=2000) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        for key in sorted(KEYS, key=lambda key: key.id == "app.quit"):
            for name in key.all_keys() if key.id in NEEDS_AN_ENGINE else ():
                await a_finished_answer(play)
                focus = "prompt" if name in key.always.split(",") else ""
                await stage(play, NEEDS_AN_ENGINE[key.id], focus)
                await press(play, key, name, NEEDS_AN_ENGINE[key.id])


async def test_keys_in_a_recording() -> None:
    events: list[AnyEvent] = conversation(1, rounds=ROUNDS)
    events = [replace(event, t=1000 * event.t) for event in events]  # so slow that it is paused in time
    place = next(n for n, event in enumerate(events) if isinstance(event, Round) and event.index == DIVERGENT)
    events.insert(
        place + 1,
        Divergence(round=DIVERGENT, node=-1, position=50, id=3, target_id=4, gap=0.5, verdict="defect"),
    )
    async with replaying(events, at_once=False, stopped=True) as play:
        assert play.controller.playback is not None
        play.controller.playback.pause(play.app.now())
        for key in sorted(KEYS, key=lambda key: key.id != "round.all"):
            for name in key.all_keys() if key.id in IN_A_RECORDING else ():
                await stage(play, IN_A_RECORDING[key.id], PANES[key.pane])
                await press(play, key, name, IN_A_RECORDING[key.id])
