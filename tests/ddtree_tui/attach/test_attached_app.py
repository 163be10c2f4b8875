"""The app on a server: watching, picking requests, sending prompts, looking at what there is."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from linked import client
from playing import Playing, options_for, watched
from served import Served, serving

from ddtree_tui import cli, exit_codes
from ddtree_tui.attach.remote_controller import HELD, RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from ddtree_tui.plain_log import PlainLog
from ddtree_tui.screens.diagnosis import DiagnosisScreen
from ddtree_tui.screens.oracle import OracleScreen
from ddtree_tui.screens.requests import RequestsScreen
from ddtree_tui.screens.settings import SettingsScreen
from ddtree_tui.session import Phase
from ddtree_tui.widgets.setting_row import SettingRow
from engine.commands import Generate
from engine.errors import EngineError
from engine.settings import DecodeSettings

SETTINGS = DecodeSettings(max_new_tokens=150)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    log = tmp_path_factory.mktemp("served") / "server.log"
    with serving(log, scenario="ok") as served:
        served.wait_for("ok")
        yield served


@asynccontextmanager
async def attached(server: Served, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Playing]:
    link = RemoteLink(client(server.url), "demo", pause=lambda failures: 0.02)
    controller = RemoteController(SETTINGS, link)
    link.start()
    async with watched(controller, options_for(SETTINGS), link, size=size) as play:
        try:
            await play.until(lambda: controller.session.phase is Phase.READY)
            yield play
        finally:
            controller.shut_down()


def notified(play: Playing) -> str:
    return "\n".join(play.told)


def newest(server: Served) -> str:
    return json.loads(server.get("/v1/ddtree/requests")[1])["data"][0]["id"]


async def test_what_others_ask_is_shown_and_picked(server: Served):
    async with attached(server) as play:
        await play.settle()
        assert f"at 127.0.0.1:{server.port}" in play.text()
        assert "waiting for a request" in play.text()
        server.chat("What is 12 + 30?")
        request = newest(server)
        await play.until(lambda: play.controller.session.answer and play.controller.session.answer.over)
        await play.settle()
        assert "❯ What is 12 + 30?" in play.part("#transcript")
        server.chat("something else")
        await play.pilot.press("f11")
        screen = play.app.screen
        assert isinstance(screen, RequestsScreen)
        await play.until(lambda: len(screen._listed) > 2)
        names = [each.id if each else None for each in screen._listed]
        assert names[0] is None
        for _ in range(names.index(request)):
            await play.pilot.press("down")
        await play.until(lambda: "like a recorded run" in play.text())
        await play.pilot.press("enter")
        await play.until(lambda: play.controller.playback is not None)
        await play.pilot.press("a")
        await play.until(lambda: play.controller.session.answer and play.controller.session.answer.over)
        await play.settle()
        assert "❯ What is 12 + 30?" in play.part("#transcript")
        assert "something else" not in play.text()
        assert request[:20] in play.part("#replay-bar")
        await play.pilot.press("escape")
        await play.until(lambda: isinstance(play.controller, RemoteController))
        assert play.controller.session.answers[-1].prompt == "something else"


async def test_a_request_under_way_is_watched_alone(server: Served):
    other = RemoteLink(client(server.url), "demo")
    async with attached(server) as play:
        other.send(Generate(messages=[{"role": "user", "content": "slow"}], settings=SETTINGS))
        await play.until(lambda: play.controller.session.rounds)
        await play.pilot.press("f11", "down")
        screen = play.app.screen
        assert isinstance(screen, RequestsScreen)
        await play.until(lambda: len(screen._listed) > 1 and screen._listed[1].running)
        await play.pilot.press("home", "down")
        await play.until(lambda: "and no other" in play.text())
        await play.pilot.press("enter")
        await play.until(lambda: not play.controller.link.follows)
        await play.until(lambda: play.controller.session.answer.rounds and play.controller.watching)
        request = play.controller.link.shown.id
        assert other.sent_ids == {request}
        play.app.query_one("#tree").focus()
        await play.pilot.press("space")
        assert play.controller.viewpoint.why == HELD
        await play.pilot.press("space")
        assert play.controller.viewpoint.following
        await play.pilot.press("escape")  # stops nothing that is not one's own
        assert play.controller.watching
        other.stop()
        await play.until(lambda: play.controller.session.answer.finished)
        server.chat("not for this one")
        await play.until(lambda: play.controller.state[0] == "ready")
        assert play.controller.session.answers[-1].prompt.startswith("slow")
        assert play.controller.watch(None)
        await play.until(lambda: play.controller.state[0] == "waiting for a request")


async def test_a_prompt_is_sent_by_its_keys_and_stopped_by_escape(server: Served):
    async with attached(server, (80, 24)) as play:
        await play.type("hello")
        await play.pilot.press("enter")
        await play.until(lambda: play.controller.session.answer and play.controller.session.answer.over)
        await play.settle()
        assert "ended by itself · 6 tokens" in play.part("#transcript")
        await play.until(lambda: play.app.focused is play.app.query_one("#prompt"))
        await play.type("slow")
        await play.pilot.press("f6")  # a round alone cannot be asked for
        await play.until(lambda: "does not stop between rounds" in notified(play))
        assert len(play.controller.session.answers) == 1
        await play.pilot.press("enter")
        await play.until(lambda: len(play.controller.session.rounds) > 4)
        assert play.controller.state == ("decoding", "busy")
        assert not play.controller.watch(None)
        await play.pilot.press("escape")
        await play.until(lambda: not play.controller.busy)
        assert play.controller.session.answer.finished.reason == "cancelled"


async def test_only_what_a_prompt_can_say_is_offered(server: Served):
    async with attached(server) as play:
        assert "next prompt:" in play.part("#knobs")
        play.app.action_settings()
        await play.until(lambda: isinstance(play.app.screen, SettingsScreen))
        await play.settle()
        offered = {row.setting.name for row in play.app.screen.query(SettingRow)}
        assert {"mode", "budget", "temperature", "stop", "theme"} <= offered
        assert not offered & {"verify", "block_size", "oracle", "inject", "model", "device"}
        assert "from the next prompt" in play.text()
        await play.pilot.press("r", "escape")
        assert len(play.app.screen_stack) == 1
        titles = {command.title for command in play.app.get_system_commands(play.app.screen)}
        assert "Connect anew" in titles
        assert not titles & {"Set verify", "Restart the engine", "Plant a fault…"}
        for change in ({"verify": "naive"}, {"inject": ["mask-id"]}, {"auto_budget": True, "budget": 9}):
            with pytest.raises(EngineError, match=r"server"):
                play.controller.change(**change)
        play.controller.change(auto_budget=True, budget=256)
        play.app.submit("automatic")
        await play.until(lambda: play.controller.session.answer and play.controller.session.answer.over)
        assert play.controller.session.answer.settings.auto_budget
        play.app.action_race()
        play.controller.toggle_hold(0.0)
        await play.until(lambda: "Race where the models are" in notified(play))
        await play.until(lambda: "Space holds the view" in notified(play))


async def test_it_is_said_what_cannot_be_looked_at_from_afar(server: Served):
    async with attached(server) as play:
        play.app.submit("look")
        await play.until(lambda: play.controller.session.answer and play.controller.session.answer.over)
        play.app.action_diagnose()
        await play.until(lambda: isinstance(play.app.screen, DiagnosisScreen))
        await play.settle()
        assert "This is what the server's events tell." in play.text()
        told = " ".join(play.text().replace("│", " ").split())
        assert "x exports the run as FILE" in told
        assert "ddtree-tui check FILE" in told
        await play.pilot.press("escape")
        play.app.action_check_answer()
        await play.until(lambda: isinstance(play.app.screen, OracleScreen))
        await play.settle()
        assert "ddtree-tui check FILE" in play.text()
        assert "compare again" not in play.text()


def test_the_log_follows_without_a_screen(server: Served):
    link = RemoteLink(client(server.url), "demo")
    controller = RemoteController(SETTINGS, link)
    link.start()
    out = io.StringIO()
    told = threading.Event()
    lines = iter(["hello there\n"])

    def read() -> str:
        if line := next(lines, None):
            return line
        told.wait(20)
        return "/quit\n"

    log = PlainLog(controller, read, out)
    heard = controller.listener

    def listen(event: object) -> None:
        heard(event)
        if "Answer: hello there" in out.getvalue():
            told.set()

    controller.listener = listen
    try:
        assert log.run(None, ()) == exit_codes.OK
    finally:
        controller.shut_down()
    assert "Round 1: 3 tokens, “ell”." in out.getvalue()


def test_a_request_that_is_not_there_is_said_before_the_app(
    server: Served, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    log = ["--log", str(tmp_path / "log"), "--plain-log", "--no-record"]
    assert cli.main(["attach", server.url, "--request", "x", *log]) == exit_codes.NOT_LOADED
    assert "no events of a request 'x'" in capfd.readouterr().err
    assert cli.main(["attach", server.url, "--budget", "auto:7", *log]) == exit_codes.BAD_INPUT
    assert "auto without a number" in capfd.readouterr().err
