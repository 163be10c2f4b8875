"""The app without a screen."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from make_recording import conversation
from scripted_engine import ScriptedEngine

from ddtree_tui.controller import Controller
from ddtree_tui.narration import Narrator
from ddtree_tui.plain_log import COMMANDS, PlainLog
from ddtree_tui.session import Phase, Session
from engine.event_lines import encode_event
from engine.events import UNKNOWN_ID, Failed, Round
from engine.settings import DecodeSettings

Step = str | Callable[[Controller], bool]


def talk(*steps: Step, prompt: str | None = None, **script: float) -> tuple[str, Controller, int]:
    """Type the lines of ``steps``, each once the conditions before it are met; what was printed."""
    engine = ScriptedEngine(**script)
    controller = Controller(DecodeSettings(), engine=engine, log_path=Path("test.log"))
    engine.start()
    left = [lambda controller: controller.session.phase is Phase.READY, *steps]

    def read() -> str:
        while left:
            step = left.pop(0)
            if isinstance(step, str):
                return f"{step}\n"
            end = time.monotonic() + 60
            while not step(controller):
                assert time.monotonic() < end, out.getvalue()
                time.sleep(0.01)
        return ""

    out = io.StringIO()
    code = PlainLog(controller, read, out).run(prompt, ["config.toml has an unknown key: x.y."])
    controller.shut_down()
    return out.getvalue(), controller, code


def idle(controller: Controller) -> bool:
    return bool(controller.session.answers) and not controller.busy


def rounds(count: int) -> Callable[[Controller], bool]:
    return lambda controller: len(controller.session.rounds) >= count


def test_a_conversation_is_told_from_start_to_end() -> None:
    said, controller, code = talk("hello", idle, "more", rounds=3)
    lines = said.splitlines()
    assert code == 0
    assert lines[0].startswith("Type a prompt")
    assert "Notice: config.toml has an unknown key: x.y." in lines
    assert any(line.startswith("Loading: ") for line in lines)
    assert any(line.startswith("Ready: ") and "block 16" in line for line in lines)
    assert sum(line.startswith("Round ") for line in lines) == 6
    assert sum(line.startswith("Answer: ") for line in lines) == 2
    assert sum("It ended by itself" in line for line in lines) == 2
    assert len(controller.session.answers) == 2
    assert "\x1b" not in said  # no cursor is moved, nothing is drawn twice


def test_awkward_text_is_escaped() -> None:
    said, _, _ = talk("hello", rounds=30, awkward=1.0, rounds_per_second=400.0)
    unprintable = {character for character in said if not character.isprintable()}
    assert unprintable <= {"\n", "\u200d", "\u00a0", "\u3000"}  # joined emoji and wide spaces are text


def test_pause_step_and_stop() -> None:
    paused: list[int] = []

    def rests(controller: Controller) -> bool:
        engine = controller._engine
        assert isinstance(engine, ScriptedEngine)
        if not engine.resting or len(engine.script.emitted) in paused:  # it has not stepped yet
            return False
        paused.append(len(engine.script.emitted))
        return True

    said, controller, _ = talk(
        "hello", rounds(3), "/pause", rests, "/step", rests, "/go", rounds(30), "again", "/stop", idle,
        rounds=5000, rounds_per_second=50.0,
    )  # fmt: skip
    assert paused[1] == paused[0] + 1
    assert "Paused." in said
    assert "Not paused." in said
    assert "A run is under way: the prompt waits for its end." in said
    assert "Stopping. Taken back: 1 prompt." in said
    assert len(controller.session.answers) == 1
    assert "It was stopped" in said
    assert controller.session.answers[0].finished is not None


def test_a_prompt_typed_during_a_run_is_answered_behind_it() -> None:
    said, controller, _ = talk("hello", "again", idle, rounds=5)
    assert [answer.prompt for answer in controller.session.answers] == ["hello", "again"]
    assert all(answer.finished is not None for answer in controller.session.answers)
    assert "accepted, then the target's own “" in said


def test_settings_are_shown_and_changed() -> None:
    said, controller, _ = talk(
        "/set budget 16", "/set top-p 0.5", "/set stop Q:", "/set budget 0", "/set nothing 1", "/settings"
    )
    settings = controller.settings
    assert (settings.budget, settings.top_p, settings.stop) == (16, 0.5, ("Q:",))
    assert "budget: 16, from the next round on." in said
    assert "top p: 0.5, from the next run on." in said
    assert "The budget cannot be 0." in said
    assert "There is no setting nothing." in said
    assert 'stop: ["Q:"].' in said
    said, controller, _ = talk("/set budget auto", "/set budget auto:", "/set budget auto:32")
    assert (controller.settings.budget, controller.settings.auto_budget) == (32, True)
    assert "budget: auto:256, from the next round on." in said
    assert "The budget cannot be 'auto:'." in said


def test_other_commands() -> None:
    said, controller, _ = talk("/help", "/dance", "/rounds", "hello", idle, "/new", "/quit", rounds=3)
    for command in COMMANDS:
        assert f"{command}: " in said
    assert "There is no command /dance." in said
    assert "Round " not in said
    assert "Rounds are not told." in said
    assert controller.session.answers == []


def test_failures_are_told_once_and_the_engine_restarts() -> None:
    said, controller, _ = talk(
        "die", lambda controller: controller.session.phase is Phase.BROKEN, "/restart",
        lambda controller: controller.session.phase is Phase.READY, "hello", rounds=2,
    )  # fmt: skip
    assert said.count("The engine was killed by signal 9.") == 1
    assert "/restart starts the engine anew." in said
    assert len(controller.session.answers) == 2


def test_ctrl_c_stops_the_run_and_then_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine(rounds=5000, rounds_per_second=50.0)
    controller = Controller(DecodeSettings(), engine=engine)
    engine.start()
    out = io.StringIO()
    forever = threading.Event()
    log = PlainLog(controller, lambda: str(forever.wait()), out)
    turn, interrupted = log._turn, []

    def interrupting() -> int | None:
        running = len(controller.session.rounds) > 2 and not interrupted
        if running or (interrupted == [1] and idle(controller)):
            interrupted.append(1)
            signal.raise_signal(signal.SIGINT)
        return turn()

    monkeypatch.setattr(log, "_turn", interrupting)
    assert log.run("hello", []) == 130
    assert "It was stopped" in out.getvalue()


def test_ctrl_c_while_an_event_is_told_loses_none() -> None:
    class Interrupting(io.StringIO):
        def write(self, text: str) -> int:
            if "Prompt read" in text:
                signal.raise_signal(signal.SIGINT)
            return super().write(text)

    engine = ScriptedEngine(rounds=3, rounds_per_second=400.0)
    controller = Controller(DecodeSettings(), engine=engine)
    engine.start()
    out = Interrupting()
    PlainLog(controller, lambda: "", out).run("hello", [])
    assert not controller.busy
    assert controller.session.answers[0].finished is not None


def test_a_second_ctrl_c_does_not_wait() -> None:
    log = PlainLog(Controller(DecodeSettings(), engine=ScriptedEngine()), lambda: "", io.StringIO())
    log._interrupt(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        log._interrupt(signal.SIGINT)


def test_input_that_is_no_text_ends_or_is_taken_as_it_can_be(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ddtree_tui", "--plain", "--model", str(tmp_path / "none")],
        input=b"hello \xff\n",
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert b"Traceback" not in done.stderr


def test_input_that_breaks_off_is_at_its_end() -> None:
    def read() -> str:
        raise OSError("gone")

    log = PlainLog(Controller(DecodeSettings(), engine=ScriptedEngine()), read, io.StringIO())
    with pytest.raises(OSError, match="gone"):
        log._read_all()
    assert log._lines.get(timeout=1) == ""


def test_a_failed_recording_is_told() -> None:
    failed = Failed(error="x", message="There was [/b] no room.", hint="Make some.")
    assert list(Narrator(Session()).tell(failed)) == ["Failed: There was [/b] no room. Make some."]


def test_a_recording_is_told_at_once_on_any_output(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(b"".join(encode_event(event) + b"\n" for event in conversation(0, rounds=500)))
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ddtree_tui",
            "replay",
            str(trace),
            "--plain-log",
            "--log",
            str(tmp_path / "log"),
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    assert "Round 500: " in done.stdout
    assert "Answer: " in done.stdout
    assert done.stderr == ""


def test_ids_that_nobody_told_are_no_ids() -> None:
    session, told = Session(), []
    narrator = Narrator(session)
    for event in conversation(0, rounds=3):
        if isinstance(event, Round):
            event = msgspec.structs.replace(event, bonus_id=UNKNOWN_ID, committed_ids=[UNKNOWN_ID])
        session.apply(event)
        told += narrator.tell(event)
    assert any("#?" in line for line in told)
    assert not any("#-1" in line for line in told)
