"""The app itself, driven by keys, on a scripted engine and on recordings."""

from __future__ import annotations

import re
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest
from make_recording import Recording, conversation
from playing import ask, playing, replaying
from rich.cells import cell_len
from scripted_engine import ScriptedEngine
from textual.command import CommandList, CommandPalette
from textual.events import Resize
from textual.geometry import Size
from textual.widgets import Input

from ddtree_tui.glyphs import DRAWING_MEANINGS, LEGEND
from ddtree_tui.overview import MARK_MEANINGS
from ddtree_tui.playground import KEYS
from ddtree_tui.screens.help import KeyTable
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.screens.value import ValueScreen
from ddtree_tui.session import Phase
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.knobs import Knob
from ddtree_tui.widgets.prompt import PromptBox
from ddtree_tui.widgets.timeline import LABEL_CELLS, Timeline
from engine.commands import Cancel, Generate, Pause, Resume, Set, Step
from engine.errors import EngineError
from engine.events import AnyEvent, Failed, Loaded, Prefilled
from engine.settings import DecodeSettings


async def test_the_first_screen_explains_itself() -> None:
    for size in ((80, 24), (120, 40)):
        async with playing(size=size) as play:
            await play.settle()
            text = play.text()
            assert "Type a prompt below and press Enter" in text
            assert "What is 47 + 85?" in text
            for name in ("root", "accepted", "bonus", "near miss", "rejected", "not reached", "folded"):
                assert re.search(rf"\b{name}\b", text), name
            assert "F1 keys" in text
            for sign in ("✓ ␣cat .71", "★ ␣the", "✗→␣the #3 .08", "✗ ␣dog .20"):  # the example of a tree
                assert sign in text, sign
            assert ("├─4─ branches off at depth 4" in text) == ("├─4─✗" in text)
            assert play.app.focused is play.app.query_one(PromptBox)


async def test_loading_is_shown() -> None:
    engine = ScriptedEngine(loads=False)
    async with playing(engine=engine) as play:
        await play.until(lambda: "reading the" in play.part("#top-line"))
        assert "━" in play.part("#top-line") or "─" in play.part("#top-line")
        engine.script.loads = True
        await play.until(lambda: play.controller.session.loaded)
        await play.settle()
        line = play.part("#top-line")
        assert "demo" in line
        assert "cpu float32" in line
        assert "9 gated-delta + 3 attention layers" in line
        assert "tree 64" in line
        assert "ready" in line


async def test_a_prompt_sent_while_loading_is_seen_to_wait_and_can_be_taken_back() -> None:
    engine = ScriptedEngine(loads=False, rounds=3)
    async with playing(size=(80, 24), engine=engine) as play:
        await play.type("hello [/b]")
        await play.pilot.press("enter")
        await play.settle()
        assert "waits for the models: hello [/b]  Esc takes it back" in play.text()
        await play.pilot.press("escape")
        await play.settle()
        assert "waits for the models" not in play.text()
        assert play.app.query_one(PromptBox).text == "hello [/b]"
        await play.pilot.press("enter")
        engine.script.loads = True
        await play.until(lambda: play.controller.session.answers)
        await play.settle()
        assert "waits for the models" not in play.text()


async def test_a_run_from_prompt_to_end() -> None:
    async with playing(rounds=12, stops_at=5, settings=DecodeSettings(thinking=True)) as play:
        await ask(play)
        assert play.app.focused is play.app.query_one(DraftTreeView)
        play.engine.script.stops_at = 12
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        answer = play.controller.session.answers[0]
        assert answer.finished is not None
        text = play.text()
        assert "❯ hello" in text
        assert "thinking" in play.part("#transcript")
        assert "round 12 of 12" in text
        assert f"{answer.finished.mean_acceptance_length:.2f}" in play.part("#stats")
        assert "●" in play.part("#tree").strip().splitlines()[0]
        assert "▲12" in play.part("#timeline")
        assert "ended by itself" in text
        assert play.app.focused is play.app.query_one(PromptBox)
        await play.type("again")
        await play.pilot.press("enter")
        await play.until(lambda: len(play.controller.session.answers) == 2 and not play.controller.busy)
        await play.settle()
        assert "┊" in play.part("#timeline")
        assert "❯ again" in play.part("#transcript")


