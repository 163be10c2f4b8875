from __future__ import annotations

import json

import pytest

from engine.errors import EngineError
from engine.event_lines import decode_event, encode_event
from engine.events import (
    AnyEvent,
    Failed,
    Finished,
    Loading,
    Nodes,
    Prefilled,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.settings import DecodeSettings

EVENTS: list[AnyEvent] = [
    Loading(stage="Loading target weights", done=2, total=6, t=0.5),
    Tokens(pieces={"5": "[/b]"}, raw={"7": "e4bd"}, special=[2]),
    Prefilled(
        prompt_ids=[1, 2],
        prompt_text="hi",
        messages=[{"role": "user", "content": "hi"}],
        thinking=False,
        settings=DecodeSettings(stop=("\n",)),
        stop_ids=[2],
        seconds=0.1,
        first_id=5,
    ),
    Round(
        index=0,
        mode="tree",
        position=2,
        root_id=5,
        nodes=Nodes(ids=[7], parents=[-1], depths=[1], logprobs=[-0.25], ranks=[0]),
        target=TargetRows(ids=[7, 5], logprobs=[-0.1, -0.2], gaps=[3.0, 0.5]),
        accepted=[0],
        bonus_id=5,
        miss=None,
        committed_ids=[7, 5],
        acceptance_length=2,
        ms=StageTimes(total=3.5),
    ),
    Finished(
        reason="stop",
        output_ids=[5, 7, 5],
        text="x",
        thinking_text="",
        rounds=1,
        tokens=3,
        mean_acceptance_length=2.0,
        acceptance_histogram=[0, 0, 1],
        tokens_per_second=10.0,
        ttft_s=0.1,
        ms=StageTimes(),
        drafted=1,
        accepted=1,
    ),
    Failed(error="out_of_memory", message="No memory is left."),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_come_back_as_they_went(event: AnyEvent) -> None:
    line = encode_event(event)
    assert b"\n" not in line
    assert decode_event(line) == event
    fields = json.loads(line)
    assert fields["v"] == 1
    assert fields["type"] == type(event).__name__.lower()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_unknown_fields_are_ignored(event: AnyEvent) -> None:
    fields = {**json.loads(encode_event(event)), "from_the_future": [1, {"a": 2}]}
    assert decode_event(json.dumps(fields)) == event


def test_unknown_types_are_skipped_and_other_versions_refused() -> None:
    assert decode_event('{"v": 1, "type": "weather", "position": 3}') is None
    with pytest.raises(EngineError, match="schema version 2") as caught:
        decode_event('{"v": 2, "type": "round"}')
    assert caught.value.kind == "trace_version"


@pytest.mark.parametrize(
    "line",
    [
        *("", "nonsense", "[]", '{"v": 1, "type": "round"}', '{"v": 1, "type": "loading", "stage": 4}'),
        '{"v": 1, "type": "round", "nodes": ' + "[" * 100_000,
    ],
    ids=lambda line: line[:40],
)
def test_lines_that_are_no_events_are_refused(line: str) -> None:
    with pytest.raises(EngineError) as caught:
        decode_event(line)
    assert caught.value.kind == "bad_trace"
    assert caught.value.hint
