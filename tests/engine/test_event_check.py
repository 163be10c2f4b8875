from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.errors import EngineError
from engine.event_check import check_event
from engine.event_lines import decode_event, encode_event
from engine.events import (
    MAX_NODES,
    AnyEvent,
    Candidates,
    Finished,
    Lane,
    MemoryUse,
    Miss,
    Nodes,
    Prefilled,
    Racing,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.settings import MAX_LANES, DecodeSettings

PREFILLED = Prefilled(
    prompt_ids=[1, 2],
    prompt_text="Hi",
    messages=[{"role": "user", "content": "Hi"}],
    thinking=False,
    settings=DecodeSettings(),
    stop_ids=[0],
    seconds=0.1,
    first_id=3,
)
TOKENS = Tokens(pieces={"1": "a"}, raw={"2": "ff"}, special=[3])
# The root's children are nodes 0 and 1, node 0's are 2 and 3; accepted are 0 and 3, then comes the bonus.
ROUND = Round(
    index=0,
    mode="tree",
    position=2,
    root_id=3,
    nodes=Nodes(
        ids=[4, 5, 6, 7],
        parents=[-1, -1, 0, 0],
        depths=[1, 1, 2, 2],
        logprobs=[-0.1, -1.0, -0.2, -2.0],
        ranks=[0, 1, 0, 1],
    ),
    target=TargetRows(ids=[4, 7, 9, 9, 8], logprobs=[-0.1] * 5, gaps=[1.0] * 5),
    accepted=[0, 3],
    bonus_id=8,
    miss=Miss(depth=3, id=8, rank=2, logprob=-3.0, beyond=False),
    committed_ids=[4, 7, 8],
    acceptance_length=3,
    ms=StageTimes(),
    drafter_topk=Candidates(ids=[[4, 5]], logprobs=[[-0.1, -1.0]]),
)
FINISHED = Finished(
    reason="stop",
    output_ids=[3, 4, 7, 8],
    text="a",
    thinking_text="",
    rounds=1,
    tokens=4,
    mean_acceptance_length=3.0,
    acceptance_histogram=[0, 0, 0, 1],
    tokens_per_second=1.0,
    ttft_s=0.1,
    ms=StageTimes(total=1.0),
    drafted=4,
    accepted=2,
)


@pytest.mark.parametrize(
    "event", [PREFILLED, TOKENS, ROUND, FINISHED], ids=lambda event: type(event).__name__
)
def test_an_event_that_agrees_with_itself_passes(event: AnyEvent) -> None:
    check_event(event)


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes.parents": [-1, -1, 0, 9]},
        {"nodes.parents": [-1, -1, 3, 0]},
        {"nodes.parents": [-1, -1, -2, 0]},
        {"nodes.parents": [-1, -1, 0]},
        {"nodes.depths": [1, 1, 2, 10**12]},
        {"nodes.depths": [0, 1, 1, 1]},
        {"nodes.logprobs": [-0.1]},
        {"nodes.logprobs": [-0.1, -1.0, -0.2, 1e4]},
        {"nodes.ranks": [0, 1, 0, -1]},
        {"target.logprobs": [1e4] * 5},
        {"miss": Miss(depth=3, id=8, rank=2, logprob=1e19, beyond=False)},
        {"drafter_topk": Candidates(ids=[[4, 5]], logprobs=[[1e4, -1.0]])},
        {"nodes.ranks": [0]},
        {"nodes.ids": [4, 5, 6, -7]},
        {"target.ids": [4, 7]},
        {"target.gaps": [1.0]},
        {"accepted": [0, 4]},
        {"accepted": [3]},
        {"accepted": [-1]},
        {"acceptance_length": 10**12},
        {"committed_ids": [4, 7, -8]},
        {"root_id": -2},
        {"index": -1},
        {"index": 10**30},
        {"position": -2},
        {"budget": -1},
        {"budget": 10**400},
        {"t": 1e300},
        {"ms.total": -1.0},
        {"ms.verify": 1e300},
        {"miss.depth": 10**30},
        {"miss.rank": 10**30},
        {"nodes.ranks": [0, 1, 0, 10**30]},
        {"miss.id": -1},
        {"bonus_id": 10**18},
        {"miss.depth": 0},
        {"drafter_topk.logprobs": [[-0.1]]},
        {"drafter_topk.ids": []},
    ],
    ids=str,
)
def test_a_round_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    refuse(changed(ROUND, changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"pieces": {"x": "a"}},
        {"pieces": {"-1": "a"}},
        {"pieces": {"9" * 5000: "a"}},
        {"raw": {"2": "zz"}},
        {"raw": {"2": "f"}},
        {"raw": {"\u0663": "ff"}},
        {"special": [-1]},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_tokens_that_cannot_be_are_refused(changes: dict[str, Any]) -> None:
    refuse(changed(TOKENS, changes))


def test_a_prompt_of_no_tokens_that_exist_is_refused() -> None:
    refuse(changed(PREFILLED, {"prompt_ids": [-2]}))
    refuse(changed(PREFILLED, {"first_id": -2}))


def test_what_an_import_does_not_know_may_be_absent() -> None:
    absent = {"nodes.logprobs": [], "nodes.ranks": [], "target.logprobs": [], "target.gaps": [], "miss": None}
    ids = {"nodes.ids": [-1] * 4, "target.ids": [-1] * 5, "committed_ids": [-1] * 3, "root_id": -1}
    check_event(changed(ROUND, absent | ids | {"bonus_id": -1, "position": -1, "drafter_topk": None}))
    check_event(changed(PREFILLED, {"prompt_ids": [-1, -1], "first_id": -1}))


@pytest.mark.parametrize(
    "changes",
    [
        {"settings.budget": 10**400},
        {"settings.temperature": -1.0},
        {"settings.stop": [""]},
        {"cached": 10**400},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_settings_that_no_run_can_have_are_refused(changes: dict[str, Any]) -> None:
    refuse(changed(PREFILLED, changes))


@pytest.mark.parametrize("lanes", [[], [DecodeSettings()] * (MAX_LANES + 1), [DecodeSettings(budget=0)]])
def test_a_race_of_no_such_lanes_is_refused(lanes: list[DecodeSettings]) -> None:
    check_event(Racing(messages=[], lanes=[DecodeSettings()]))
    with pytest.raises(EngineError):
        check_event(Racing(messages=[], lanes=lanes))


@pytest.mark.parametrize("lane", [-1, MAX_LANES])
def test_a_lane_that_no_race_can_have_is_refused(lane: int) -> None:
    check_event(Lane(lane=0, event=FINISHED))
    check_event(Lane(lane=MAX_LANES - 1, event=FINISHED))
    with pytest.raises(EngineError):
        check_event(Lane(lane=lane, event=FINISHED))


def test_a_tree_larger_than_any_is_refused() -> None:
    count = MAX_NODES + 1
    deep = Nodes(ids=[1] * count, parents=list(range(-1, count - 1)), depths=list(range(1, count + 1)))
    target = TargetRows(ids=[1] * (count + 1), logprobs=[], gaps=[])
    refuse(msgspec.structs.replace(ROUND, nodes=deep, target=target, accepted=[], miss=None))


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": -1},
        {"rounds": 10**400},
        {"acceptance_histogram": [0, -1]},
        {"acceptance_histogram": [0] * 10_000},
        {"ttft_s": -0.5},
        {"mean_acceptance_length": 1e300},
        {"output_ids": [-2]},
        {"ms.total": -1.0},
    ],
    ids=lambda changes: str(changes)[:40],
)
def test_an_end_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    refuse(changed(FINISHED, changes))


@pytest.mark.parametrize("field", ["bytes", "peak_bytes"])
def test_memory_beyond_any_is_refused(field: str) -> None:
    refuse(changed(MemoryUse(of="device", bytes=1, peak_bytes=1), {field: 10**400}))


def changed(event: AnyEvent, changes: dict[str, Any]) -> AnyEvent:
    """The event with fields, or fields of fields, replaced; by way of JSON, as a file would hold it."""
    fields = msgspec.json.decode(encode_event(event))
    for path, value in changes.items():
        *outer, last = path.split(".")
        place = fields
        for name in outer:
            place = place[name]
        place[last] = value
    result = decode_event(msgspec.json.encode(fields))
    assert result is not None
    return result


def refuse(event: AnyEvent) -> None:
    with pytest.raises(EngineError) as caught:
        check_event(event)
    assert caught.value.kind == "bad_trace"
    assert caught.value.detail
