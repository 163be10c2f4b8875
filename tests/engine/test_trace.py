import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import trace as trace_module
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Finished, Loaded, Loading, ModelInfo, StageTimes, Tokens
from engine.trace import TraceWriter, check_trace, read_trace

LOADED = Loaded(
    target=ModelInfo(name="m", path="p", architecture="A", parameters=1, dtype="float32"),
    drafter=None,
    device="cpu",
    versions={},
    block_size=None,
    mask_token_id=None,
    target_layer_ids=[],
    memory_bytes=1,
    seconds=0.5,
    context_length=10,
    vocab_size=10,
)
TOKENS = Tokens(pieces={"1": "[/b]\x1b\u2028\n", "2": "你"}, raw={"3": "ff"})
FINISHED = Finished(
    reason="stop",
    output_ids=[1],
    text="x",
    thinking_text="",
    rounds=0,
    tokens=1,
    mean_acceptance_length=0.0,
    acceptance_histogram=[],
    tokens_per_second=1.0,
    ttft_s=0.1,
    ms=StageTimes(),
    drafted=0,
    accepted=0,
)
RUN: list[AnyEvent] = [LOADED, TOKENS, FINISHED]


def record(path: Path, events: list[AnyEvent] = RUN) -> Path:
    with TraceWriter(path) as writer:
        for event in events:
            writer.write(event)
    return path


def refused(path: Path) -> EngineError:
    with pytest.raises(EngineError) as caught:
        read_trace(path)
    return caught.value


def test_what_was_written_is_read(tmp_path):
    trace = read_trace(record(tmp_path / "run.jsonl"))
    assert trace.events == RUN
    assert trace.notice is None


def test_one_event_is_one_line(tmp_path):
    path = record(tmp_path / "run.jsonl")
    assert path.read_bytes().count(b"\n") == len(RUN)


def test_every_event_is_in_the_file_at_once(tmp_path):
    path = tmp_path / "run.jsonl"
    writer = TraceWriter(path)
    for count, event in enumerate(RUN, 1):
        writer.write(event)
        assert len(read_trace(path).events) == count
    writer.close()


