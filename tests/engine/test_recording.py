"""Recordings in blocks: what is written comes back, from any block alone, and no damage passes unseen."""

from __future__ import annotations

import gzip
import io
import itertools
import random
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import recording as recording_module
from engine.blocks import encode_block, find_blocks, read_block
from engine.errors import EngineError
from engine.event_lines import decode_event
from engine.events import (
    AnyEvent,
    Candidates,
    Failed,
    Finished,
    Loaded,
    Miss,
    ModelInfo,
    Nodes,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.recording import BLOCK_ROUNDS, Announced, Recording, RunWriter, ids_of
from engine.settings import DecodeSettings
from engine.trace import check_trace, read_trace

VOCABULARY = 400
TARGET = ModelInfo(name="t", path="t", architecture="A", parameters=1, dtype="float32")
LOADED = Loaded(
    target=TARGET,
    drafter=None,
    device="cpu",
    versions={},
    block_size=16,
    mask_token_id=3,
    target_layer_ids=[],
    memory_bytes=1,
    seconds=1.0,
    context_length=4096,
    vocab_size=VOCABULARY,
)


def announcement() -> Tokens:
    """Every id, some of them awkward, every seventh with bytes, the first three special."""
    pieces = {str(token_id): f" <{token_id}>\x1b[/b]\u202e\n" for token_id in range(VOCABULARY)}
    return Tokens(
        pieces=pieces, raw={str(i): f"{i % 256:02x}ff" for i in range(0, VOCABULARY, 7)}, special=[0, 1, 2]
    )


def prefilled(seed: int = 0) -> Prefilled:
    return Prefilled(
        prompt_ids=[5, 6, 7 + seed],
        prompt_text="hello",
        messages=[{"role": "user", "content": "hello"}],
        thinking=False,
        settings=DecodeSettings(budget=8),
        stop_ids=[2],
        seconds=0.1,
        first_id=9,
    )


def round_of(index: int, nodes: int = 8) -> Round:
    rng = random.Random(index)

    def ids(count: int) -> list[int]:
        return [rng.randrange(VOCABULARY) for _ in range(count)]

    return Round(
        index=index,
        mode="tree",
        position=10 + index,
        root_id=rng.randrange(VOCABULARY),
        nodes=Nodes(
            ids=ids(nodes),
            parents=list(range(-1, nodes - 1)),
            depths=list(range(1, nodes + 1)),
            logprobs=[round(-rng.random(), 4) for _ in range(nodes)],
            ranks=[0] * nodes,
        ),
        target=TargetRows(ids=ids(nodes + 1), logprobs=[-0.1] * (nodes + 1), gaps=[1.5] * (nodes + 1)),
        accepted=[0, 1] if nodes > 1 else [],
        bonus_id=17,
        miss=Miss(depth=3, id=18, rank=2, logprob=-3.0, beyond=False),
        committed_ids=ids(3),
        acceptance_length=3,
        ms=StageTimes(total=1.0),
        t=0.1 * index,
    )


def finished(rounds: int) -> Finished:
    return Finished(
        reason="stop",
        output_ids=[9, *itertools.chain(*(round_of(index).committed_ids for index in range(rounds)))],
        text="x",
        thinking_text="",
        rounds=rounds,
        tokens=1 + 3 * rounds,
        mean_acceptance_length=3.0,
        acceptance_histogram=[0, 0, 0, rounds],
        tokens_per_second=10.0,
        ttft_s=0.1,
        ms=StageTimes(total=float(rounds)),
        drafted=8 * rounds,
        accepted=2 * rounds,
    )


def run(rounds: int, end: bool = True) -> Iterator[AnyEvent]:
    yield prefilled()
    yield from (round_of(index) for index in range(rounds))
    if end:
        yield finished(rounds)


def write(path: Path, events: Iterator[AnyEvent]) -> Path:
    announced = Announced()
    announced.learn(announcement())
    writer = RunWriter(path, LOADED, announced)
    for event in events:
        writer.write(event)
    writer.close()
    return path


def without_tokens(events: object) -> list[AnyEvent]:
    return [event for event in events if not isinstance(event, Tokens)]  # type: ignore[attr-defined]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_module, "BLOCK_ROUNDS", 3)


@pytest.mark.parametrize("rounds", [0, 1, BLOCK_ROUNDS - 1, BLOCK_ROUNDS, 3 * BLOCK_ROUNDS + 5])
def test_a_run_comes_back(rounds: int, tmp_path: Path) -> None:
    path = write(tmp_path / "run", run(rounds))
    trace = read_trace(path)
    check_trace(path)
    assert without_tokens(trace.events) == [LOADED, *run(rounds)]
    assert trace.notice is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_zcat_shows_plain_events(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl.gz", run(70))
    shown = subprocess.run(["zcat", path], capture_output=True, check=True).stdout
    assert shown == gzip.decompress(path.read_bytes())
    events = [decode_event(line) for line in shown.splitlines()]
    assert without_tokens(events) == [LOADED, *run(70)]
    plain = tmp_path / "run.jsonl"
    plain.write_bytes(shown)
    assert without_tokens(read_trace(plain).events) == [LOADED, *run(70)]


def test_every_block_spells_what_it_uses(tmp_path: Path, small_blocks: None) -> None:
    everything = announcement()
    with Recording.open(write(tmp_path / "run", run(20))) as recording:
        assert len(recording.blocks) == 1 + 7 + 1
        for block in recording.blocks:
            events = recording.events(block)
            used = set().union(*(ids_of(event) for event in events))
            (tokens,) = [event for event in events if isinstance(event, Tokens)]
            assert events.index(tokens) == (1 if isinstance(events[0], Loaded) else 0)
            assert tokens.pieces == {str(i): everything.pieces[str(i)] for i in used}
            assert tokens.raw == {str(i): everything.raw[str(i)] for i in used if i % 7 == 0}
            assert set(tokens.special) == used & {0, 1, 2}


def test_any_round_is_read_alone(tmp_path: Path, small_blocks: None) -> None:
    with Recording.open(write(tmp_path / "run", run(20))) as recording:
        assert (recording.rounds, recording.tokens) == (20, 60)
        for index in range(20):
            events, round_ = recording.round(index)
            assert round_ == round_of(index)
            assert round_ in events
        assert recording.round(-1)[1] == round_of(19)
        with pytest.raises(IndexError):
            recording.round(20)
        assert recording.events(recording.blocks[-1])[-1] == finished(20)


def test_truncated_anywhere_at_most_the_last_block_is_lost(tmp_path: Path, small_blocks: None) -> None:
    whole = write(tmp_path / "run", run(5)).read_bytes()
    with (tmp_path / "run").open("rb") as file:
        blocks, _ = find_blocks(file)
    path = tmp_path / "cut"
    ends = [block.offset + block.size for block in blocks]
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        kept = sum(end <= length for end in ends)
        if kept == 0:
            with pytest.raises(EngineError) as raised:
                read_trace(path)
            assert raised.value.kind == "bad_trace"
            continue
        trace = read_trace(path)
        rounds = sum(block.rounds for block in blocks[:kept])
        expected = [LOADED, *run(rounds, end=False)]
        assert without_tokens(trace.events) == expected
        assert (trace.notice is None) == (length in ends)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_damage_is_refused_in_one_sentence_or_leaves_the_events_as_they_were(data: st.DataObject) -> None:
    """A flipped bit of the header that is not looked at changes nothing; every other one is found."""
    good, events = _SMALL
    place = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[place] ^= 1 << data.draw(st.integers(0, 7))
    read = _read(bytes(bad))
    if isinstance(read, EngineError):
        assert read.kind in ("bad_trace", "trace_version")
        assert "\n" not in read.message
        assert read.message.endswith(".")
    else:
        assert read == events[: len(read)]  # a size that points beyond the end reads as cut short


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 40))
def test_foreign_bytes_are_refused_in_one_sentence(noise: bytes, kept: int) -> None:
    read = _read(_SMALL[0][:kept] + noise)
    assert read == [] or (isinstance(read, EngineError) and read.kind == "bad_trace")


