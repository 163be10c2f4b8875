"""What the app does, without a screen."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from make_recording import Recording, conversation, loaded
from scripted_engine import ScriptedEngine

from ddtree_tui.controller import Controller
from ddtree_tui.playback import Playback
from ddtree_tui.recent import RecentPair, recent_pairs
from ddtree_tui.session import Phase
from engine.commands import AnyCommand, Cancel, Generate, Pause, Resume, Set, Step
from engine.errors import EngineError
from engine.events import AnyEvent, Checked, Checking, Failed
from engine.settings import DecodeSettings, LoadSettings

LOG = Path("some.log")


def live(**script: float) -> tuple[Controller, ScriptedEngine]:
    engine = ScriptedEngine(**script)
    return Controller(DecodeSettings(), engine=engine, log_path=LOG), engine


def wait(controller: Controller, condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        controller.tick(time.monotonic())
        time.sleep(0.002)


def started(**script: float) -> tuple[Controller, ScriptedEngine]:
    controller, engine = live(**script)
    engine.start()
    wait(controller, lambda: controller.session.phase is Phase.READY)
    return controller, engine


def test_a_prompt_waits_for_the_models() -> None:
    controller, engine = live()
    assert controller.submit("hello")
    assert controller.waiting == "hello"
    assert controller.busy
    assert not controller.submit("again")
    engine.start()
    wait(controller, lambda: controller.session.running)
    assert controller.waiting is None
    assert controller.session.answers[0].prompt == "hello"
    controller.stop()


def test_a_waiting_prompt_can_be_taken_back() -> None:
    controller, engine = live()
    controller.submit("hello")
    controller.stop()
    engine.start()
    wait(controller, lambda: controller.session.phase is Phase.READY)
    assert controller.session.answers == []
    assert engine.sent_of(Generate) == []


def test_the_conversation_goes_along() -> None:
    controller, engine = started(rounds=3)
    controller.submit("one")
    wait(controller, lambda: not controller.busy)
    controller.submit("two")
    wait(controller, lambda: not controller.busy)
    first, second = engine.sent_of(Generate)
    assert isinstance(first, Generate)
    assert isinstance(second, Generate)
    assert [message["content"] for message in first.messages] == ["one"]
    assert [message["role"] for message in second.messages] == ["user", "assistant", "user"]
    finished = controller.session.answers[0].finished
    assert finished is not None
    assert second.messages[1]["content"] == finished.text
    controller.new_conversation()
    controller.submit("three")
    wait(controller, lambda: not controller.busy)
    third = engine.sent_of(Generate)[-1]
    assert isinstance(third, Generate)
    assert len(third.messages) == 1


def test_stopping_keeps_what_was_said() -> None:
    controller, engine = started(rounds=10_000)
    controller.submit("one")
    wait(controller, lambda: len(controller.session.rounds) > 3)
    controller.stop()
    assert controller.state[0] == "stopping"
    wait(controller, lambda: not controller.busy)
    assert len(engine.sent_of(Cancel)) == 1
    finished = controller.session.answers[0].finished
    assert finished is not None
    assert finished.reason == "cancelled"
    assert controller.session.messages()[1]["content"] == finished.text


def test_pausing_and_single_rounds() -> None:
    controller, engine = started(rounds=10_000, rounds_per_second=400)
    controller.submit("one")
    wait(controller, lambda: len(controller.session.rounds) > 3)
    controller.toggle_pause(0.0)
    assert controller.paused
    assert controller.state == ("paused", "paused")
    wait(controller, lambda: engine.resting)
    count = len(controller.session.rounds)
    assert count == len(engine.script.emitted)
    controller.step()
    wait(controller, lambda: len(controller.session.rounds) > count)
    wait(controller, lambda: engine.resting)
    assert len(controller.session.rounds) == count + 1
    controller.toggle_pause(0.0)
    wait(controller, lambda: len(controller.session.rounds) > count + 5)
    kinds = [type(command) for command in engine.sent if isinstance(command, Pause | Step | Resume)]
    assert kinds == [Pause, Step, Resume]
    controller.stop()


def test_one_round_from_the_start() -> None:
    controller, engine = started(rounds=50)
    controller.submit("one", one_round=True)
    wait(controller, lambda: len(controller.session.rounds) > 0)
    wait(controller, lambda: engine.resting)
    assert len(controller.session.rounds) == 1
    assert controller.paused
    controller.stop()
    wait(controller, lambda: not controller.busy)


def test_one_round_is_one_round_even_where_the_step_comes_late() -> None:
    controller, engine = started(rounds=50, rounds_per_second=400)
    send = engine.send

    def slow(command: AnyCommand) -> None:
        if isinstance(command, Step):
            wait(controller, lambda: engine.resting)
        send(command)

    engine.send = slow  # type: ignore[method-assign]
    controller.submit("one", one_round=True)
    wait(controller, lambda: len(controller.session.rounds) > 0)
    wait(controller, lambda: engine.resting)
    assert len(controller.session.rounds) == 1
    controller.stop()
    wait(controller, lambda: not controller.busy)


def test_one_round_asked_for_while_the_models_load() -> None:
    controller, engine = live(rounds=50, rounds_per_second=400)
    controller.submit("one", one_round=True)
    engine.start()
    wait(controller, lambda: len(controller.session.rounds) > 0)
    wait(controller, lambda: engine.resting)
    assert len(controller.session.rounds) == 1
    assert controller.paused
    controller.stop()
    wait(controller, lambda: not controller.busy)


def test_live_settings_reach_the_running_answer() -> None:
    controller, engine = started(rounds=10_000)
    controller.change(budget=128)
    assert engine.sent_of(Set) == []  # nothing runs: the next run will have it
    controller.submit("one")
    wait(controller, lambda: len(controller.session.rounds) > 2)
    assert controller.session.rounds[0][1].budget == 128
    controller.change(budget=8)
    controller.change(temperature=0.5)
    (changed,) = engine.sent_of(Set)
    assert isinstance(changed, Set)
    assert changed.settings == {"budget": 8}
    wait(controller, lambda: controller.session.rounds[-1][1].budget == 8)
    controller.change(mode="chain")
    wait(controller, lambda: controller.session.rounds[-1][1].mode == "chain")
    controller.stop()
    wait(controller, lambda: not controller.busy)
    assert controller.settings == DecodeSettings(budget=8, temperature=0.5, mode="chain")


@pytest.mark.parametrize(
    "change", [{"budget": 0}, {"budget": 10**6}, {"temperature": -1.0}, {"mode": "forest"}, {"budget": "x"}]
)
def test_bad_settings_change_nothing(change: dict[str, str | int | float]) -> None:
    controller, _ = started()
    with pytest.raises(EngineError) as raised:
        controller.change(**change)
    assert raised.value.kind == "bad_setting"
    assert controller.settings == DecodeSettings()


def test_a_failed_run_is_told_and_the_next_one_works() -> None:
    controller, _ = started(rounds=3)
    controller.submit("fail")
    wait(controller, lambda: not controller.busy)
    (problem,) = controller.take_problems()
    assert problem.message == "The prompt is too long."
    assert problem.hint == "Shorten it."
    assert problem.log_path == LOG
    assert not problem.restart
    assert controller.submit("works")
    wait(controller, lambda: not controller.busy)
    assert controller.session.answers[-1].finished is not None


def test_a_dead_engine_can_be_restarted() -> None:
    controller, engine = started(rounds=3)
    controller.submit("one")
    wait(controller, lambda: not controller.busy)
    controller.submit("die")
    wait(controller, lambda: controller.session.phase is Phase.BROKEN)
    (problem,) = controller.take_problems()
    assert problem.restart
    assert not controller.submit("two")
    assert controller.take_problems()[0].restart
    controller.restart_engine()
    wait(controller, lambda: controller.session.phase is Phase.READY)
    assert engine.starts == 2
    assert len(controller.session.rounds) == 3
    controller.submit("two")
    wait(controller, lambda: not controller.busy)
    sent = engine.sent_of(Generate)[-1]
    assert isinstance(sent, Generate)
    assert [message["content"] for message in sent.messages][::2] == ["one", "two"]


def test_models_that_do_not_load() -> None:
    failed = Failed(error="model_not_found", message="There is no model x.", hint="Check the name.")
    engine = ScriptedEngine(fail_to_load=failed)
    controller = Controller(DecodeSettings(), engine=engine, log_path=LOG)
    engine.start()
    controller.submit("waits")
    wait(controller, lambda: controller.session.phase is Phase.BROKEN)
    (problem,) = controller.take_problems()
    assert problem.title == "The models could not be loaded"
    assert problem.restart
    assert controller.waiting is None


def test_a_full_disk_ends_the_trace_and_not_the_run() -> None:
    controller, engine = started(rounds=5)
    controller.submit("one")
    engine.trouble.append(EngineError("trace_write", "There is no room left.", "The run goes on."))
    wait(controller, lambda: not controller.busy)
    (problem,) = controller.take_problems()
    assert problem.message == "There is no room left."
    assert controller.session.answers[0].finished is not None


def test_a_new_conversation_ends_the_run_first() -> None:
    controller, _ = started(rounds=10_000)
    controller.submit("one")
    wait(controller, lambda: len(controller.session.rounds) > 2)
    controller.new_conversation()
    wait(controller, lambda: not controller.busy)
    assert controller.session.answers == []
    assert len(controller.session.rounds) == 0


class Fed:
    """An engine that says what a test has it say, and hears nothing."""

    def __init__(self) -> None:
        self.says: list[AnyEvent] = []

    def start(self, load: LoadSettings | None = None) -> None:
        self.says = [loaded()]

    def send(self, command: AnyCommand) -> None:
        """It hangs."""

    def drain(self) -> list[AnyEvent]:
        said, self.says = self.says, []
        return said

    def problems(self) -> list[EngineError]:
        return []

    def stop(self) -> None:
        """It is none."""


def fed(**settings: Any) -> tuple[Controller, Callable[..., None]]:
    """A controller, and what has its engine say something."""
    engine = Fed()
    controller = Controller(DecodeSettings(**settings), engine=engine, log_path=LOG)

    def say(*events: AnyEvent) -> None:
        engine.says += events
        controller.tick(0.0)

    engine.start()
    say()
    return controller, say


def test_what_the_oracle_says_before_the_next_prefill_is_of_the_answer_before() -> None:
    controller, say = fed(oracle="full")
    one, two = ([*Recording(seed).answer(text, rounds=3)] for seed, text in enumerate(("one", "two")))
    controller.submit("one")
    say(*one, Checking(stage="Comparing", done=0, total=5))
    controller.change(oracle="off")
    controller.submit("two")
    assert controller.session.comparing
    verdict = Checked(
        oracle="full", verdict="identical", positions=3, compared=1, ties=0, defects=0, noise=0.0, seconds=0.1
    )
    say(verdict)
    assert not controller.session.comparing
    say(*two)
    first, second = controller.session.answers
    assert (first.checked, first.checking) == (verdict, None)
    assert (second.checked, second.checking) == (None, None)
    assert second.finished is not None


def test_a_conversation_that_was_to_be_forgotten_is_so_when_the_engine_starts_anew() -> None:
    controller, say = fed()
    controller.submit("one")
    say(*[*Recording(0).answer("one", rounds=3)][:-1])
    controller.new_conversation()
    controller.restart_engine()
    assert controller.session.answers == []
    say()
    controller.submit("two")
    say(*Recording(1).answer("two", rounds=3))
    assert [answer.prompt for answer in controller.session.answers] == ["two"]


def test_text_that_is_no_unicode_is_refused() -> None:
    controller, engine = started()

    def refuse(command: object) -> None:
        raise EngineError("bad_text", "The prompt holds characters that are not valid Unicode text.")

    engine.send = refuse  # type: ignore[method-assign]
    assert not controller.submit("\ud800")
    assert controller.session.answers == []
    assert "Unicode" in controller.take_problems()[0].message


def test_replay_steps_and_plays() -> None:
    playback = Playback(conversation(0, rounds=8))
    controller = Controller(DecodeSettings(), playback=playback)
    controller.move(1, 0.0)
    assert len(controller.session.rounds) == 1
    controller.move(1, 0.0)
    controller.move(1, 0.0)
    assert len(controller.session.rounds) == 3
    controller.move(-1, 0.0)
    assert controller.viewpoint.index(3) == 1
    controller.move(1, 0.0)
    assert len(controller.session.rounds) == 3
    controller.play_all(0.0)
    assert len(controller.session.rounds) == 8
    assert controller.state[0] == "recording"
    assert not controller.submit("no engine here")
    controller.shut_down()


def test_another_target_brings_a_vocabulary_of_its_own() -> None:
    controller, engine = started(rounds=2)
    controller.submit("hello")
    wait(controller, lambda: not controller.busy)
    session = controller.session
    before, old = session.answers[0], session.vocabulary
    assert before.vocabulary is old
    loaded = session.loaded
    assert loaded is not None
    engine.queue.append(loaded)
    controller.tick(time.monotonic())
    assert session.vocabulary is old  # the same target, loaded anew
    other = msgspec.structs.replace(loaded.target, path="/elsewhere")
    engine.queue.append(msgspec.structs.replace(loaded, target=other))
    controller.tick(time.monotonic())
    assert session.vocabulary is not old
    controller.submit("again")
    assert session.answers[1].vocabulary is session.vocabulary
    assert session.answers[0].labels is not session.answers[1].labels
    wait(controller, lambda: not controller.busy)


def test_what_was_loaded_is_remembered(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    recent = tmp_path / "recent.json"
    load = LoadSettings(model="/models/mine", drafter="/models/drafter")
    controller = Controller(DecodeSettings(), engine=engine, load=load, recent=recent)
    engine.start()
    wait(controller, lambda: controller.session.phase is Phase.READY)
    assert recent_pairs(recent) == [RecentPair("/models/mine", "/models/drafter")]


def test_loading_anew_ends_what_runs_and_keeps_it() -> None:
    controller, engine = started(rounds=5000, rounds_per_second=100)
    controller.submit("hello")
    wait(controller, lambda: len(controller.session.rounds) > 2)
    controller.toggle_pause(0.0)
    controller.reload(LoadSettings(model="other"))
    assert engine.loads[-1] == LoadSettings(model="other")
    assert controller.session.answers[0].over
    assert not controller.paused
    assert not controller.busy
    assert controller.session.messages() == []
    with pytest.raises(EngineError):
        controller.reload(LoadSettings(tp=0))
    assert controller.load.model == "other"
    engine.stop()


def test_a_paused_race_is_no_silence() -> None:
    controller, engine = started(rounds=5000, rounds_per_second=300)
    assert controller.start_race("hello", [DecodeSettings(mode=mode) for mode in ("ar", "chain")])
    controller.steward.toggle_pause()
    wait(controller, lambda: engine.resting)
    for hours in range(3):
        controller.tick(time.monotonic() + 3600 * hours)
    assert controller.take_problems() == []
    controller.steward.toggle_pause()
    wait(controller, lambda: not engine.resting)
    controller.stop()
    wait(controller, lambda: not controller.steward.racing)