def test_an_existing_file_is_never_touched(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("precious")
    with pytest.raises(EngineError, match="exists already"):
        TraceWriter(path)
    assert path.read_text() == "precious"


def test_a_recording_without_a_run_leaves_no_file(tmp_path):
    failed = Failed(error="model_not_found", message="m")
    path = record(tmp_path / "run.jsonl", [Loading(stage="weights", done=0, total=1), failed])
    assert not path.exists()


def test_a_failure_during_the_run_is_recorded(tmp_path):
    failed = Failed(error="out_of_memory", message="m")
    assert read_trace(record(tmp_path / "run.jsonl", [LOADED, failed])).events == [LOADED, failed]


@pytest.mark.parametrize("name", ["no/such/folder/run.jsonl", "."])
def test_a_file_that_cannot_be_made_is_refused(tmp_path, name):
    with pytest.raises(EngineError) as caught:
        TraceWriter(tmp_path / name)
    assert caught.value.kind == "trace_write"
    assert caught.value.hint


def test_a_full_disk_ends_the_recording_once_and_keeps_what_is_there(tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    room = len(encode_event(LOADED)) + 1 + 10
    real_write = os.write

    def write(fd: int, data: memoryview) -> int:
        left = room - os.fstat(fd).st_size
        if left <= 0:
            raise OSError(28, "No space left on device")
        return real_write(fd, data[:left])

    writer = TraceWriter(path)
    monkeypatch.setattr(trace_module.os, "write", write)
    writer.write(LOADED)
    with pytest.raises(EngineError, match="no room left"):
        writer.write(TOKENS)
    assert not writer.recording
    writer.write(FINISHED)
    writer.close()
    trace = read_trace(path)
    assert trace.events == [LOADED]
    assert trace.notice is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_told_as_such():
    with TraceWriter(Path("/dev/full")) as writer, pytest.raises(EngineError, match="no room left"):
        writer.write(LOADED)
    assert Path("/dev/full").exists()


@given(cut=st.integers(min_value=1))
@settings(max_examples=200, deadline=None)
def test_a_file_cut_anywhere_keeps_all_whole_events(tmp_path_factory, cut):
    data = b"".join(encode_event(event) + b"\n" for event in RUN)
    first = len(encode_event(LOADED))
    cut = first + cut % (len(data) - first + 1)  # from the end of the first event to the whole file
    path = tmp_path_factory.mktemp("cut") / "run.jsonl"
    path.write_bytes(data[:cut])
    trace = read_trace(path)
    ends = [first, first + 1 + len(encode_event(TOKENS)), len(data) - 1]
    assert trace.events == RUN[: sum(end <= cut for end in ends)]
    whole = cut in ends or cut in [end + 1 for end in ends]
    assert (trace.notice is None) == whole


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = record(tmp_path / "run.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"v":1,"type":"tokens","pieces":3}\n' + lines[2])
    error = refused(path)
    assert error.kind == "bad_trace"
    assert "Line 2" in error.message
    assert "1 to 1" in error.hint


def test_an_event_that_contradicts_itself_is_a_broken_line(tmp_path):
    path = record(tmp_path / "trace", [LOADED, Tokens(raw={"3": "not hex"}), FINISHED])
    error = refused(path)
    assert error.kind == "bad_trace"
    assert "Line 2" in error.message
    assert "hexadecimal" in error.detail


def test_a_folder_is_not_said_to_be_a_trace_that_exists(tmp_path):
    with pytest.raises(EngineError, match="is a folder") as caught:
        TraceWriter(tmp_path)
    assert caught.value.kind == "trace_write"


def test_another_schema_version_is_refused(tmp_path):
    path = record(tmp_path / "run.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2', 1))
    error = refused(path)
    assert error.kind == "trace_version"
    assert "version 2" in error.message


@pytest.mark.parametrize(
    "content", [b"{}\n", b"hello\n", b"\x7fELF\x00\x01", b"[1,2]\n", b'"v"', b"\xff\xfe\n"]
)
def test_other_files_are_not_traces(tmp_path, content):
    path = tmp_path / "other"
    path.write_bytes(content)
    error = refused(path)
    assert error.kind == "bad_trace"
    assert "first line" in error.message
    with pytest.raises(EngineError, match="first line"):
        check_trace(path)


@given(st.binary(min_size=1))
@settings(max_examples=300, deadline=None)
def test_no_content_is_more_than_an_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(content)
    with pytest.raises(EngineError):
        read_trace(path)


@pytest.mark.parametrize("content", [b"", b"\n\n \n"])
def test_an_empty_file_is_said_to_hold_nothing(tmp_path, content):
    path = tmp_path / "empty"
    path.write_bytes(content)
    assert "no events" in refused(path).message


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    assert "There is no" in refused(tmp_path / "missing").message
    assert "folder" in refused(tmp_path).message


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_module, "MAX_LINE_BYTES", 1000)
    path = record(tmp_path / "run.jsonl")
    with path.open("ab") as file:
        file.write(b"x" * 5000)
    assert "longer than any event" in refused(path).message


def test_blank_lines_and_unknown_events_are_passed_over(tmp_path):
    path = record(tmp_path / "run.jsonl")
    with path.open("ab") as file:
        file.write(b"\n" + msgspec.json.encode({"v": 1, "type": "weather", "sun": True}) + b"\n")
    trace = read_trace(path)
    assert trace.events == RUN
    assert "1 events" in (trace.notice or "")


def test_unknown_fields_are_ignored(tmp_path):
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode_event(LOADED)[:-1] + b',"moon":"full"}\n')
    assert read_trace(path).events == [LOADED]