def _read(data: bytes) -> list[AnyEvent] | EngineError:
    try:
        recording = Recording(io.BytesIO(data))
        return [event for block in recording.blocks for event in recording.events(block)]
    except EngineError as error:
        return error


def _small() -> tuple[bytes, list[AnyEvent]]:
    blocks = [
        encode_block([b'{"type":"failed","v":1,"t":0.5,"error":"a","message":"b"}'], rounds=0, tokens=0),
        encode_block([b'{"type":"failed","v":1,"t":0.7,"error":"c","message":"d"}'], rounds=0, tokens=0),
    ]
    data = b"".join(blocks)
    return data, [Failed(error="a", message="b", t=0.5), Failed(error="c", message="d", t=0.7)]


_SMALL = _small()


def test_a_block_that_unpacks_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.blocks.MAX_BLOCK_BYTES", 1000)
    file = io.BytesIO(encode_block([b"0" * 10**6], rounds=0, tokens=0))
    (block,), cut_short = find_blocks(file)
    assert not cut_short
    with pytest.raises(EngineError, match="damaged"):
        read_block(file, block)


def test_a_block_of_other_rounds_than_it_says_is_refused() -> None:
    line = b'{"type":"failed","v":1,"error":"a","message":"b"}'
    recording = Recording(io.BytesIO(encode_block([line], rounds=1, tokens=1)))
    with pytest.raises(EngineError, match="other rounds"):
        recording.round(0)


