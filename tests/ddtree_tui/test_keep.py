"""Recording, as the app shows it."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec
import pytest
from make_recording import Recording, conversation
from playing import Playing, playing, replaying
from textual import events

from ddtree_tui import cli
from ddtree_tui.clipboard import copies_file
from ddtree_tui.command_line import reproducing_command
from ddtree_tui.export.formats import FORMATS, Format, exported_round, exported_run, new_file
from ddtree_tui.options import AppOptions, GenerateOptions
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import paths_of
from ddtree_tui.screens.confirm import ConfirmScreen
from ddtree_tui.screens.pick import PickScreen
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.screens.runs import RunsScreen
from ddtree_tui.screens.value import ValueScreen
from ddtree_tui.widgets.draft_tree import DraftTreeView
from ddtree_tui.widgets.prompt import PromptBox
from engine.errors import EngineError
from engine.events import Loaded, Round, Tokens
from engine.settings import DecodeSettings
from engine.trace import read_trace


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
        await play.until(lambda: play.told)
        (notice,) = play.told
        assert notice.startswith(message)
        assert len(play.app.screen_stack) == 1
        await play.until(lambda: not play.controller.busy)
        assert play.rounds == 20


def recorded(folder: Path, *prompts: str, rounds: int = 20, **settings: object) -> None:
    for seed, prompt in enumerate(prompts):
        synthetic = Recording(seed)
        recorder = Recorder(folder, clock=lambda seed=seed: 1_790_000_000.0 + 60 * seed)  # type: ignore[misc]
        answer = synthetic.answer(prompt, rounds=rounds, settings=DecodeSettings(**settings))  # type: ignore[arg-type]
        for event in [*synthetic.start(), *answer]:
            recorder.take(event)
        recorder.close()


async def runs_screen(play: Playing) -> RunsScreen:
    await play.pilot.press("ctrl+r")
    await play.until(lambda: isinstance(play.app.screen, RunsScreen))
    screen = play.app.screen
    assert isinstance(screen, RunsScreen)
    await play.until(lambda: not screen._reading)
    await play.settle()
    return screen


async def test_runs_are_listed_the_newest_first_and_searched_while_one_types(state: Path) -> None:
    recorded(state, "the [bold]first[/bold] \x1b[31m fox", "the second owl", "the third fox")
    async with playing() as play:
        screen = await runs_screen(play)
        assert "Recorded runs: 3 runs" in play.text()
        assert [run.prompt[:7] for run in screen._listed] == ["the thi", "the sec", "the [bo"]
        assert "the [bold]first[/bold] ␛[31m fox" in play.text()
        await play.type("fox THIRD")
        await play.settle()
        assert "1 of 3 runs" in play.text()
        assert "second" not in play.text()
        await play.type("x")
        await play.settle()
        assert "No run has all these words." in play.text()
        await play.pilot.press("enter")
        assert play.app.screen is screen
        await play.pilot.press("escape")
        await play.until(lambda: len(play.app.screen_stack) == 1)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_every_size_shows_the_numbers_of_a_run(state: Path, size: tuple[int, int]) -> None:
    recorded(state, "what is it " * 40)
    async with playing(size=size) as play:
        screen = await runs_screen(play)
        (run,) = screen._listed
        text = play.text()
        for shown in (f"{run.mean:.2f}", str(run.tokens), "tree 64", "what is it what is it", "a round"):
            assert shown in text
        line = next(line for line in text.split("\n") if "what is it" in line)
        assert ("demo" in line) == (size[0] > 80)


async def test_the_list_is_explained(state: Path) -> None:
    recorded(state, "what is it")
    async with playing() as play:
        screen = await runs_screen(play)
        await play.pilot.press("f1")
        await play.until(lambda: "As the run began" in play.text())
        await play.pilot.press("escape")
        await play.until(lambda: play.app.screen is screen)


async def test_an_empty_list_says_where_it_looks(state: Path) -> None:
    async with playing() as play:
        await runs_screen(play)
        assert "No run has been recorded in" in play.text()
        await play.pilot.press("enter", "delete", "ctrl+s")
        assert isinstance(play.app.screen, RunsScreen)


async def test_a_run_is_replayed_in_place_while_the_other_goes_on(state: Path) -> None:
    recorded(state, "an old one", rounds=12)
    async with playing(rounds=5000, rounds_per_second=20) as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        live = play.controller
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.rounds > 3)
        await runs_screen(play)
        await play.pilot.press("enter")
        await play.until(lambda: play.controller.playback is not None)
        await play.pilot.press("a")
        await play.until(lambda: play.rounds == 12)
        await play.settle()
        assert "an old one" in play.part("#transcript")
        assert "recorded run" in play.part("#replay-bar")
        assert "recorded with:" in play.part("#knobs")
        assert "Esc back" in play.part("#keys")
        assert not play.app.query_one("#ask").display
        before = len(live.session.rounds)
        await play.until(lambda: len(live.session.rounds) > before)
        await play.pilot.press("i")  # no prompt here
        assert play.app.screen.focused is not play.app.query_one(PromptBox)
        await play.pilot.press("escape")
        await play.until(lambda: play.controller is live)
        await play.settle()
        assert "an old one" not in play.part("#transcript")
        assert "next round" in play.part("#knobs")
        assert play.app.query_one("#ask").display
        assert isinstance(play.app.screen.focused, PromptBox)
        await play.pilot.press("escape")
        await play.until(lambda: not play.controller.busy)


async def test_a_damaged_run_is_a_dialog(state: Path) -> None:
    recorded(state, "an old one", rounds=60)
    async with playing() as play:
        screen = await runs_screen(play)
        (run,) = screen._listed
        data = bytearray(run.path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        run.path.write_bytes(data)
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "damaged" in play.text()
        assert play.controller.playback is None


async def test_a_run_is_deleted_only_after_a_yes(state: Path) -> None:
    recorded(state, "one", "two")
    async with playing() as play:
        screen = await runs_screen(play)
        for answer, left in (
            (["enter"], 2),
            (["escape"], 2),
            (["n"], 2),
            (["y"], 1),
            (["right", "enter"], 0),
        ):
            await play.pilot.press("delete")
            await play.until(lambda: isinstance(play.app.screen, ConfirmScreen))
            await play.pilot.press(*answer)
            await play.until(lambda: play.app.screen is screen)
            await play.settle()
            assert len(screen._listed) == left
            assert len(paths_of(state)) == left


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
async def test_the_shown_round_and_run_are_exported(state: Path, kind: Format) -> None:
    async with replaying(conversation(0, rounds=10)) as play:
        await play.pilot.press("home", "right", "x")
        await play.until(lambda: isinstance(play.app.screen, PickScreen))
        await play.pilot.press(kind.key)
        await play.until(lambda: isinstance(play.app.screen, ValueScreen))
        await play.pilot.press("enter")
        path = Path(f"ddtree-round-2.{kind.name}" if kind.of_round else f"ddtree-run.{kind.name}")
        await play.until(lambda: any("Written" in notice for notice in play.told))
        session = play.controller.session
        answer, round_ = session.rounds[1]
        if kind.of_round:
            expected = exported_round(kind.name, answer.vocabulary, round_)
        else:
            expected = exported_run(kind.name, answer)
        assert path.read_bytes() == b"".join(expected)


async def test_an_export_never_overwrites(state: Path) -> None:
    async with replaying(conversation(0, rounds=10)) as play:
        Path("mine.svg").write_text("mine")
        await play.pilot.press("x", "s")
        await play.until(lambda: isinstance(play.app.screen, ValueScreen))
        await play.pilot.press("ctrl+u")
        await play.type("mine.svg")
        await play.pilot.press("enter")
        await play.settle()
        assert "mine.svg exists already." in play.text()
        assert Path("mine.svg").read_text() == "mine"
        await play.pilot.press("escape")


@pytest.mark.parametrize("name", ["~nobody-at-all/x.svg", "x" * 300, "a\0b", "nowhere/x.svg", ""])
def test_names_that_no_file_can_have_are_said(state: Path, name: str) -> None:
    with pytest.raises(EngineError, match=r"cannot be used|is in no folder|exists already"):
        new_file(name)


async def test_a_listed_run_is_exported_without_being_shown(state: Path) -> None:
    recorded(state, "an old one", rounds=12)
    async with playing() as play:
        await runs_screen(play)
        await play.pilot.press("ctrl+s")
        await play.until(lambda: isinstance(play.app.screen, PickScreen))
        await play.pilot.press("j")
        await play.until(lambda: isinstance(play.app.screen, ValueScreen))
        await play.pilot.press("enter")
        await play.until(lambda: Path("ddtree-run.jsonl").exists())
        assert play.controller.playback is None
    assert sum(isinstance(event, Round) for event in read_trace(Path("ddtree-run.jsonl")).events) == 12


async def test_copies_go_to_the_clipboard_and_into_a_file(state: Path) -> None:
    async with replaying(conversation(1, rounds=10)) as play:
        answer, _ = play.controller.session.rounds[-1]
        expected = {
            "a": answer.text.answer,  # type: ignore[union-attr]
            "s": answer.text.thinking,  # type: ignore[union-attr]
            "i": str(answer.finished.output_ids),  # type: ignore[union-attr]
            "t": "<|im_end|>",
            "c": reproducing_command(answer.prefilled, play.controller.session.loaded, None),  # type: ignore[arg-type]
        }
        for key, text in expected.items():
            await play.pilot.press("y")
            await play.until(lambda: isinstance(play.app.screen, PickScreen))
            await play.pilot.press(key)
            await play.until(lambda: len(play.app.screen_stack) == 1)
            assert play.app.clipboard == text
            assert copies_file().read_bytes().decode() == text
            assert str(copies_file()) in play.told[-1]


async def test_the_token_under_the_cursor_is_copied(state: Path) -> None:
    async with replaying(conversation(1, rounds=10)) as play:
        await play.pilot.press("home", "c")
        await play.settle()
        round_ = play.controller.session.rounds[0][1]
        for place, token in ((0, round_.nodes.ids[0]), (5, round_.nodes.ids[5]), (-1, round_.root_id)):
            play.app.query_one(DraftTreeView).put_cursor(place)
            await play.pilot.press("y", "t")
            await play.until(lambda: len(play.app.screen_stack) == 1)
            raw = play.controller.session.vocabulary.token_bytes(token)
            assert (
                play.app.clipboard == raw.decode(errors="surrogateescape").encode(errors="replace").decode()
            )


async def test_an_answer_of_another_target_keeps_its_tokens(state: Path) -> None:
    events = conversation(1, rounds=5)
    loaded = next(event for event in events if isinstance(event, Loaded))
    other = msgspec.structs.replace(
        loaded, target=msgspec.structs.replace(loaded.target, name="other", path="other/target")
    )
    wrong = Tokens(pieces={str(number): "another" for number in range(200)})
    async with replaying([*events, other, wrong]) as play:
        await play.settle()
        round_ = play.controller.session.rounds[4][1]
        raw = play.controller.session.answers[0].vocabulary.token_bytes(round_.committed_ids[-1])
        await play.pilot.press("y", "t")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        assert play.app.clipboard == raw.decode()
        await play.pilot.press("y", "c")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        assert "other" not in play.app.clipboard
        answer = play.controller.session.answers[0]
        for kind in FORMATS:
            pieces = (
                exported_round(kind.name, answer.vocabulary, round_)
                if kind.of_round
                else exported_run(kind.name, answer)
            )
            assert b"another" not in b"".join(pieces)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_each_thing_to_copy_has_a_line_that_ends_in_an_ellipsis(
    state: Path, size: tuple[int, int]
) -> None:
    async with replaying(conversation(1, rounds=20), size=size) as play:
        await play.pilot.press("y")
        await play.settle()
        text = play.text()
        for letter, name in zip("tasic", ("token", "answer", "scratch pad", "ids", "command"), strict=True):
            (line,) = [line for line in text.splitlines() if f"{letter}  {name} " in line]
            assert name in ("token", "command") or "…" in line
        assert text.count("█") > 5


async def test_without_a_state_folder_copies_only_go_to_the_clipboard(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ddtree_tui.clipboard.Path.touch", lambda *_, **__: (_ for _ in ()).throw(OSError(30, "no"))
    )
    async with replaying(conversation(1, rounds=5)) as play:
        await play.pilot.press("y", "i")
        await play.until(lambda: play.app.clipboard)
        assert play.told[-1] == "Copied: ids."


async def test_before_the_first_round_there_is_nothing_to_keep(state: Path) -> None:
    async with playing() as play:
        await play.until(lambda: play.controller.state[0] == "ready")
        await play.pilot.press("ctrl+s")
        await play.settle()
        play.app.action_copy()
        await play.settle()
        assert len(play.app.screen_stack) == 1
        assert len(play.told) == 2


async def test_of_very_many_runs_the_newest_are_listed_and_all_are_searched(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ddtree_tui.screens.runs.MOST_LINES", 3)
    monkeypatch.setattr("ddtree_tui.screens.runs.FIRST_BATCH", 2)
    recorded(state, *(f"word{number}x" for number in range(6)), rounds=2)
    async with playing() as play:
        screen = await runs_screen(play)
        assert "Recorded runs: 6 runs, the newest 3 listed" in play.text()
        assert [run.prompt for run in screen._listed] == ["word5x", "word4x", "word3x"]
        await play.type("d0x")
        await play.settle()
        assert [run.prompt for run in screen._listed] == ["word0x"]


async def test_a_search_and_enter_sent_at_once_open_what_was_searched(state: Path) -> None:
    recorded(state, "the fox", "the owl", rounds=3)
    async with playing() as play:
        await runs_screen(play)
        for key in ("f", "o", "x", "enter"):
            play.app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await play.until(lambda: play.controller.playback is not None)
        await play.until(lambda: play.controller.session.answers)
        assert play.controller.session.answers[0].prompt == "the fox"


async def test_the_command_of_a_later_turn_brings_the_turns_before(state: Path) -> None:
    history = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b\n[/b]"})
    synthetic = Recording(0)
    turn = synthetic.answer("c", rounds=2, history=history)  # type: ignore[arg-type]
    async with replaying([*synthetic.start(), *turn]) as play:
        await play.pilot.press("y", "c")
        await play.until(lambda: play.app.clipboard)
        options = cli.parse(shlex.split(play.app.clipboard)[1:])
    assert isinstance(options, GenerateOptions)
    assert options.messages == [*history, {"role": "user", "content": "c"}]
