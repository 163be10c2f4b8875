"""A server that runs, watched and used from afar: what is shown is what its engine said, each event once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from linked import until, watching
from served import Served, serving

from ddtree_tui.answer import Answer
from ddtree_tui.attach.remote_controller import RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import recorded_runs
from ddtree_tui.session import Phase
from engine.event_lines import decode_event
from engine.events import Finished

QUESTION = "What is 12 + 30?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """On the scripted engine: the answer is the question, in rounds of three tokens."""
    log = tmp_path_factory.mktemp("served") / "server.log"
    with serving(log, "--api-key", "secret", scenario="ok", key="secret") as served:
        served.wait_for("ok")
        yield served


def told(server: Served, request: str) -> list[object]:
    """The events of a request as the server has them."""
    lines = server.get(f"/v1/ddtree/requests/{request}/events")[1].splitlines()
    return [decode_event(line) for line in lines][1:]


def newest(server: Served) -> str:
    return json.loads(server.get("/v1/ddtree/requests")[1])["data"][0]["id"]


def seen(controller: RemoteController, index: int = -1) -> tuple[str, int]:
    answer = controller.session.answers[index]
    assert answer.text is not None
    return answer.text.answer, len(answer.rounds)


def finished(answer: Answer | None) -> bool:
    return answer is not None and answer.finished is not None


def ready(controller: RemoteController) -> None:
    until(controller, lambda: controller.session.phase is Phase.READY)


def test_two_viewers_see_what_a_third_asks(server: Served):
    with watching(server.url, "secret") as one, watching(server.url, "secret") as two:
        for viewer in (one, two):
            ready(viewer)
            assert viewer.state == ("waiting for a request", "quiet")
        server.chat(QUESTION)
        events = told(server, newest(server))
        for viewer in (one, two):
            until(viewer, lambda viewer=viewer: finished(viewer.session.answer))
            answer = viewer.session.answer
            assert answer.prompt == QUESTION
            assert [answer.prefilled, *answer.rounds, answer.finished] == events[1:]
            assert seen(viewer)[0] == QUESTION
        server.chat("and another")
        until(one, lambda: len(one.session.answers) == 2 and finished(one.session.answer))


def test_a_prompt_sent_from_here_is_shown_and_goes_on_as_a_conversation(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        assert controller.submit(QUESTION)
        assert controller.busy
        until(controller, lambda: not controller.busy)
        assert seen(controller) == (QUESTION, 6)
        assert controller.state == ("ready", "busy")
        server.chat("what somebody else wants")  # is not shown: one is in a conversation
        controller.change(mode="chain", temperature=0.5, seed=7, thinking=False, stop=["9"])
        assert controller.submit("and 8 or 9")
        until(controller, lambda: not controller.busy)
        _, second = controller.session.answers
        assert seen(controller)[0] == "and 8 or "
        settings = second.prefilled.settings
        assert (settings.mode, settings.temperature, settings.seed) == ("chain", 0.5, 7)
        assert (settings.stop, settings.max_new_tokens) == (("9",), 150)
        said = [message["content"] for message in second.prefilled.messages]
        assert said == [QUESTION, QUESTION, "and 8 or 9"]
        assert controller.link.sent_ids >= {newest(server)}
        controller.new_conversation()
        controller.submit("anew")
        until(controller, lambda: not controller.busy)
        assert [each["content"] for each in controller.session.answer.prefilled.messages] == ["anew"]


def test_a_new_conversation_forgets_the_old_one_also_while_a_prompt_waits(
    server: Served, monkeypatch: pytest.MonkeyPatch
):
    with watching(server.url, "secret") as controller:
        ready(controller)
        controller.submit("between us")
        until(controller, lambda: finished(controller.session.answer))
        with monkeypatch.context() as patch:
            patch.setattr(RemoteLink, "serves", property(lambda link: False))
            controller.submit("this waits")
            assert controller.busy
            controller.new_conversation()
            assert not controller.busy
        assert not controller.asked
        controller.submit("fresh")
        until(controller, lambda: finished(controller.session.answer))
        (answer,) = controller.session.answers
        assert [message["content"] for message in answer.prefilled.messages] == ["fresh"]


def test_an_answer_that_would_not_fit_is_asked_for_as_long_as_fits(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        controller.change(max_new_tokens=1024)
        controller.submit(QUESTION)
        until(controller, lambda: not controller.busy)
        assert seen(controller)[0] == QUESTION
        controller.submit("x" * 300)
        until(controller, lambda: not controller.busy)
        (problem,) = controller.take_problems()
        assert problem.title == "The prompt was not answered"
        assert "300 tokens" in problem.message


def test_hanging_up_ends_the_answer(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        controller.submit("slow")
        until(controller, lambda: len(controller.session.rounds) > 3)
        assert controller.state == ("decoding", "busy")
        controller.stop()
        assert controller.state == ("stopping", "paused")
        until(controller, lambda: not controller.busy)
        assert controller.session.answer.finished.reason == "cancelled"
        events = told(server, newest(server))
        assert isinstance(events[-1], Finished)
        assert list(controller.session.answer.rounds) == events[2:-1]


def test_a_prompt_can_be_taken_back_while_it_waits(server: Served):
    with watching(server.url, "secret") as blocking, watching(server.url, "secret") as controller:
        ready(blocking)
        blocking.submit("slow, in front")
        until(blocking, lambda: blocking.session.rounds)
        until(controller, lambda: controller.watching and controller.session.rounds)
        assert controller.state == ("watching", "busy")
        controller.stop()
        assert "can stop it" in controller.notices[-1]
        assert controller.submit("I wait")
        until(controller, lambda: controller.state[0] == "waiting for its turn")
        left, own = controller.session.answers
        assert left.failed.error == "remote_left"
        controller.stop()
        until(controller, lambda: own.over)
        assert own.failed.error == "remote_cancelled"
        assert not controller.take_problems()
        assert controller.watch(None)
        until(controller, lambda: controller.watching)
        blocking.stop()
        until(blocking, lambda: not blocking.busy)
        until(controller, lambda: finished(controller.session.answer))
        assert [*controller.session.answer.rounds] == [*blocking.session.answer.rounds]


def test_one_request_is_watched_and_no_other(server: Served):
    server.chat("the first")
    request = newest(server)
    server.chat("the second")
    with watching(server.url, "secret", only=request) as controller:
        until(controller, lambda: finished(controller.session.answer))
        assert seen(controller)[0] == "the first"
        server.chat("the third")
        until(controller, lambda: controller.link.connection.reach.value == "heard")
        assert len(controller.session.answers) == 1
        assert not controller.busy
        controller.watch("gone")
        until(controller, lambda: controller.link.shown is not None and controller.link.shown.over)
        assert not controller.take_problems()


def test_a_failed_prompt_says_why(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        controller.submit("fail")
        until(controller, lambda: not controller.busy)
        (problem,) = controller.take_problems()
        assert "not enough memory" in problem.message
        assert not problem.restart
        controller.submit("again")
        until(controller, lambda: finished(controller.session.answer))


def test_a_prompt_that_cannot_be_sent_is_refused_here(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        assert not controller.submit("half a \udce4")
        (problem,) = controller.take_problems()
        assert problem.title == "The prompt cannot be run"
        assert not controller.busy


def test_an_engine_that_dies_is_told_and_comes_back(server: Served):
    with watching(server.url, "secret") as controller:
        ready(controller)
        controller.submit("die")
        until(controller, lambda: not controller.busy)
        assert controller.session.answer.failed is not None
        until(controller, lambda: controller.session.phase is Phase.READY)
        server.wait_for("ok")
        controller.take_problems()
        controller.submit("alive?")
        until(controller, lambda: finished(controller.session.answer))
        assert seen(controller)[0] == "alive?"


def test_what_is_watched_is_recorded(server: Served, tmp_path: Path):
    trace, runs = tmp_path / "run.jsonl", tmp_path / "runs"
    with watching(server.url, "secret", trace=trace, recorder=Recorder(runs)) as controller:
        ready(controller)
        server.chat("to be kept")
        until(controller, lambda: finished(controller.session.answer))
        request = newest(server)
    kept = [decode_event(line) for line in trace.read_bytes().splitlines()]
    assert kept[1:] == told(server, request)
    (run,) = recorded_runs(runs)
    assert (run.prompt, run.model, run.ending) == ("to be kept", "echo", "stop")


def test_what_was_watched_long_ago_is_forgotten(server: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ddtree_tui.attach.remote_controller.MOST_ROUNDS", 3)
    with watching(server.url, "secret") as controller:
        ready(controller)
        for prompt, left in (("of few", 1), ("of rounds that are many", 2), ("the next", 1)):
            server.chat(prompt)
            until(
                controller,
                lambda prompt=prompt: (
                    finished(controller.session.answer) and controller.session.answer.prompt == prompt
                ),
            )
            assert len(controller.session.answers) == left
