"""Answers of rounds on the device beyond one text at one budget: conversations in turn, budgets that choose
themselves, candidates, long prompts with sinks. Each must be what the plain loop writes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from same_text import exact_float32  # noqa: F401 - a fixture
from tiny_models import tiny_pair

import engine.attention
from engine import generate
from engine.auto_budget import AutoBudget
from engine.demo.conversation import prompt_messages
from engine.demo.tasks import heldout_examples
from engine.events import MAX_CANDIDATES, Finished, Prefilled, Round
from engine.pair import Pair
from engine.settings import Message
from engine.shelf import Shelf

pytestmark = pytest.mark.gpu
QUESTIONS = [prompt_messages(example, False) for example in heldout_examples(4, seed=41)]
NEXT: Message = {"role": "user", "content": "What is 12 + 30?"}


def events(pair: Pair, messages: Any, **settings: Any) -> list[Any]:
    return list(generate(pair, messages, **{"max_new_tokens": 120, **settings}))


def ids(told: list[Any]) -> list[int]:
    assert isinstance(told[-1], Finished)
    return told[-1].output_ids


def test_conversations_take_turns_on_what_is_remembered_of_each(device: Pair, plain: Pair) -> None:
    def turn(pair: Pair, messages: list[Message], mode: str) -> tuple[int, list[int]]:
        told = events(pair, messages, mode=mode)
        cached = next(event.cached for event in told if isinstance(event, Prefilled))
        messages += [{"role": "assistant", "content": told[-1].text}, NEXT]
        return cached, ids(told)

    expected = []
    for question in QUESTIONS:
        plain.session.reset()
        messages = list(question)
        expected.append([turn(plain, messages, "ar")[1], turn(plain, messages, "ar")[1]])
    device.session.reset()
    before, device.session.shelf = device.session.shelf, Shelf(2**30)
    try:
        conversations = [list(question) for question in QUESTIONS]
        for mode, number in (("tree", 0), ("chain", 1)):
            for messages, texts in zip(conversations, expected, strict=True):
                cached, text = turn(device, messages, mode)
                assert text == texts[number]
                assert (cached > 0) is bool(number)
    finally:
        device.session.shelf = before
        device.session.reset()


def test_a_budget_that_chooses_itself_writes_the_same_text(device: Pair, plain: Pair) -> None:
    auto = device.__dict__["auto_budget"] = AutoBudget()
    budgets = []
    try:
        for question in QUESTIONS * 3:
            plain.session.reset()
            device.session.reset()
            told = events(device, question, auto_budget=True, budget=256)
            assert ids(told) == ids(events(plain, question, mode="ar"))
            budgets += [event.budget for event in told if isinstance(event, Round)]
    finally:
        del device.__dict__["auto_budget"]
    assert len(set(budgets)) > 1  # it has tried
    assert max(budgets) <= 256
    assert auto.choose(256) in set(budgets)


@pytest.mark.parametrize("candidates", [3, MAX_CANDIDATES])
def test_so_many_candidates_as_are_asked_for(device: Pair, plain: Pair, candidates: int) -> None:
    rounds = []
    for pair in (plain, device):
        pair.session.reset()
        told = events(pair, QUESTIONS[0], detail=True, candidates=candidates, budget=16)
        rounds.append([event for event in told if isinstance(event, Round)])
    for one, other in zip(*rounds, strict=True):
        for expected, got in ((one.drafter_topk, other.drafter_topk), (one.target_topk, other.target_topk)):
            assert len(got.ids[0]) == candidates
            assert [row[0] for row in got.ids] == [row[0] for row in expected.ids]
            for row, others in zip(got.logprobs, expected.logprobs, strict=True):
                assert row == pytest.approx(others, abs=2e-3)


@pytest.mark.parametrize("scores", [2**9, 2**13])
def test_prompts_with_sinks_in_pieces_write_what_they_write_whole(
    scores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = tiny_pair("gpt_oss")
    assert pair.drafter is not None
    pair.target.model.cuda()
    pair = Pair(pair.target, pair.drafter.cuda(), pair.codec, pair.info)
    assert pair.on_device
    prompt = "over the lazy dog; " * 9
    whole = ids(events(pair, prompt, max_new_tokens=24))
    pair.session.reset()
    monkeypatch.setattr(engine.attention, "SINK_SCORES", scores)
    assert ids(events(pair, prompt, max_new_tokens=24)) == whole
    torch.cuda.synchronize()
