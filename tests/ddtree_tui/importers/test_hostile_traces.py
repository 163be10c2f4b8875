"""Traces of our own format that somebody has made up: read and drawn, or refused in a sentence."""

from __future__ import annotations

import gzip
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest
from drawing import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import plain

from ddtree_tui.cli import main
from ddtree_tui.importers.answer import events_of
from ddtree_tui.importers.plain import read_plain
from ddtree_tui.session import Session
from engine.blocks import encode_block
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import Candidates, Divergence, MemoryUse, Miss, Round, TargetRows
from engine.trace import MAX_LINE_BYTES, read_trace

TRACE_KINDS = {"bad_trace", "trace_read", "trace_version"}


def lines() -> list[bytes]:
    """A trace with something in every field: an imported one, its rounds made whole as the engine's are."""
    found = []
    for event in events_of(read_plain([plain()])):
        if isinstance(event, Round):
            rows = len(event.nodes.ids) + 1
            event = Round(
                **{name: getattr(event, name) for name in Round.__struct_fields__}
                | {
                    "nodes": type(event.nodes)(
                        ids=event.nodes.ids,
                        parents=event.nodes.parents,
                        depths=event.nodes.depths,
                        logprobs=[-0.5] * (rows - 1),
                        ranks=[0] * (rows - 1),
                    ),
                    "target": TargetRows(ids=event.target.ids, logprobs=[-0.1] * rows, gaps=[1.5] * rows),
                    "miss": Miss(depth=1 + len(event.accepted), id=8, rank=2, logprob=-3.0, beyond=False),
                    "drafter_topk": Candidates(ids=[[4, 7]], logprobs=[[-0.1, -2.5]]),
                    "target_topk": Candidates(ids=[[4, 7]] * rows, logprobs=[[-0.1, -2.5]] * rows),
                }
            )
        found.append(encode_event(event))
    found.insert(
        -1, encode_event(Divergence(round=0, node=0, position=3, id=4, target_id=7, gap=0.1, verdict="tie"))
    )
    found.append(encode_event(MemoryUse(of="process", bytes=1000, peak_bytes=2000)))
    return found


LINES = lines()


def opened(path: Path) -> None:
    """Read a trace and draw all of it, unless it is refused as a trace is."""
    try:
        trace = read_trace(path)
    except EngineError as error:
        said = error.kind in TRACE_KINDS and error.message.endswith(".")
        if not said or len(error.message) > 500 + len(str(path)):
            raise AssertionError(error.message) from error
        return
    session = Session()
    for event in trace.events:
        session.apply(event)
    for _ in drawn(session):
        pass


def test_the_trace_these_tests_spoil_is_a_good_one(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(LINES) + b"\n")
    assert len(read_trace(path).events) == len(LINES)
    opened(path)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where there is a value in nested ones."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(inner, (*path, key))
    return found


VALUES = [0, 1, -1, -2, 7, 10**6, 2**63, -(2**70), 10**400, 1e308, -1e308, 0.5, "", "x", "\u202e\x1b[31m",
          None, True, [], [[]], {}, [-1], [10**18]]  # fmt: skip
PLACES = [(number, path) for number, line in enumerate(LINES) for path in places(json.loads(line))]


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(VALUES)), min_size=1, max_size=2))
@settings(max_examples=300, deadline=None)
def test_any_value_anywhere_is_drawn_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[tuple[int, tuple[Any, ...]], Any]]
) -> None:
    values = [json.loads(line) for line in LINES]
    for (number, path), value in changes:
        place = values[number]
        for key in path[:-1]:
            if not isinstance(place, dict | list) or (
                isinstance(place, list) and key not in range(len(place))
            ):
                break
            place = place.get(key) if isinstance(place, dict) else place[key]
        if isinstance(place, dict) or (isinstance(place, list) and path[-1] in range(len(place))):
            place[path[-1]] = value
    file = tmp_path_factory.getbasetemp() / "spoilt.jsonl"
    file.write_bytes(b"\n".join(json.dumps(value).encode() for value in values) + b"\n")
    opened(file)


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_lines_in_any_order_are_drawn_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random
) -> None:
    shuffled = [rng.choice(LINES) for _ in range(len(LINES) + 3)]
    file = tmp_path_factory.getbasetemp() / "shuffled.jsonl"
    file.write_bytes(b"\n".join(shuffled) + b"\n")
    opened(file)


def test_every_truncation_is_drawn_or_refused(tmp_path: Path) -> None:
    whole = b"\n".join(LINES) + b"\n"
    packed = encode_block(LINES, rounds=2, tokens=4)
    path = tmp_path / "cut"
    for data in (whole, packed):
        for length in range(0, len(data), 97):
            path.write_bytes(data[:length])
            opened(path)


HEAD = b'{"v":1,"type":"memoryuse","of":"process","bytes":1,"peak_bytes":2,"more":'


@pytest.mark.parametrize(
    "text",
    [
        HEAD + b"[" * 200_000 + b"]" * 200_000 + b"}",
        HEAD + b'{"a":' * 200_000 + b"1" + b"}" * 200_001,
        HEAD.replace(b'"bytes":1', b'"bytes":NaN') + b"1}",
        HEAD.replace(b'"bytes":1', b'"bytes":1e999') + b"1}",
        HEAD.replace(b'"v":1', b'"v":' + b"9" * 4000) + b"1}",
        HEAD.replace(b'"v":1', b'"v":-1') + b"1}",
        HEAD.replace(b'"v":1', b'"v":2') + b"1}",
        HEAD.replace(b'"memoryuse"', b'"\\ud800"') + b"1}",
        b"\x00" * 1000,
        b"\xff\xfe{\x00}\x00",
        b"null",
        b"[]",
        gzip.compress(b"{}", mtime=0),  # in whichever second a worker of the tests is started
        b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x10\x00DT\x0c\x00"
        + struct.pack("<IHHI", 2**32 - 1, 1, 1, 1),
        b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x10\x00DT\x0c\x00" + struct.pack("<IHHI", 0, 1, 1, 1),
        b"",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_is_no_trace_is_refused(text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(text + b"\n" if text[:1] == b"{" else text)
    assert main(["stats", str(path)]) == 4
    said = capsys.readouterr().err
    assert said.startswith("ddtree-tui: ")
    assert said.count("\n") == 1


def test_a_line_longer_than_any_event_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(LINES[0] + b"\n" + HEAD)
        file.truncate(10 * 2**30)  # a hole: ten gigabytes of zeros that take no room on the disk
    with pytest.raises(EngineError, match="longer than any event"):
        read_trace(path)
    assert MAX_LINE_BYTES < 2**30


def test_a_block_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(encode_block([b" " * (200 * 2**20)], rounds=0, tokens=0))
    assert path.stat().st_size < 2**20
    with pytest.raises(EngineError, match="damaged"):
        read_trace(path)