async def test_examples_can_be_picked() -> None:
    async with playing(rounds=3) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("shift+tab")
        while not isinstance(play.app.focused, PromptBox) and play.app.focused.id != "examples":
            await play.pilot.press("shift+tab")
            if "Examples" in type(play.app.focused).__name__:
                break
        await play.pilot.press("down", "enter")
        await play.until(lambda: play.controller.session.answers)
        assert play.controller.session.answers[0].prompt.startswith("Tom has")


async def test_the_prompt_box_recalls_and_grows() -> None:
    async with playing(rounds=2) as play:
        box = play.app.query_one(PromptBox)
        await play.type("draft")
        await play.pilot.press("up")
        assert box.text == "What is 47 + 85?"
        await play.pilot.press("up")
        assert box.text.startswith("Tom has")
        await play.pilot.press("down", "down")
        assert box.text == "draft"
        await play.pilot.press("ctrl+j")
        await play.type("two")
        await play.settle()
        assert box.text == "draft\ntwo"
        assert box.size.height == 2
        await play.pilot.press("up")
        assert box.text == "draft\ntwo"  # the cursor moved within the text
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        assert box.text == ""
        await play.pilot.press("up")
        assert box.text == "draft\ntwo"


async def test_enter_does_not_overtake_the_text_before_it() -> None:
    async with playing(rounds=2) as play:
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        for key in ("h", "i", "enter"):  # all at once, as a script or a fast paste sends them
            play.app.simulate_key(key)
        await play.until(lambda: play.controller.session.answers)
        assert play.controller.session.answers[0].prompt == "hi"


async def test_stepping_through_rounds_while_the_run_goes_on() -> None:
    async with playing(rounds=2000, rounds_per_second=400, stops_at=11) as play:
        await ask(play)
        await play.until(lambda: play.rounds == 11)
        await play.pilot.press("left", "left", "left")
        shown = play.controller.viewpoint.index(10**6)
        assert shown == 7
        play.engine.script.stops_at = 22
        await play.until(lambda: play.rounds == 22)
        await play.settle()
        assert play.controller.viewpoint.index(10**6) == shown
        assert f"round {shown + 1} of" in play.part("#heading")
        assert "looking back" in play.part("#heading")
        await play.pilot.press("right_square_bracket")
        assert play.controller.viewpoint.index(10**6) == shown + 1
        await play.pilot.press("home")
        await play.settle()
        assert "round 1 of" in play.part("#heading")
        await play.pilot.press("end")
        await play.settle()
        assert play.controller.viewpoint.following
        assert "following" in play.part("#heading")
        await play.pilot.press("i", "f3")  # the same keys from the prompt box
        assert play.app.focused is play.app.query_one(PromptBox)
        assert not play.controller.viewpoint.following
        await play.pilot.press("f5")
        assert play.controller.viewpoint.following
        play.engine.script.stops_at = 61
        await play.until(lambda: play.rounds == 61)  # a cell per round from here on
        await play.settle()
        await play.pilot.click(Timeline, offset=(3 + LABEL_CELLS, 0))
        assert play.controller.viewpoint.index(play.rounds) == 2


async def test_pause_step_and_stop() -> None:
    async with playing(rounds=5000, rounds_per_second=40) as play:
        await ask(play)
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.rounds > 3)
        await play.pilot.press("space")
        await play.at_rest()
        assert "paused" in play.part("#top-line")
        count = play.rounds
        await play.pilot.press("n")
        await play.until(lambda: play.rounds > count)
        await play.at_rest()
        assert play.rounds == count + 1
        await play.pilot.press("f6")
        await play.until(lambda: play.rounds > count + 1)
        await play.at_rest()
        assert play.rounds == count + 2
        await play.pilot.press("f2")
        await play.until(lambda: play.rounds > count + 5)
        await play.pilot.press("escape")
        await play.until(lambda: not play.controller.busy)
        kinds = [type(c) for c in engine.sent if isinstance(c, Pause | Step | Resume | Cancel)]
        assert kinds == [Pause, Step, Step, Resume, Cancel]
        await play.settle()
        assert "stopped" in play.part("#transcript")
        assert "ready" in play.part("#top-line")


