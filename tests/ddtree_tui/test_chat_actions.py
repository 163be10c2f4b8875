"""System message, prompts to pick from and in files, and what the model was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_recording import Recording
from playing import ask, playing, replaying
from scripted_engine import ScriptedEngine
from textual.widgets import Input, OptionList

from ddtree_tui.cli import parse
from ddtree_tui.examples import DEMO, DEMO_KINDS, GENERAL, GENERAL_KINDS
from ddtree_tui.options import AppOptions, GenerateOptions
from ddtree_tui.screens.exact_prompt import ExactPromptScreen
from ddtree_tui.screens.prompts import PromptsScreen
from ddtree_tui.screens.system_message import SystemMessageScreen
from ddtree_tui.widgets.prompt import PromptBox
from engine.commands import Generate
from engine.errors import EngineError
from engine.events import AnyEvent


async def test_the_system_message_goes_before_the_conversation() -> None:
    async with playing(rounds=3) as play:
        engine = play.engine
        assert isinstance(engine, ScriptedEngine)
        await play.pilot.press("ctrl+l", "down", "enter")
        await play.settle()
        assert isinstance(play.app.screen, SystemMessageScreen)
        await play.type("Be brief [/b]")
        await play.pilot.press("ctrl+j")
        await play.type("please")
        await play.pilot.press("enter")
        assert len(play.app.screen_stack) == 1
        for prompt in ("one", "two"):
            await ask(play, prompt)
            await play.until(lambda: not play.controller.busy)
            await play.settle()
            await play.pilot.press("i")
        sent = [command.messages for command in engine.sent if isinstance(command, Generate)]
        assert sent[0][0] == {"role": "system", "content": "Be brief [/b]\nplease"}
        assert [m["role"] for m in sent[1]] == ["system", "user", "assistant", "user"]
        await play.pilot.press("ctrl+o", "ctrl+o")
        await play.settle()
        assert play.part("#transcript").count("§ Be brief [/b]") == 1
        await play.pilot.press("tab", "S")
        await play.settle()
        play.app.screen.query_one(PromptBox).text = ""
        await play.pilot.press("enter")
        assert play.controller.system is None


async def test_an_example_is_picked_by_its_kind() -> None:
    async with playing(rounds=3, size=(80, 24)) as play:
        await play.until(lambda: play.controller.session.loaded)
        await play.pilot.press("ctrl+l")
        await play.settle()
        assert isinstance(play.app.screen, PromptsScreen)
        assert "word problems" in play.text()
        await play.pilot.press("down", "down", "down", "enter")
        await play.settle()
        box = play.app.query_one(PromptBox)
        assert box.text == DEMO_KINDS[0][1][1]
        assert play.app.focused is box
        assert not play.controller.busy


async def test_a_prompt_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "prompt [1].txt"
    file.write_text("Grüße [/b]\nzwei\n")
    (tmp_path / "empty").write_text(" \n")
    (tmp_path / "latin").write_bytes(b"Gr\xfc\xdfe")
    async with playing(rounds=3) as play:
        await play.pilot.press("ctrl+l")
        play.app.screen.query_one(OptionList).highlighted = 0
        await play.pilot.press("enter")
        await play.settle()
        for name, why in (("nowhere", "cannot be read"), ("empty", "is empty"), ("latin", "is not UTF-8")):
            play.app.screen.query_one(Input).value = str(tmp_path / name)
            await play.pilot.press("enter")
            await play.settle()
            assert why in " ".join(play.text().split()).replace("│", "")
        play.app.screen.query_one(Input).value = str(file)
        await play.pilot.press("enter")
        await play.settle()
        assert play.app.query_one(PromptBox).text == "Grüße [/b]\nzwei"


async def test_the_exact_prompt_is_one_key_away() -> None:
    recording = Recording(1, awkward=0.0)
    events: list[AnyEvent] = [*recording.start(), *recording.answer("What?", rounds=5)]
    async with replaying(events) as play:
        prefilled = play.controller.session.answers[0].prefilled
        assert prefilled is not None
        await play.pilot.press("P")
        await play.settle()
        assert isinstance(play.app.screen, ExactPromptScreen)
        assert f"{len(prefilled.prompt_ids)} tokens" in play.text()
        assert "thinking off" in play.text()
        await play.pilot.press("v", "v")
        await play.settle()
        assert " ".join(map(str, prefilled.prompt_ids[:4])) in play.text()
        await play.pilot.press("P")
        assert len(play.app.screen_stack) == 1
    async with playing() as play:
        await play.pilot.press("tab", "P")
        assert len(play.app.screen_stack) == 1  # there is none yet


def test_the_examples_by_kind_hold_those_of_the_first_screen() -> None:
    for flat, kinds in ((DEMO, DEMO_KINDS), (GENERAL, GENERAL_KINDS)):
        prompts = [prompt for _, of_kind in kinds for prompt in of_kind]
        assert set(flat) <= set(prompts)
        assert len(prompts) == len(set(prompts))


def test_messages_come_from_options_and_files(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("from a file\n")
    (tmp_path / "s").write_text("be kind\n")
    log = f"--log={tmp_path / 'log'}"
    options = parse([f"--prompt-file={tmp_path / 'p'}", f"--system-file={tmp_path / 's'}", log])
    assert isinstance(options, AppOptions)
    assert (options.prompt, options.system) == ("from a file", "be kind")
    options = parse(["--system=short", log])
    assert isinstance(options, AppOptions)
    assert (options.prompt, options.system) == (None, "short")
    made = parse(["generate", "hello", f"--system-file={tmp_path / 's'}", log])
    assert isinstance(made, GenerateOptions)
    assert made.messages[0] == {"role": "system", "content": "be kind"}
    for twice in (
        ["--system=a", f"--system-file={tmp_path / 's'}"],
        ["--prompt=a", f"--prompt-file={tmp_path}"],
    ):
        with pytest.raises(EngineError, match="There are two"):
            parse([*twice, log])
