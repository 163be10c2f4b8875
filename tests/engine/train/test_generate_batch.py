"""Replies written together are the replies written alone."""

from __future__ import annotations

import torch
from demo_models import STOP, VOCAB, random_target

from engine.train.generate_batch import generate_batch

LIMIT = 30


def greedy(model: torch.nn.Module, prompt: list[int]) -> list[int]:
    """One full forward per token, no cache: obviously right."""
    ids = list(prompt)
    while len(ids) < len(prompt) + LIMIT:
        with torch.no_grad():
            ids.append(int(model(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1].argmax()))
        if ids[-1] in (STOP, VOCAB - 1):
            break
    return ids[len(prompt) :]


def test_greedy_replies_to_prompts_of_many_lengths() -> None:
    model = random_target(seed=2)
    draws = torch.Generator().manual_seed(1)
    prompts = [torch.randint(0, 30, (n,), generator=draws).tolist() for n in (1, 2, 3, 5, 9, 17, 70)]
    replies = generate_batch(model, prompts, LIMIT)
    assert replies == [greedy(model, prompt) for prompt in prompts]
    assert len({tuple(reply) for reply in replies}) > 3


def test_sampling_takes_a_seed() -> None:
    model = random_target(seed=2)
    prompts = [[1, 2, 3]] * 4
    first = generate_batch(model, prompts, LIMIT, temperature=1.5, seed=5)
    assert first == generate_batch(model, prompts, LIMIT, temperature=1.5, seed=5)
    assert first != generate_batch(model, prompts, LIMIT, temperature=1.5, seed=6)
    assert len({tuple(reply) for reply in first}) > 1


def test_a_reply_ends_with_its_stop_token() -> None:
    model = random_target(seed=2)
    for reply in generate_batch(model, [[n, n + 1] for n in range(20)], LIMIT, temperature=3.0):
        assert all(token not in (STOP, VOCAB - 1) for token in reply[:-1])
        assert len(reply) <= LIMIT
