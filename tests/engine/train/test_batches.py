"""Batches: everything once per epoch, nothing mixed up, the same after a resume."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import EngineError
from engine.train.batches import Batch, batches
from engine.train.corpus import Corpus, corpus_of, joined, last_prompt

PAD = 65535


def corpus(lengths: list[int], seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    return corpus_of(
        (rng.integers(0, 1000, length).tolist(), (rng.random(length) < 0.5).tolist()) for length in lengths
    )


def take(data: Corpus, count: int, skip: int = 0, tokens: int = 64) -> list[Batch]:
    source = batches(data, tokens=tokens, pad_id=PAD, seed=3, skip=skip, max_length=40)
    return list(itertools.islice(source, count))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(2, 40), min_size=1, max_size=200))
def test_an_epoch_holds_every_conversation_once(lengths: list[int]) -> None:
    data = corpus(lengths)
    wanted = sorted(
        (tuple(data.ids[a:b]), tuple(data.answer[a:b])) for a, b in itertools.pairwise(data.starts)
    )
    seen: list[tuple[tuple[int, ...], tuple[bool, ...]]] = []
    for batch in batches(data, tokens=64, pad_id=PAD, seed=3, skip=0, max_length=40):
        assert batch.ids.numel() <= 64
        for ids, reply, real in zip(batch.ids, batch.reply, batch.real, strict=True):
            length = int(real.sum())
            assert real[:length].all()
            assert (ids[length:] == PAD).all()
            assert not reply[length:].any()
            seen.append((tuple(ids[:length].tolist()), tuple(reply[:length].tolist())))
        if len(seen) >= len(wanted):
            break
    assert sorted(seen) == wanted


def test_a_resumed_run_sees_the_batches_that_were_left() -> None:
    data = corpus([5, 9, 14, 3, 33, 20, 8] * 5)
    whole = take(data, 60)
    assert len({len(batch.ids) for batch in whole}) > 1
    for skip in (1, 17, 45):
        for late, early in zip(take(data, 15, skip), whole[skip:], strict=False):
            assert torch.equal(late.ids, early.ids)


def test_leaves_out_what_is_too_long_and_refuses_nothing_at_all() -> None:
    data = corpus([41, 12, 300])
    assert {tuple(batch.real.sum(1).tolist()) for batch in take(data, 4)} == {(12,)}
    with pytest.raises(EngineError, match="No conversation") as caught:
        take(corpus([41, 50]), 1)
    assert "--max-length" in caught.value.hint


def test_joined_keeps_the_parts_apart() -> None:
    first, second = corpus([3, 5]), corpus([2, 4, 6], seed=1)
    both = joined([first, second])
    assert np.diff(both.starts).tolist() == [3, 5, 2, 4, 6]
    assert both.ids.tolist() == [*first.ids, *second.ids]
    assert both.answer.tolist() == [*first.answer, *second.answer]


def test_last_prompt_ends_where_the_last_reply_starts() -> None:
    data = corpus_of(
        [
            ([1, 2, 3, 4, 5, 6], [False, True, False, False, True, True]),
            ([7, 8, 9], [False, False, True]),
        ]
    )
    assert last_prompt(data, 0) == [1, 2, 3, 4]
    assert last_prompt(data, 1) == [7, 8]