async def test_knobs() -> None:
    async with playing(rounds=5000, rounds_per_second=40) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.settle()
        line = play.part("#knobs")
        text = play.text()
        assert "from the next round:" in text
        assert "from the next run:" in text
        play.app.query_one("#knob-budget", Knob).focus()
        await play.pilot.press("right")
        assert play.controller.settings.budget == 128
        await play.pilot.press("left", "left")
        assert play.controller.settings.budget == 32
        play.app.query_one("#knob-mode", Knob).focus()
        await play.pilot.press("right")
        assert play.controller.settings.mode == "ar"
        await play.pilot.press("left")
        assert play.controller.settings.mode == "tree"
        play.app.query_one("#knob-temperature", Knob).focus()
        await play.pilot.press("right")
        assert play.controller.settings.temperature == 0.2
        await play.pilot.press("f9")
        assert play.controller.settings.thinking
        await play.settle()
        assert "thinking  on" in play.text()
        assert "temperature  0.2" in play.text()
        assert line is not None
        play.app.action_focus_prompt()
        await ask(play)
        await play.pilot.press("m")
        await play.until(
            lambda: play.controller.session.rounds[-1:] and play.controller.session.rounds[-1][1].mode == "ar"
        )
        await play.pilot.press("m", "m", "minus")
        await play.until(lambda: play.controller.session.rounds[-1][1].budget == 16)
        assert len(engine.sent_of(Set)) == 4
        await play.pilot.press("escape")


async def test_values_are_typed_and_wrong_ones_explained() -> None:
    async with playing() as play:
        await play.pilot.press("f8")
        await play.settle()
        assert isinstance(play.app.screen, ValueScreen)
        assert "from the next round on" in play.text()
        play.app.screen.query_one(Input).value = "0"
        await play.pilot.press("enter")
        await play.settle()
        assert "The budget cannot be 0." in play.text()
        assert play.controller.settings.budget == 64
        play.app.screen.query_one(Input).value = "many"
        await play.pilot.press("enter")
        await play.settle()
        assert "The budget cannot be 'many'." in play.text()
        play.app.screen.query_one(Input).value = "48"
        await play.pilot.press("enter")
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert play.controller.settings.budget == 48
        assert "budget  48" in play.text()


async def test_keys_of_the_main_screen_rest_while_a_dialog_is_open() -> None:
    async with playing() as play:
        await play.pilot.press("f8", "f7", "f9")
        assert play.controller.settings == DecodeSettings()
        await play.pilot.press("escape")
        assert len(play.app.screen_stack) == 1
        await play.pilot.press("f7")
        assert play.controller.settings.mode == "ar"


async def test_a_dead_engine_is_told_and_restarted() -> None:
    async with playing(rounds=4) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        await play.settle()
        await play.type("die")
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        text = play.text()
        assert "The engine was killed by signal 9." in text
        assert "Start it again." in text
        assert "test.log" in text
        assert "Restart engine" in text
        await play.pilot.press("enter")
        await play.until(lambda: play.controller.session.phase is Phase.READY)
        await play.settle()
        assert engine.starts == 2
        assert "❯ hello" in play.part("#transcript")
        assert play.rounds == 4
        play.app.action_focus_prompt()
        await ask(play, "more")


async def test_models_that_do_not_load_are_told() -> None:
    failed = Failed(
        error="model_not_found", message="There is no model [/b]nowhere.", hint="Check [bold]the name."
    )
    async with playing(engine=ScriptedEngine(fail_to_load=failed), model="nowhere") as play:
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "There is no model [/b]nowhere." in play.text()
        assert "Check [bold]the name." in play.text()
        await play.pilot.press("escape")
        await play.settle()
        assert "engine stopped" in play.part("#top-line")


async def test_a_failed_run_is_told() -> None:
    async with playing(rounds=4) as play:
        await ask(play, "fail")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "The prompt is too long." in play.text()
        assert "Restart engine" not in play.text()
        await play.pilot.press("escape")
        assert "✗ The prompt is too long." in play.part("#transcript")


async def test_a_trace_that_ends_is_told() -> None:
    async with playing(rounds=4) as play:
        assert isinstance(play.engine, ScriptedEngine)
        play.engine.trouble.append(EngineError("trace_write", "There is no room left.", "The run goes on."))
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "There is no room left." in play.text()