def test_an_event_that_contradicts_itself_is_refused() -> None:
    line = b'{"type":"tokens","v":1,"pieces":{"x":"y"}}'
    recording = Recording(io.BytesIO(encode_block([line], rounds=0, tokens=0)))
    with pytest.raises(EngineError, match="contradicts"):
        recording.events(recording.blocks[0])


def test_other_packed_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n"))
    for read in (read_trace, check_trace):
        with pytest.raises(EngineError) as raised:
            read(path)
        assert "run.jsonl.gz" in raised.value.message
        assert "gunzip" in raised.value.hint


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    path = write(tmp_path / "run", run(1))
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        RunWriter(path, LOADED, Announced())
    assert path.read_bytes() == before


def test_a_full_disk_leaves_whole_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run"
    writer = RunWriter(path, LOADED, Announced())
    writer.write(prefilled())
    real, written = recording_module.os.write, 0

    def full(fd: int, data: memoryview) -> int:
        nonlocal written
        written += 1
        if written > 1:
            raise OSError(28, "No space left on device")
        return real(fd, data[: len(data) // 2])

    monkeypatch.setattr(recording_module.os, "write", full)
    for index in range(BLOCK_ROUNDS - 1):
        writer.write(round_of(index))
    with pytest.raises(OSError, match="No space"):
        writer.write(round_of(BLOCK_ROUNDS - 1))
    writer.close()
    trace = read_trace(path)
    assert without_tokens(trace.events) == [LOADED, prefilled()]
    assert trace.notice is None


def test_what_was_never_begun_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = RunWriter(path, LOADED, Announced())
    writer._builder.take()
    writer.close()
    assert not path.exists()


def test_ids_of_a_round_include_what_was_listed() -> None:
    round_ = Round(
        index=0,
        mode="tree",
        position=1,
        root_id=1,
        nodes=Nodes(),
        target=TargetRows(ids=[2], logprobs=[-1.0], gaps=[1.0]),
        accepted=[],
        bonus_id=3,
        miss=Miss(depth=1, id=4, rank=0, logprob=-1.0, beyond=True),
        committed_ids=[3],
        acceptance_length=1,
        ms=StageTimes(),
        drafter_topk=Candidates(ids=[[5, 6], [7]], logprobs=[[-1.0, -2.0], [-1.0]]),
        target_topk=Candidates(ids=[[8]], logprobs=[[-1.0]]),
    )
    assert ids_of(round_) == {1, 2, 3, 4, 5, 6, 7, 8}
