"""Batches of tokenised conversations.

A batch holds conversations of about the same length, each in its own row from position 0, padded at the
right: causal layers never look right, so nothing leaks from one conversation into another and every row is
computed exactly as it is when decoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from engine.errors import EngineError
from engine.train.corpus import Corpus

_POOL = 64  # batches' worth of conversations that are sorted by length together


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
    data: Corpus,
    *,
    tokens: int,
    pad_id: int,
    seed: int,
    skip: int,
    max_length: int,
    multiple: int = 8,
    epochs: int | None = None,
) -> Iterator[Batch]:
    """Batches of at most ``tokens`` tokens, reshuffled every epoch, for ever unless ``epochs`` are given; the
    first ``skip`` are left out.

    The order follows from the seed alone, so a resumed run goes on where it stopped.

    Args:
        max_length: longer conversations are left out, as are those longer than a batch.

    Raises:
        EngineError: ``bad_setting`` with the first batch, if no conversation is left.
    """
    lengths, longest = data.lengths, min(max_length, tokens)
    usable = usable_rows(data, longest)
    if not len(usable):
        raise none_usable(longest)
    for epoch in count() if epochs is None else range(epochs):
        plan = _plan(usable, lengths, tokens, multiple, np.random.default_rng([seed, epoch]))
        for rows, width in plan[skip:]:
            yield _fill(data, rows, width, pad_id)
        skip = max(0, skip - len(plan))


def usable_rows(data: Corpus, longest: int) -> npt.NDArray[np.int64]:
    """The conversations of 2 to ``longest`` tokens."""
    lengths = data.lengths
    return np.flatnonzero((lengths > 1) & (lengths <= longest))


def none_usable(longest: int) -> EngineError:
    """What to say where there is nothing to train on."""
    return EngineError(
        "bad_setting",
        f"No conversation has 2 to {longest:,} tokens, so there is nothing to train on.",
        "Give a larger --max-length or --batch-tokens, or shorter prompts.",
    )


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
