"""The app on another program's server: what it says is shown, and what it does not say is unknown."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from canned import canned, http, listed
from playing import Playing, options_for, watched
from recorded_server import answers_of, chunks, events, recording, sent

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client
from ddtree_tui.attach.plain_controller import PlainController
from ddtree_tui.attach.plain_link import PlainLink
from ddtree_tui.screens.diagnosis import DiagnosisScreen
from ddtree_tui.screens.problem import ProblemScreen
from ddtree_tui.session import Phase
from engine.settings import DecodeSettings

CHAT = "/v1/chat/completions"


@asynccontextmanager
async def on(answers: dict[str, Any]) -> AsyncIterator[tuple[Playing, Any]]:
    settings = DecodeSettings()
    with canned(answers) as server:
        link = PlainLink(Client(read_address(server.url)))
        link.start()
        controller = PlainController(settings, link, log_path=Path("test.log"))
        try:
            async with watched(controller, options_for(settings), link) as play:
                await play.until(lambda: play.controller.session.phase is not Phase.LOADING)
                yield play, server
        finally:
            link.stop()


async def answered(play: Playing, prompt: str = "hello") -> str:
    await play.type(prompt)
    await play.pilot.press("enter")
    await play.until(lambda: play.controller.session.answers and play.controller.session.answers[-1].over)
    await play.settle()
    return play.text()


async def test_vllm_with_a_drafter_shows_chains() -> None:
    recorded = recording("vllm_draft_model.json")
    async with on(answers_of(recorded, "list")) as (play, _):
        await play.settle()
        top = play.part("#top-line")
        assert f"smollm2 at {play.controller.place} · vllm 0.32.0" in top
        assert top.rstrip().endswith("chain  ready")
        assert "next prompt: mode  chain  budget  unknown" in play.part("#knobs")
        keys = play.part("#keys")
        assert "F9 thinking" in keys
        assert "F7 mode" not in keys
        text = await answered(play)
        assert "This is a complete list of the colours" in text
        assert "64 tokens, 63 in 16 rounds" in text
        assert "first token after" in text
        # Every round: three drafted tokens, all accepted, and the target's own; the last one is cut.
        assert (
            "round 16 of 16   ✓ 3 of 3 accepted = 3 tokens · the answer ends, so no ★ · time unknown · chain"
            in text
        )
        await play.pilot.press("f3")
        await play.settle()
        shown = play.part("#tree")
        assert "★" in shown
        assert "✓" in shown
        assert "." not in play.part("#heading").partition("time")[2], "no time is invented"


async def test_while_it_comes_the_text_is_there_and_rounds_are_not() -> None:
    parts = chunks(recording("vllm_draft_model.json"), "list")[:6]
    frames = [events(*parts, done=False)]

    def slowly(connection: Any) -> None:
        connection.sendall(frames[0])
        connection.recv(1)  # until it hangs up

    async with on({"/v1/models": listed("m"), CHAT: slowly}) as (play, _):
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(
            lambda: play.controller.session.answers and play.controller.session.answers[-1].untold
        )
        await play.until(lambda: "blue:" in play.part("#transcript"))
        text = play.text()
        tokens = parts[-1]["usage"]["completion_tokens"]
        assert f"{tokens} tokens, rounds unknown" in text
        assert "its rounds are told at its end, or never" in text
        assert "Esc stop" in play.part("#keys")
        assert "pause" not in play.part("#keys")
        await play.pilot.press("f2")
        await play.until(lambda: "The server cannot pause." in play.told)
        assert not play.controller.paused
        await play.pilot.press("escape")
        await play.until(lambda: play.controller.session.answers[-1].over)
        await play.until(lambda: f"stopped · {tokens} tokens, rounds unknown" in play.text())


async def test_estimates_say_so() -> None:
    recorded = recording("vllm_detailed.json")
    bare = [
        {name: value for name, value in part.items() if name != "metrics"}
        for part in chunks(recorded, "shared")
    ]
    async with on(answers_of(recorded, "shared") | {CHAT: events(*bare)}) as (play, _):
        text = await answered(play)
        assert "≈14 rounds, an estimate: the server's counters count other answers too" in text
        assert "≈3.38" in text


async def test_a_second_turn_sends_the_first() -> None:
    recorded = recording("vllm_detailed.json")
    async with on(answers_of(recorded, "stop")) as (play, server):
        assert "answered by vllm: smollm2" in await answered(play, "one")
        await answered(play, "two")
        [_, second] = sent(server)
        assert second["messages"] == [
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "The capital of France is Paris."},
            {"role": "user", "content": "two"},
        ]


async def test_what_the_server_decides_and_what_it_refuses_is_a_dialog() -> None:
    refusal = http(500, {"error": {"message": "out of memory"}})
    async with on({"/v1/models": listed("m"), CHAT: refusal}) as (play, server):
        await play.pilot.press("f7")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "The server decides the mode itself." in play.text()
        await play.pilot.press("escape")
        await play.until(lambda: len(play.app.screen_stack) == 1)
        await play.pilot.press("f9")
        assert play.controller.settings.thinking
        await play.pilot.press("i")
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        text = play.text()
        assert "The prompt was not answered" in text
        assert "failed (status 500): out of memory" in text
        await play.pilot.press("escape")
        server.answers[CHAT] = events({"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]})
        await play.pilot.press("i")
        assert "Hi." in await answered(play, "again")


async def test_the_requests_of_others_are_not_told() -> None:
    async with on(answers_of(recording("vllm_draft_model.json"), "list")) as (play, _):
        await play.pilot.press("f11")
        await play.until(lambda: any("are not listed" in told for told in play.told))
        await answered(play)
        play.app.action_diagnose()
        await play.until(lambda: isinstance(play.app.screen, DiagnosisScreen))
        await play.settle()
        assert "This is what the server's answers tell." in play.text()


async def test_no_server_can_be_tried_again() -> None:
    async with on({}) as (play, server):
        await play.until(lambda: isinstance(play.app.screen, ProblemScreen))
        await play.settle()
        assert "The server cannot be used" in play.text()
        server.answers["/v1/models"] = listed("m")
        await play.pilot.click("#restart")
        await play.until(lambda: play.controller.session.phase is Phase.READY)
