"""What is made before the screen: the recording is read, or the engine's process is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_recording import conversation
from playing import options_for

from ddtree_tui import app
from ddtree_tui.app import make_controller
from ddtree_tui.config import Config, Recordings
from ddtree_tui.recorder import Recorder
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.settings import DecodeSettings, LoadSettings


def recording(path: Path, *, cut: int = 0) -> Path:
    data = b"".join(encode_event(event) + b"\n" for event in conversation(0, rounds=5))
    path.write_bytes(data[: len(data) - cut])
    return path


def test_a_recording(tmp_path: Path) -> None:
    controller = make_controller(options_for(DecodeSettings(), replay=recording(tmp_path / "run.jsonl")))
    controller.play_all(0.0)
    assert len(controller.session.rounds) == 5
    assert controller.take_problems() == []
    controller.shut_down()


def test_a_truncated_recording_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    controller = make_controller(
        options_for(DecodeSettings(), replay=recording(tmp_path / "run.jsonl", cut=30))
    )
    (problem,) = controller.take_problems()
    assert problem.title == "The recording is not complete"
    assert "run.jsonl" in problem.message
    controller.play_all(0.0)
    assert len(controller.session.rounds) == 5
    assert not controller.session.answers[0].over


@pytest.mark.parametrize("content", [b"", b"not a trace\n", b'{"type":"loading","v":99}\n'])
def test_what_is_no_recording_is_refused_before_the_screen(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(EngineError) as raised:
        make_controller(options_for(DecodeSettings(), replay=path))
    assert raised.value.hint


def test_a_trace_that_cannot_be_made_is_refused_before_the_screen(tmp_path: Path) -> None:
    with pytest.raises(EngineError) as raised:
        make_controller(options_for(DecodeSettings(), trace=tmp_path / "no" / "folder" / "run.jsonl"))
    assert raised.value.kind == "trace_write"


def test_an_engine_that_does_not_start_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = tmp_path / "run.jsonl"
    options = options_for(DecodeSettings(), trace=trace, log_path=tmp_path / "log")
    monkeypatch.setattr("sys.executable", str(tmp_path / "no-python"))
    with pytest.raises(EngineError) as raised:
        make_controller(options)
    assert raised.value.kind == "engine_start"
    assert not trace.exists()
    trace.write_bytes(b"mine")
    with pytest.raises(EngineError) as raised:
        make_controller(options)
    assert raised.value.kind == "trace_write"
    assert trace.read_bytes() == b"mine"


def test_that_a_long_recording_is_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = options_for(DecodeSettings(), replay=recording(tmp_path / "run.jsonl"))
    make_controller(options)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("ddtree_tui.app.LONG_BYTES", 1000)
    make_controller(options)
    assert "Reading" in capsys.readouterr().err


def test_recordings_take_what_the_configuration_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[dict[str, object]] = []

    class Made(Recorder):
        def __init__(self, folder: Path, **how: object) -> None:
            made.append(how)
            super().__init__(tmp_path)

    monkeypatch.setattr(app, "Recorder", Made)
    monkeypatch.setattr(app.EngineLink, "start", lambda self: None)
    config = Config(recordings=Recordings(limit_mb=3))
    for record in (True, False):
        options = options_for(
            DecodeSettings(),
            config=config,
            record=record,
            load=LoadSettings(model="x"),
            log_path=tmp_path / "log",
        )
        controller = make_controller(options)
        assert controller.load == LoadSettings(model="x")
        controller.shut_down()
    assert made == [{"limit_bytes": 3 * 2**20}]
