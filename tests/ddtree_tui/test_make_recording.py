"""The synthetic rounds other tests rely on must be rounds the engine could have reported."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_recording import BLOCK, VOCABULARY, Recording, conversation

from engine.event_lines import decode_event, encode_event
from engine.events import Finished, Prefilled, Round, Tokens
from engine.settings import DecodeSettings, Mode

modes = st.sampled_from(("ar", "chain", "tree"))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from((1, 2, 16, 64, 300, 1024)), modes, st.booleans())
def test_rounds_are_valid(seed: int, budget: int, mode: Mode, stop: bool) -> None:
    decode = DecodeSettings(budget=budget, mode=mode)
    round_ = Recording(seed).round(decode, 0, 50, 7, stop=stop)
    nodes = round_.nodes
    count = len(nodes.ids)
    assert count <= {"ar": 0, "chain": BLOCK - 1, "tree": budget}[mode]
    assert (
        len({len(field) for field in (nodes.parents, nodes.depths, nodes.logprobs, nodes.ranks)} | {count})
        == 1
    )
    siblings = set()
    for node, (parent, depth) in enumerate(zip(nodes.parents, nodes.depths, strict=True)):
        assert -1 <= parent < node
        assert depth == 1 + (nodes.depths[parent] if parent >= 0 else 0)
        assert depth < BLOCK
        assert nodes.logprobs[node] <= 0
        siblings.add((parent, nodes.ids[node]))
    assert len(siblings) == count
    parent = -1
    for node in round_.accepted:
        assert nodes.parents[node] == parent
        parent = node
    assert round_.acceptance_length == len(round_.committed_ids) == len(round_.accepted) + 1
    assert round_.committed_ids[-1] == round_.bonus_id
    assert (parent, round_.bonus_id) not in siblings or stop
    if round_.miss is not None:
        assert round_.miss.depth == len(round_.accepted) + 1
        assert round_.miss.id == round_.bonus_id
    assert len(round_.target.ids) == count + 1
    assert math.isclose(
        round_.ms.total,
        round_.ms.draft + round_.ms.build + round_.ms.verify + round_.ms.walk + round_.ms.commit,
        rel_tol=0.1,
    )


@pytest.mark.parametrize("mode", ["ar", "chain", "tree"])
def test_a_conversation_adds_up(mode: Mode) -> None:
    events = conversation(3, rounds=12, mode=mode)
    assert all(decode_event(encode_event(event)) == event for event in events)
    rounds = [event for event in events if isinstance(event, Round)]
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    finished = events[-1]
    assert isinstance(finished, Finished)
    output = [prefilled.first_id, *(token for round_ in rounds for token in round_.committed_ids)]
    assert finished.output_ids == output
    assert finished.rounds == len(rounds) == 12
    position, root = len(prefilled.prompt_ids), prefilled.first_id
    for round_ in rounds:
        assert (round_.position, round_.root_id) == (position, root)
        position += round_.acceptance_length
        root = round_.committed_ids[-1]
    announced = next(event for event in events if isinstance(event, Tokens))
    assert set(announced.pieces) >= {str(token) for token in output}
    assert len(announced.pieces) == len(VOCABULARY)
