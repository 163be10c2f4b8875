"""Tokenised conversations, one after another, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.train.replaced import replaced


@dataclass(frozen=True, slots=True)
class Corpus:
    """Conversations one after another.

    Attributes:
        ids: (tokens,), unsigned whole numbers.
        answer: (tokens,) bool, the positions the model writes itself.
        starts: (conversations + 1,) int64, where each begins; the last entry is the length.
    """

    ids: npt.NDArray[np.unsignedinteger[Any]]
    answer: npt.NDArray[np.bool_]
    starts: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each conversation."""
        return np.diff(self.starts)


def corpus_of(items: Iterable[tuple[Sequence[int], Sequence[bool]]]) -> Corpus:
    """From (ids, which of them the model writes) pairs."""
    pairs = list(items)
    starts = np.cumsum([0, *(len(ids) for ids, _ in pairs)]).astype(np.int64)
    flat = [np.zeros(0, np.uint32), *(np.asarray(ids, dtype=np.uint32) for ids, _ in pairs)]
    answer = [np.zeros(0, np.bool_), *(np.asarray(written, dtype=np.bool_) for _, written in pairs)]
    return Corpus(np.concatenate(flat), np.concatenate(answer), starts)


def answered(prompts: Sequence[Sequence[int]], replies: Sequence[Sequence[int]]) -> Corpus:
    """Prompts, each with the reply to it, which alone is the model's own."""
    pairs = zip(prompts, replies, strict=True)
    return corpus_of(([*p, *r], [False] * len(p) + [True] * len(r)) for p, r in pairs)


def joined(parts: Sequence[Corpus]) -> Corpus:
    """Several corpora as one."""
    offsets = np.cumsum([0, *(len(part.ids) for part in parts)])
    starts = [part.starts[:-1] + offset for part, offset in zip(parts, offsets, strict=False)]
    return Corpus(
        np.concatenate([np.zeros(0, np.uint16), *(part.ids for part in parts)]),
        np.concatenate([np.zeros(0, np.bool_), *(part.answer for part in parts)]),
        np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
    )


def last_prompt(data: Corpus, index: int) -> list[int]:
    """The ids of conversation ``index`` up to its last reply."""
    start, stop = data.starts[index], data.starts[index + 1]
    asked = np.flatnonzero(~data.answer[start:stop])
    length = int(asked[-1]) + 1 if len(asked) else 0
    return [int(token) for token in data.ids[start : start + length]]


def last_reply(data: Corpus, index: int) -> list[int]:
    """The ids of conversation ``index`` that follow its last prompt."""
    start, stop = data.starts[index], data.starts[index + 1]
    return [int(token) for token in data.ids[start + len(last_prompt(data, index)) : stop]]


def save_corpus(path: Path, data: Corpus) -> None:
    """One .npz file, complete or not there at all."""
    with replaced(path) as half, half.open("wb") as file:
        np.savez(file, ids=data.ids, answer=data.answer, starts=data.starts)


def load_corpus(path: Path) -> Corpus:
    with np.load(path, allow_pickle=False) as file:
        return Corpus(file["ids"], file["answer"], file["starts"])