async def test_naive_verification_is_called_wrong_everywhere() -> None:
    wrong = "WRONG ON HYBRIDS: verify=naive"
    for size in ((120, 40), (80, 24)):
        async with playing(rounds=3, size=size, settings=DecodeSettings(verify="naive")) as play:
            await play.settle()
            assert wrong in play.text()
            await ask(play)
            await play.until(lambda play=play: not play.controller.busy)
            await play.settle()
            assert wrong in play.part("#wrong")
            assert wrong in play.part("#transcript")
            assert wrong in play.part("#heading")
            if size[0] >= 100:
                assert wrong in play.part("#stats")


def naive_on(kinds: dict[str, int]) -> list[AnyEvent]:
    """A recording of naive verification on a target with such layers."""
    events = conversation(0)
    for number, event in enumerate(events):
        if isinstance(event, Loaded):
            target = msgspec.structs.replace(event.target, layer_kinds=kinds)
            events[number] = msgspec.structs.replace(event, target=target)
        elif isinstance(event, Prefilled):
            settings = msgspec.structs.replace(event.settings, verify="naive")
            events[number] = msgspec.structs.replace(event, settings=settings)
    return events


async def test_naive_verification_is_right_on_attention_alone() -> None:
    async with replaying(naive_on({"full_attention": 12})) as play:
        assert play.controller.session.answers[0].settings.verify == "naive"
        assert "WRONG" not in play.text()
    async with replaying(naive_on({"full_attention": 3, "linear_attention": 9})) as play:
        assert "WRONG ON HYBRIDS" in play.text()


async def test_the_prompt_box_says_how_to_come_back() -> None:
    async with playing(rounds=3) as play:
        await play.settle()
        assert "Type a prompt, Enter runs it" in play.part("#ask")
        await play.pilot.press("tab")
        await play.settle()
        assert "Press i to type a prompt" in play.part("#ask")
        await play.pilot.press("i")
        await play.settle()
        assert "Type a prompt, Enter runs it" in play.part("#ask")


async def test_verification_can_be_switched_from_the_palette() -> None:
    async with playing() as play:
        await play.pilot.press("ctrl+p")
        await play.type("naive")
        await play.until(
            lambda: "naive" in str(play.app.screen.query_one(CommandList).options[0].prompt).lower()
        )
        await play.pilot.press("enter", "enter")
        await play.settle()
        assert play.controller.settings.verify == "naive"
        assert "WRONG ON HYBRIDS" in play.text()


async def test_a_prompt_from_the_command_line_runs_by_itself() -> None:
    async with playing(rounds=3, prompt="from outside", load_seconds=0.1) as play:
        await play.until(lambda: play.controller.session.answers)
        assert play.controller.session.answers[0].prompt == "from outside"


async def test_new_conversation_shows_the_first_screen_again() -> None:
    async with playing(rounds=3) as play:
        await ask(play)
        await play.until(lambda: not play.controller.busy)
        await play.pilot.press("ctrl+n")
        await play.settle()
        assert "Type a prompt below" in play.text()
        assert isinstance(play.engine, ScriptedEngine)
        await ask(play)
        sent = play.engine.sent_of(Generate)[-1]
        assert isinstance(sent, Generate)
        assert len(sent.messages) == 1


async def test_light_and_dark() -> None:
    async with replaying(conversation(0)) as play:
        dark = play.app.screen.styles.background
        await play.pilot.press("ctrl+t")
        await play.settle()
        assert not play.app.current_theme.dark
        assert play.app.screen.styles.background != dark
        await play.pilot.press("ctrl+t")
        assert play.app.current_theme.dark
        play.app.theme = "nord"  # themes that know nothing of our colours work too
        await play.settle()
        assert "●" in play.part("#tree")


async def test_zoom() -> None:
    async with replaying(conversation(0)) as play:
        height = play.app.query_one(DraftTreeView).size.height
        await play.pilot.press("z")
        await play.settle()
        assert play.app.query_one(DraftTreeView).size.height > height + 5
        assert not play.app.query_one("#transcript").region
        await play.pilot.press("ctrl+o")
        await play.settle()
        assert not play.app.query_one(DraftTreeView).region
        assert play.app.query_one("#transcript").size.height > 15
        await play.pilot.press("z")
        await play.settle()
        assert play.app.query_one(DraftTreeView).size.height == height


