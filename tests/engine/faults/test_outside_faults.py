"""Faults of prompt, vocabulary, weights and text, planted: each is named first, with thinking on and off."""

from __future__ import annotations

from typing import Any

import pytest

from engine.codec import Codec, EncodedPrompt
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Finding, Prefilled
from engine.faults import drafter
from engine.faults.catalogue import FAULTS
from engine.faults.prompt import cut_otherwise
from engine.faults.quantised import rounded_model
from engine.faults.vocabulary import _NextId
from engine.pair import Pair
from engine.settings import Message

OUTSIDE = [name for name, fault in FAULTS.items() if fault.rounds == "any"]
CONVERSATION: list[Message] = [
    {"role": "system", "content": "You are kind.\nYou answer in one sentence."},
    {"role": "user", "content": "What is 482 + 319?"},
]


def found(pair: Pair, **settings: Any) -> list[Finding]:
    pair.session.reset()
    events = generate(pair, CONVERSATION, **{"max_new_tokens": 8, **settings})
    return [event for event in events if isinstance(event, Finding)]


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("name", OUTSIDE)
def test_is_named_first(demo_pair: Pair, name: str, thinking: bool) -> None:
    if thinking and "thinking-off" in FAULTS[name].needs:
        with pytest.raises(EngineError, match="needs thinking off"):
            found(demo_pair, inject=(name,), thinking=True)
        return
    findings = found(demo_pair, inject=(name,), thinking=thinking)
    assert [finding.cause for finding in findings] == [name]
    assert findings[0].severity != "note"
    assert "482" not in f"{findings[0].seen} {findings[0].evidence}"  # nothing of the prompt


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("name", drafter.PLANTS)
def test_a_faulty_drafter_is_named_from_the_first_round_on(
    demo_pair: Pair, name: str, thinking: bool
) -> None:
    findings = found(demo_pair, inject=(name,), thinking=thinking, max_new_tokens=14)
    assert (findings[0].cause, findings[0].round) == (name, 0)


def test_two_faults_are_both_named(demo_pair: Pair) -> None:
    named = {finding.cause for finding in found(demo_pair, inject=("two-bos", "no-generation-prompt"))}
    assert named == {"two-bos", "no-generation-prompt"}


def test_repetition_is_named_beside_children_that_come_first(demo_pair: Pair) -> None:
    names = ("tree-order", "degenerate-text")
    assert {one.cause for one in found(demo_pair, inject=names, max_new_tokens=80)} >= {*names}


def test_a_text_that_is_gone_on_with_needs_no_template(demo_pair: Pair) -> None:
    demo_pair.session.reset()
    events = generate(demo_pair, "The capital of France is", plain=True, max_new_tokens=8)
    assert not [event for event in events if isinstance(event, Finding)]


def test_repetition_is_named_where_it_begins(demo_pair: Pair) -> None:
    findings = found(demo_pair, inject=("degenerate-text",), max_new_tokens=80)
    assert [finding.cause for finding in findings] == ["degenerate-text"]
    assert findings[0].evidence["period"] in (1, 2, 4)
    token = findings[0].evidence["token"]
    assert isinstance(token, int)
    assert token < 16


def test_a_lost_system_message_needs_one(demo_pair: Pair) -> None:
    with pytest.raises(EngineError, match="it needs a system message"):
        generate(demo_pair, "What is 2 + 2?", inject=("system-lost",))


def test_another_cut_is_the_same_text(demo_pair: Pair) -> None:
    codec = demo_pair.codec
    ids = codec.encode_chat(CONVERSATION).ids
    other = cut_otherwise(codec, ids)
    assert other != ids
    assert codec.decode_bytes(other) == codec.decode_bytes(ids)


def test_rounding_leaves_the_pair_alone(demo_pair: Pair) -> None:
    before = demo_pair.target.model.model.layers[0].mlp.down_proj.weight.clone()
    made = rounded_model(demo_pair.target)
    weight = made.model.layers[0].mlp.down_proj.weight
    assert len(weight[0].unique()) <= 15
    assert demo_pair.target.model.model.layers[0].mlp.down_proj.weight.equal(before)
    assert made.model.norm.weight is demo_pair.target.model.model.norm.weight


def test_nothing_is_found_without_a_fault(demo_pair: Pair) -> None:
    events = []
    for thinking in (False, True):
        for temperature in (0.0, 1.0):
            demo_pair.session.reset()
            run = generate(demo_pair, CONVERSATION, thinking=thinking, temperature=temperature, seed=3)
            events += list(run)
    assert not [event for event in events if isinstance(event, Finding)]
    assert sum(isinstance(event, Prefilled) for event in events) == 4


@pytest.mark.parametrize("special", [{0, 1, 5}, {7, 8, 9}])
def test_words_move_wherever_the_control_tokens_stand(special: set[int]) -> None:
    class Ten(Codec):
        entries = 10  # type: ignore[assignment]
        special_ids = frozenset(special)  # type: ignore[assignment]

        def __init__(self) -> None:
            pass

        def encode_chat(self, *_: Any, **__: Any) -> EncodedPrompt:
            return EncodedPrompt(ids=[*range(10)], text="", stable=0, in_thinking=False)

        def token_bytes(self, token_id: int) -> bytes:
            return bytes([token_id])

    codec: Any = type("Moved", (_NextId, Ten), {})()
    ids = codec.encode_chat([]).ids
    assert sorted(ids) == [*range(10)]
    assert [place for place, token_id in enumerate(ids) if place == token_id] == sorted(special)
    assert [codec.token_bytes(token_id) for token_id in ids] == [bytes([number]) for number in range(10)]
