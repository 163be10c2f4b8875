"""Rounds as CUDA graphs against plain loops, on the demo pair."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from same_text import SAMPLINGS, exact_float32  # noqa: F401 - a fixture

from engine import generate
from engine.control import Control
from engine.demo.conversation import prompt_messages
from engine.demo.tasks import heldout_examples
from engine.events import Finished, Round
from engine.pair import Pair

pytestmark = pytest.mark.gpu
PROMPTS = [
    (prompt_messages(example, thinking), thinking)
    for example in heldout_examples(4, seed=77)
    for thinking in (False, True)
]


def ids(pair: Pair, messages: Any, **settings: Any) -> list[int]:
    pair.session.reset()
    *_, last = generate(pair, messages, **{"max_new_tokens": 200, **settings})
    assert isinstance(last, Finished)
    return last.output_ids


@pytest.fixture(scope="module")
def expected(plain: Pair) -> dict[str, list[list[int]]]:
    """The texts, one token at a time, waited for."""
    return {
        name: [
            ids(plain, messages, mode="ar", thinking=thinking, **sampling) for messages, thinking in PROMPTS
        ]
        for name, sampling in SAMPLINGS.items()
    }


SETTINGS = [{"mode": "ar"}, {"mode": "chain"}, *({"budget": budget} for budget in (1, 16, 64, 256, 1000))]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_graphs_write_the_same_text(
    device: Pair, expected: dict[str, list[list[int]]], settings: Any, sampling: str
) -> None:
    for (messages, thinking), text in zip(PROMPTS, expected[sampling], strict=True):
        assert ids(device, messages, thinking=thinking, **settings, **SAMPLINGS[sampling]) == text


def test_replays_after_other_prompts_budgets_temperatures_and_a_cancel(
    device: Pair, expected: dict[str, list[list[int]]]
) -> None:
    for budget in (64, 16, 256, 64):
        for number, (messages, thinking) in enumerate(PROMPTS):
            assert ids(device, messages, thinking=thinking, budget=budget) == expected["greedy"][number]
            ids(device, messages, thinking=thinking, budget=budget, temperature=0.7 + number / 10)
            control = Control()
            for event in generate(device, messages, thinking=thinking, budget=budget, control=control):
                if isinstance(event, Round) and event.index == 1:
                    control.cancel()


def test_stop_strings_and_limits(device: Pair, plain: Pair) -> None:
    for messages, thinking in PROMPTS[:4]:
        for settings in ({"stop": ("e",)}, {"stop": (" is", ".")}, {"max_new_tokens": 7}):
            assert ids(device, messages, thinking=thinking, **settings) == ids(
                plain, messages, thinking=thinking, mode="ar", **settings
            )


def test_memory_does_not_grow(device: Pair) -> None:
    messages, thinking = PROMPTS[1]
    ids(device, messages, thinking=thinking)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    for _ in range(20):
        ids(device, messages, thinking=thinking)
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() - before < 2**20


def test_details_are_those_of_their_own_round(device: Pair) -> None:
    """They are read from where the next replay of the graph writes."""
    detailed = 0
    for messages, thinking in PROMPTS:
        device.session.reset()
        control = Control()
        for event in generate(device, messages, thinking=thinking, detail=True, control=control):
            if not isinstance(event, Round):
                continue
            control.update(detail=event.index % 3 > 0, budget=16 if event.index % 2 else 64)
            if event.target_topk is None:
                continue
            detailed += 1
            assert event.drafter_topk is not None
            assert [row[0] for row in event.target_topk.ids] == event.target.ids
            assert [row[0] for row in event.target_topk.logprobs] == pytest.approx(
                event.target.logprobs, abs=1e-3
            )
            nodes, drafter = event.nodes, event.drafter_topk
            for node, rank in enumerate(nodes.ranks):
                if rank < len(drafter.ids[0]):
                    depth = nodes.depths[node] - 1
                    assert drafter.ids[depth][rank] == nodes.ids[node]
                    assert drafter.logprobs[depth][rank] == pytest.approx(nodes.logprobs[node], abs=1e-3)
    assert detailed > len(PROMPTS)
