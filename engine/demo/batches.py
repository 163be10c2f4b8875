"""Batches of tokenised conversations.

A batch holds conversations of about the same length, each in its own row from position 0, padded at the
right: causal layers never look right, so nothing leaks from one conversation into another and every row is
computed exactly as it is when decoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine.demo.corpus import Corpus

_POOL = 64  # batches' worth of conversations that are sorted by length together


def corpus_of(items: Iterable[tuple[Sequence[int], Sequence[bool]]]) -> Corpus:
    """From (ids, which of them the model writes) pairs."""
    pairs = list(items)
    starts = np.cumsum([0, *(len(ids) for ids, _ in pairs)]).astype(np.int64)
    flat = [np.zeros(0, np.uint16), *(np.asarray(ids, dtype=np.uint16) for ids, _ in pairs)]
    answer = [np.zeros(0, np.bool_), *(np.asarray(written, dtype=np.bool_) for _, written in pairs)]
    return Corpus(np.concatenate(flat), np.concatenate(answer), starts)


def joined(parts: Sequence[Corpus]) -> Corpus:
    """Several corpora as one."""
    offsets = np.cumsum([0, *(len(part.ids) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, offsets, strict=False)]
    return Corpus(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.answer for part in parts]),
        np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
    )


def last_prompt(data: Corpus, index: int) -> list[int]:
    """The ids of conversation ``index`` up to its last reply."""
    start, stop = data.starts[index], data.starts[index + 1]
    asked = np.flatnonzero(~data.answer[start:stop])
    length = int(asked[-1]) + 1 if len(asked) else 0
    return [int(token) for token in data.ids[start : start + length]]


@dataclass(frozen=True)
class Batch:
    """Rows of one length, each (N, T): int64 ``ids`` padded at the right, bool ``reply`` (written by the
    model) and bool ``real`` (no padding)."""

    ids: Tensor
    reply: Tensor
    real: Tensor

    def to(self, device: torch.device) -> Batch:
        if device.type != "cuda":
            return self
        moved = [
            part.pin_memory().to(device, non_blocking=True) for part in (self.ids, self.reply, self.real)
        ]
        return Batch(*moved)


def batches(
    data: Corpus, *, tokens: int, pad_id: int, seed: int, skip: int, max_length: int, multiple: int = 8
) -> Iterator[Batch]:
    """Batches of at most ``tokens`` tokens for ever, reshuffled every epoch; the first ``skip`` are left out.

    The order follows from the seed alone, so a resumed run goes on where it stopped.
    """
    lengths = np.diff(data.starts)
    usable = np.flatnonzero((lengths > 1) & (lengths <= min(max_length, tokens)))
    if not len(usable):
        raise ValueError(f"no conversation has 2 to {min(max_length, tokens)} tokens")
    epoch = 0
    while True:
        plan = _plan(usable, lengths, tokens, multiple, np.random.default_rng([seed, epoch]))
        for rows, width in plan[skip:]:
            yield _fill(data, rows, width, pad_id)
        skip = max(0, skip - len(plan))
        epoch += 1


def _plan(
    usable: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    tokens: int,
    multiple: int,
    rng: np.random.Generator,
) -> list[tuple[npt.NDArray[np.int64], int]]:
    """(conversations, row length) of every batch of an epoch."""
    order = rng.permutation(usable)
    pool = max(1, _POOL * tokens // int(lengths[usable].mean() + 1))
    plan: list[tuple[npt.NDArray[np.int64], int]] = []
    for first in range(0, len(order), pool):
        part = order[first : first + pool]
        part = part[np.argsort(-lengths[part], kind="stable")]
        start = 0
        while start < len(part):
            width = min(-(-int(lengths[part[start]]) // multiple) * multiple, max(tokens, 1))
            rows = max(1, tokens // width)
            plan.append((part[start : start + rows], width))
            start += rows
    return [plan[i] for i in rng.permutation(len(plan))]


def _fill(data: Corpus, rows: npt.NDArray[np.int64], width: int, pad_id: int) -> Batch:
    ids = np.full((len(rows), width), pad_id, dtype=np.int64)
    reply = np.zeros((len(rows), width), dtype=np.bool_)
    real = np.zeros((len(rows), width), dtype=np.bool_)
    for place, row in enumerate(rows):
        start, stop = data.starts[row], data.starts[row + 1]
        length = stop - start
        ids[place, :length] = data.ids[start:stop]
        reply[place, :length] = data.answer[start:stop]
        real[place, :length] = True
    return Batch(torch.from_numpy(ids), torch.from_numpy(reply), torch.from_numpy(real))
