"""Packed rounds and events come back as they were, whatever is in them."""

from __future__ import annotations

import math
import random
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.events import (
    Candidates,
    Failed,
    Lane,
    Miss,
    Nodes,
    Round,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.packed import KEPT, PackedEvents, PackedRounds
from engine.recording import own

IDS = st.integers(0, 2**62)
FLOATS = st.floats(allow_nan=False)
CANDIDATES = st.none() | st.builds(
    Candidates, ids=st.lists(st.lists(IDS, max_size=3)), logprobs=st.lists(st.lists(FLOATS, max_size=3))
)
ROUNDS = st.builds(
    Round,
    index=IDS,
    mode=st.sampled_from(["ar", "chain", "tree"]),
    position=IDS,
    root_id=IDS,
    nodes=st.builds(
        Nodes,
        ids=st.lists(IDS),
        parents=st.lists(st.integers(-1, 1024)),
        depths=st.lists(IDS),
        logprobs=st.lists(FLOATS),
        ranks=st.lists(IDS),
    ),
    target=st.builds(TargetRows, ids=st.lists(IDS), logprobs=st.lists(FLOATS), gaps=st.lists(FLOATS)),
    accepted=st.lists(IDS),
    bonus_id=st.none() | IDS,
    miss=st.none() | st.builds(Miss, depth=IDS, id=IDS, rank=IDS, logprob=FLOATS, beyond=st.booleans()),
    committed_ids=st.lists(IDS),
    acceptance_length=IDS,
    ms=st.builds(StageTimes, draft=FLOATS, total=FLOATS),
    drafter_topk=CANDIDATES,
    target_topk=CANDIDATES,
    t=FLOATS,
)


@given(st.lists(ROUNDS, max_size=5))
def test_rounds_come_back_equal(rounds: list[Round]) -> None:
    packed = PackedRounds(rounds)
    packed._kept.clear()  # nothing but the bytes
    assert list(packed) == rounds
    assert packed[1:3] == rounds[1:3]
    for round_, summary in zip(rounds, packed.summaries, strict=True):
        assert summary.acceptance_length == round_.acceptance_length
        assert summary.drafted == len(round_.nodes.ids)
        assert (summary.ms, summary.t) == (round_.ms.total, round_.t)
        assert summary.miss == round_.miss


@given(
    st.lists(
        ROUNDS
        | st.just(Tokens(pieces={"1": "a"}))
        | st.just(Failed(error="a", message="b"))
        | st.builds(Lane, lane=st.just(1), event=ROUNDS | st.just(Tokens(pieces={"2": "b"}))),
        max_size=5,
    )
)
def test_events_come_back_equal(events: list[Round | Tokens | Failed | Lane]) -> None:
    packed = PackedEvents(events)
    assert packed == events
    assert events == list(packed)
    assert packed != [*events, Failed(error="c", message="d")]
    assert packed.kinds == [type(event) for event in events]
    assert packed.times == [event.t for event in events]
    assert packed.rounds == [place for place, event in enumerate(events) if isinstance(own(event), Round)]
    assert packed[:2] == events[:2]
    assert packed.hand_over(1, 3) == events[1:3]
    assert packed[:1] == events[:1]
    assert packed[3:] == events[3:]
    assert packed.kinds == [type(event) for event in events]


def round_of(nodes: int, index: int) -> Round:
    rng = random.Random(index)
    return Round(
        index=index,
        mode="tree",
        position=index,
        root_id=1,
        nodes=Nodes(
            ids=[rng.randrange(1000, 150_000) for _ in range(nodes)],
            parents=list(range(-1, nodes - 1)),
            depths=[1 + node % 15 for node in range(nodes)],
            logprobs=[-rng.random() for _ in range(nodes)],
            ranks=[rng.randrange(64) for _ in range(nodes)],
        ),
        target=TargetRows(
            ids=[rng.randrange(1000, 150_000) for _ in range(nodes + 1)],
            logprobs=[-rng.random() for _ in range(nodes + 1)],
            gaps=[rng.random() for _ in range(nodes + 1)],
        ),
        accepted=[],
        bonus_id=2,
        miss=None,
        committed_ids=[2],
        acceptance_length=1,
        ms=StageTimes(total=math.pi),
    )


def test_a_round_of_256_nodes_takes_12_kilobytes_at_most() -> None:
    packed = PackedRounds(round_of(256, index) for index in range(100))
    held = sum(sys.getsizeof(data) for data in packed._packed) / len(packed)
    assert 4_000 < held < 12_000
    assert len(packed._kept) == KEPT


def test_a_round_looked_at_again_is_the_same_object() -> None:
    packed = PackedRounds(round_of(4, index) for index in range(100))
    first = packed[0]
    assert packed[0] is first
    assert packed[-100] is first
    assert packed[-1].index == 99
    for index in range(100):
        assert packed[index].index == index
    assert packed[0] == first


@pytest.mark.parametrize("index", [3, -4])
def test_there_is_no_round_beyond(index: int) -> None:
    with pytest.raises(IndexError):
        PackedRounds(round_of(1, i) for i in range(3))[index]
