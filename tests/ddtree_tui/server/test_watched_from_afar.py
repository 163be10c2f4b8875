"""The demo pair behind a server, seen through a link: the same ids as at the server itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from served import Served

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client
from ddtree_tui.attach.remote_controller import RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from ddtree_tui.session import Phase
from engine.events import Finished, Prefilled, Round
from engine.settings import DecodeSettings

QUESTION = "What is 12 + 30?"


def until(controller: RemoteController, condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, (controller.state, controller.notices)
        controller.tick(time.monotonic())
        time.sleep(0.01)


def test_the_app_on_a_server_shows_what_the_server_answers(server: Served):
    settings = DecodeSettings(temperature=0.8, seed=3, budget=16, thinking=True, max_new_tokens=48)
    controller = RemoteController(settings, RemoteLink(Client(read_address(server.url)), "demo"))
    controller.link.start()
    try:
        until(controller, lambda: controller.session.phase is Phase.READY)
        assert controller.submit(QUESTION)
        until(controller, lambda: not controller.busy)
        shown = controller.session.answer
        _, told = server.chat(
            QUESTION,
            temperature=0.8,
            seed=3,
            tree_budget=16,
            enable_thinking=True,
            max_tokens=48,
            ddtree_trace=True,
        )
        trace = told["ddtree"]["trace"]
        ids = next(event["output_ids"] for event in trace if event["type"] == "finished")
        assert isinstance(shown.finished, Finished)
        assert isinstance(shown.prefilled, Prefilled)
        assert shown.finished.output_ids == ids
        assert shown.text.answer == told["choices"][0]["message"]["content"]
        assert shown.text.thinking == (told["choices"][0]["message"]["reasoning_content"] or "")
        rounds = [event for event in shown.rounds if isinstance(event, Round)]
        assert [event.nodes.ids for event in rounds] == [
            event["nodes"]["ids"] for event in trace if event["type"] == "round"
        ]
        assert all(len(event.nodes.ids) <= 16 for event in rounds)
        controller.change(mode="ar", detail=True)
        assert controller.submit(QUESTION)
        until(controller, lambda: not controller.busy)
        last = controller.session.answer
        assert last.settings.mode == "ar"
        assert last.rounds[0].target_topk is not None
        assert [message["role"] for message in last.prefilled.messages] == ["user", "assistant", "user"]
    finally:
        controller.shut_down()