async def test_unfolding_shows_every_node_and_scrolls() -> None:
    async with replaying(conversation(0, budget=256)) as play:
        view = play.app.query_one(DraftTreeView)
        assert view.hidden > 0
        folded = play.part("#tree")
        assert "▸ +" in folded
        await play.pilot.press("e")
        await play.settle()
        assert view.hidden == 0
        assert view.max_scroll_y > 0
        first = play.part("#tree").splitlines()[1]
        await play.pilot.press("down", "down", "down")
        await play.settle()
        assert view.scroll_offset.y == 3
        assert play.part("#tree").splitlines()[1] != first
        await play.pilot.press("e")
        await play.settle()
        assert view.scroll_offset.y == 0
        assert play.part("#tree") == folded


async def test_a_tree_wider_than_the_screen_scrolls_sideways() -> None:
    async with replaying(conversation(0), size=(30, 24)) as play:
        view = play.app.query_one(DraftTreeView)
        await play.pilot.press("e")
        await play.settle()
        assert view.max_scroll_x > 2
        await play.pilot.press("shift+right", "shift+right")
        await play.settle()
        assert view.scroll_offset.x == 2
        await play.pilot.press("shift+left")
        await play.settle()
        assert view.scroll_offset.x == 1


@pytest.mark.parametrize(
    "size", [(80, 24), (99, 30), (100, 32), (120, 40), (160, 48), (240, 70), (40, 12), (20, 8)]
)
async def test_sizes(size: tuple[int, int]) -> None:
    async with replaying(conversation(0), size=size) as play:
        text = play.text()
        assert max(cell_len(line) for line in text.splitlines()) <= size[0]
        if size >= (80, 24):
            for part in ("#transcript", "#stats", "#heading", "#tree", "#timeline", "#knobs", "#keys"):
                assert play.part(part).strip(), part
            assert ("┬" in play.part("#tree")) == (size[0] >= 100)
        await play.pilot.press("left", "home", "end", "e", "z")
        await play.settle()


async def test_resizing_draws_anew() -> None:
    async with replaying(conversation(0)) as play:
        assert "┬" in play.part("#tree")
        await play.pilot.resize_terminal(80, 24)
        await play.settle()
        assert "┬" not in play.part("#tree")
        assert "├─" in play.part("#tree")
        assert len(play.part("#stats").splitlines()) == 1
        await play.pilot.resize_terminal(160, 48)
        await play.settle()
        assert "rounds by acceptance length" in play.part("#stats")


async def test_sizes_that_overtake_one_another_come_to_rest() -> None:
    async with replaying(conversation(0)) as play:
        for key in ("", "f1", "escape", "ctrl+l"):
            await play.pilot.press(*filter(None, [key]))
            await play.settle()
            screen = play.app.screen
            with patch.object(screen, "_screen_resized", wraps=screen._screen_resized) as laid_out:
                for size in (Size(40, 12), Size(60, 80), play.app.size, Size(20, 5)):
                    screen.post_message(Resize(size, size))
                    screen.call_later(lambda: None)  # neighbours would become one
                for _ in range(30):
                    await play.pilot.pause()
                drawn = [call.args[0] for call in laid_out.call_args_list]
            assert set(drawn) == {play.app.size}
            assert len(drawn) < 5
            assert screen.size == play.app.size


async def test_a_page_of_commands_turned_before_they_are_laid_out_stays() -> None:
    async with playing() as play:
        await play.pilot.press("ctrl+p")
        await play.settle()
        palette = play.app.screen
        assert isinstance(palette, CommandPalette)
        commands = palette.query_one(CommandList)
        commands._index_to_line.clear()  # as it is right after typing
        assert commands.options
        palette._action_command_list("page_down")
        await play.settle()
        assert palette is play.app.screen


async def test_a_command_palette_that_is_closed_twice_is_closed() -> None:
    async with replaying(conversation(0)) as play:
        await play.pilot.press("ctrl+p")
        await play.settle()
        palette = play.app.screen
        assert isinstance(palette, CommandPalette)
        palette.dismiss()
        palette.dismiss()  # as Enter does, pressed faster than it closes
        await play.settle()
        assert play.app.screen_stack == [play.app.screen]
        assert palette is not play.app.screen


