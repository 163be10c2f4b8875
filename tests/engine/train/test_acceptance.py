"""Acceptance along known text against a decode loop that really drafts, builds, walks and commits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from demo_models import MASK, PAD, RECIPE, STOP, random_drafter, random_target

from engine.ddtree import build_chain_from_logits, build_ddtree_tree_from_logits
from engine.train.acceptance import Drafts, Reply, Tally, draft_everywhere, measure_acceptance, walk_rounds
from engine.train.frozen import embedding_matrix, tap
from engine.train.generate_batch import generate_batch

PROMPT = [3, 1, 4, 1, 5]


def test_tallies_of_a_drafter_known_by_heart() -> None:
    """Two depths, two candidates; the text is 9 5 6 7 8, whose last token ends it."""
    ids = np.array([[[5, 1], [6, 1]], [[6, 1], [2, 7]], [[1, 2], [8, 1]], [[1, 8], [1, 2]]], dtype=np.int32)
    drafts = Drafts(ids, np.full(ids.shape, -0.5, dtype=np.float32))
    reply = [9, 5, 6, 7, 8]
    # Chain: at 9 both drafts are right, bonus 7; at 7 neither is, bonus 8 ends the text.
    assert walk_rounds(drafts, reply, None) == Tally(4, 2)
    # A tree of all six paths finds 8 at the second root: the text is over, so no bonus token counts.
    assert walk_rounds(drafts, reply, 6) == Tally(4, 2)
    assert walk_rounds(drafts, reply[:4], None) == Tally(3, 1)
    assert walk_rounds(drafts, reply[:1], None) == Tally(0, 0)


@pytest.mark.parametrize("budget", [None, 1, 4, 20])
def test_equals_decoding_with_real_contexts(budget: int | None) -> None:
    target, drafter = random_target(seed=2), random_drafter(seed=5)
    reply = generate_batch(target, [PROMPT], 40)[0]
    drafts = draft_everywhere(target, drafter, PROMPT, reply, candidates=20)
    text, root, rounds = [*PROMPT, *reply], len(PROMPT), 0
    context = drafter.new_context(capacity=4)
    features = tap(target, torch.tensor([text]), RECIPE.tap_layers)[0]
    while root < len(text) - 1:
        drafter.extend(context, features[context.length : root])
        block = drafter.embed(drafter.block_ids(text[root]), embedding_matrix(target))
        logits = drafter.logits(drafter(block, context), target.lm_head)[0]
        tree = (
            build_chain_from_logits(logits)
            if budget is None
            else build_ddtree_tree_from_logits(logits, budget)
        )
        paths = {
            tuple(tree.token_ids[tree.path_to(node)].tolist()) for node in range(len(tree))
        }  # every path of the tree, spelled out
        accepted = max(
            (n for n in range(RECIPE.block_size) if tuple(text[root + 1 : root + 1 + n]) in paths), default=0
        )
        root += min(accepted + 1, len(text) - 1 - root)
        rounds += 1
    assert walk_rounds(drafts, reply, budget) == Tally(len(reply) - 1, rounds)


def test_measures_by_mode_and_task() -> None:
    target, drafter = random_target(seed=2), random_drafter(seed=5)
    prompts = [[3, 1, 4], [1, 5], [9, 2, 6]]
    replies = generate_batch(target, prompts, 20)
    answers = [
        Reply(group, prompt, reply)
        for group, prompt, reply in zip(("a", "b", "a"), prompts, replies, strict=True)
    ]
    measured = measure_acceptance(target, drafter, answers, (4, 20), workers=1)
    assert list(measured) == ["chain", "tree(4)", "tree(20)"]
    assert set(measured["chain"]) == {"all", "a", "b"}
    tallies = [
        walk_rounds(draft_everywhere(target, drafter, p, r, 20), r, None)
        for p, r in zip(prompts, replies, strict=True)
    ]
    expected = sum(t.tokens for t in tallies) / sum(t.rounds for t in tallies)
    assert measured["chain"]["all"] == pytest.approx(expected, abs=1e-3)
    assert measured["tree(20)"]["all"] >= measured["tree(4)"]["all"] >= 1


def test_special_ids_are_apart() -> None:
    assert len({PAD, STOP, MASK}) == 3
