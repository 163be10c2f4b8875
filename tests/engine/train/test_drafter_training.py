"""The drafter's loss looks at the right tokens, and training on it makes a drafter."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import pytest
import torch
from demo_models import PAD, RECIPE, VOCAB, random_drafter, random_drafter_config, random_target
from torch.nn.functional import cross_entropy

from engine.demo.recipe import drafter_settings
from engine.train import drafter_training
from engine.train.batches import Batch
from engine.train.corpus import answered
from engine.train.drafter_training import DrafterTraining, block_loss, draw_roots
from engine.train.frozen import embedding_matrix, tap
from engine.train.generate_batch import generate_batch


def batch_of(rows: list[list[int]], replies: list[list[bool]], width: int) -> Batch:
    ids = torch.full((len(rows), width), PAD)
    reply, real = (torch.zeros(len(rows), width, dtype=torch.bool) for _ in range(2))
    for row, (tokens, written) in enumerate(zip(rows, replies, strict=True)):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        reply[row, : len(tokens)] = torch.tensor(written)
        real[row, : len(tokens)] = True
    return Batch(ids, reply, real)


def test_roots_are_reply_tokens_with_a_successor() -> None:
    batch = batch_of(
        [[1] * 8, [1] * 5, [1] * 10],
        [[False] * 5 + [True] * 3, [False, True, False, False, True], [False] * 2 + [True] * 8],
        width=10,
    )
    roots = draw_roots(batch, 500, torch.Generator().manual_seed(0))
    assert [set(row.tolist()) for row in roots] == [{5, 6}, {1}, set(range(2, 9))]


@pytest.mark.parametrize("root", [3, 6, 8])
def test_loss_is_the_weighted_cross_entropy_of_the_tokens_to_come(root: int) -> None:
    """One block; the reply ends at 9, a turn of the user follows at 10, and another reply at 12."""
    target, drafter = random_target(seed=2), random_drafter(seed=5)
    text = torch.randint(0, 30, (14,), generator=torch.Generator().manual_seed(1)).tolist()
    written = [False] * 3 + [True] * 7 + [False] * 2 + [True] * 2
    batch = batch_of([text], [written], width=16)
    with torch.no_grad():
        loss, length = block_loss(target, drafter, batch, torch.tensor([[root]]), slot_decay=2.0)

    context = drafter.new_context()
    drafter.extend(context, tap(target, torch.tensor([text]), RECIPE.tap_layers)[0, :root])
    block = drafter.embed(drafter.block_ids(text[root]), embedding_matrix(target))
    logits = drafter.logits(drafter(block, context), target.lm_head)[0]
    slots = min(RECIPE.block_size - 1, 9 - root)
    weights = [math.exp(-slot / 2.0) for slot in range(slots)]
    each = [float(cross_entropy(logits[slot], torch.tensor(text[root + 1 + slot]))) for slot in range(slots)]
    expected = sum(w * e for w, e in zip(weights, each, strict=True)) / sum(weights)
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    right = 0
    while right < slots and int(logits[right].argmax()) == text[root + 1 + right]:
        right += 1
    assert float(length) == right + 1


def test_loss_and_gradients_do_not_depend_on_how_many_logits_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    target = random_target(seed=2)
    text = torch.randint(0, 30, (40,), generator=torch.Generator().manual_seed(1)).tolist()
    batch = batch_of([text, text[:9]], [[False] * 5 + [True] * 35, [False] * 5 + [True] * 4], width=40)
    roots = draw_roots(batch, 6, torch.Generator().manual_seed(0))

    def found() -> tuple[torch.Tensor, ...]:
        drafter = random_drafter(seed=5)
        loss, length = block_loss(target, drafter, batch, roots, slot_decay=3.0)
        loss.backward()
        grad = drafter.fc.weight.grad
        assert grad is not None
        return loss.detach(), length, grad

    whole = found()
    monkeypatch.setattr(drafter_training, "_LOGITS_AT_ONCE", 7 * VOCAB)
    for got, expected in zip(found(), whole, strict=True):
        torch.testing.assert_close(got, expected)
    assert float(whole[2].abs().max()) > 0


@pytest.mark.slow
def test_learns_the_targets_own_text(tmp_path: Path) -> None:
    """On the few texts it is trained on, the drafter comes to foresee several tokens."""
    target = random_target(seed=2)
    prompts = [[n, 2 * n, 3] for n in range(8)]
    replies = generate_batch(target, prompts, 24)
    data = answered(prompts, replies)
    recipe = dataclasses.replace(
        RECIPE, drafter_steps=150, drafter_seconds=60.0, drafter_rate=5e-3, blocks_per_row=8, max_length=64
    )
    training = DrafterTraining(
        target,
        data,
        drafter_settings(recipe),
        random_drafter_config(recipe),
        pad_id=PAD,
        state=tmp_path / "drafter.safetensors",
    )
    facts, drafter = training.run(), training.drafter
    length = max(len(p) + len(r) for p, r in zip(prompts, replies, strict=True))
    rows = [p + r for p, r in zip(prompts, replies, strict=True)]
    written = [[False] * len(p) + [True] * len(r) for p, r in zip(prompts, replies, strict=True)]
    batch = batch_of(rows, written, length)
    roots = draw_roots(batch, 8, torch.Generator().manual_seed(3))
    with torch.no_grad():
        before = float(block_loss(target, random_drafter(), batch, roots, 7.0)[1])
        after = float(block_loss(target, drafter, batch, roots, 7.0)[1])
    assert before < 1.5
    assert after > 2.0
    assert facts["steps"] == 150