async def test_replay_plays_pauses_and_steps() -> None:
    events = [*Recording(0, ms=60.0).start(), *Recording(0, ms=60.0).answer("hello", rounds=40)]
    async with replaying(events, at_once=False, stopped=True) as play:
        await play.pass_time(0.3)
        await play.pilot.press("space")
        count = play.rounds
        assert 2 < count < 10
        await play.pass_time(60)
        assert play.rounds == count
        assert "paused" in play.part("#replay-bar")
        await play.pilot.press("right")
        assert play.rounds == count + 1
        await play.pilot.press("left", "left")
        await play.settle()
        assert f"round {count - 1} of {count + 1}" in play.part("#heading")
        await play.pilot.press("space")
        await play.pass_time(0.4)
        assert count + 3 < play.rounds < 40
        await play.pilot.press("a")
        await play.until(lambda: play.rounds == 40)
        await play.settle()
        assert "all played" in play.part("#replay-bar")
        assert "run.jsonl" in play.part("#replay-bar")
        await play.pilot.press("home")
        await play.settle()
        assert "round 1 of 40" in play.part("#heading")


async def test_replay_changes_nothing() -> None:
    async with replaying(conversation(0)) as play:
        before = play.controller.settings
        await play.pilot.press("m", "t", "minus", "f7", "f8", "f9", "T", "ctrl+n", "escape", "n", "i")
        await play.settle()
        assert play.controller.settings == before
        assert len(play.app.screen_stack) == 1
        assert play.rounds == 40
        assert play.app.query("#knobs Knob").first().disabled or play.app.query_one("#knobs").disabled
        assert not play.app.query_one("#ask").display
        assert "recorded with: mode" in play.part("#knobs")
        assert "next run" not in play.part("#knobs")


@pytest.mark.parametrize("mode", ["ar", "chain"])
async def test_other_modes(mode: str) -> None:
    async with replaying(conversation(0, mode=mode)) as play:  # type: ignore[arg-type]
        assert "★" in play.part("#tree")
        assert mode in play.part("#heading")
        assert mode in play.part("#top-line")


async def test_help_is_not_cut_in_a_small_terminal() -> None:
    async with playing(size=(80, 24)) as play:
        await play.pilot.press("f1")
        await play.settle()
        seen = play.text()
        await play.pilot.press("tab")
        for _ in range(8):
            await play.pilot.press("pagedown")
            await play.settle()
            seen += play.text()
        for what in [*(key.help for key in KEYS), *(what for *_, what in LEGEND), *MARK_MEANINGS.values()]:
            assert what in seen
        for title, rows in DRAWING_MEANINGS:
            for what in (title, *(f"{sign} " for sign, _ in rows), *(meaning for _, meaning in rows)):
                assert what in seen


async def test_help_begins_with_the_pane_in_focus() -> None:
    """From the draft tree with what is drawn there: it is the signs one asks for."""
    async with replaying(conversation(1, rounds=3), size=(120, 100)) as play:
        for key, first, pane in (("r", "", "in the text"), ("c", "last committed", "in the draft tree")):
            await play.pilot.press(key, "f1")
            await play.settle()
            assert ("", pane, "") in play.app.screen.query(KeyTable).first().rows[:2]
            text = play.text()
            assert text.index(first) <= text.index(pane) < text.index("always")
            await play.pilot.press("escape")


async def test_help() -> None:
    async with playing() as play:
        await play.pilot.press("f1")
        await play.settle()
        assert "follow the newest round again" in play.text()
        assert "near miss" in play.text()
        await play.pilot.press("escape")
        assert len(play.app.screen_stack) == 1


async def test_quitting_ends_the_engine() -> None:
    async with playing(stops_at=3) as play:
        await ask(play)
        await play.pilot.press("ctrl+q")
    assert isinstance(play.engine, ScriptedEngine)
    assert play.engine.stopped


async def test_a_defect_of_the_app_is_a_sentence_and_a_log(tmp_path: Path) -> None:
    from playing import options_for

    from ddtree_tui.controller import Controller
    from ddtree_tui.playground import PlaygroundApp

    log = tmp_path / "app.log"
    controller = Controller(DecodeSettings(), engine=ScriptedEngine(), log_path=log)
    app = PlaygroundApp(controller, options_for(DecodeSettings(), debug=False, log_path=log))

    async def run() -> None:
        async with app.run_test() as pilot:
            app.call_later(lambda: 1 // 0)
            while app.is_running:
                await pilot.pause(0.01)

    with pytest.raises(ZeroDivisionError):
        await run()
    assert "ZeroDivisionError" in log.read_text()
    assert app.return_code == 1
