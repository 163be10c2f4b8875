"""The target's own answers to the prompts: what the drafter has to foresee, written in shards as they come.

Greedy text is what decoding at temperature 0 writes, so every prompt is answered greedily once; further
answers are sampled, as the drafter must also help above temperature 0.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.errors import EngineError
from engine.train.acceptance import Reply
from engine.train.corpus import Corpus, answered, joined, last_prompt, last_reply, load_corpus, save_corpus
from engine.train.generate_batch import generate_batch
from engine.train.progress import Progress
from engine.train.target import TrainTarget


@dataclass(frozen=True)
class Question:
    """A prompt as the target reads it, of a group of prompts (a file, and its thinking mode)."""

    group: str
    ids: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class AnswerSettings:
    """How the target answers.

    Attributes:
        limit: most tokens of an answer.
        samples: sampled answers to every prompt, beside the greedy one.
        rows: answers written at once.
        seconds: no batch is begun after these.
    """

    limit: int = 512
    samples: int = 1
    temperature: float = 0.8
    rows: int = 64
    seed: int = 17
    seconds: float = float("inf")


@dataclass(frozen=True)
class _Batch:
    questions: list[Question]
    temperature: float


class Answers:
    """A folder of shards, one for each batch of questions.

    Args:
        name: the shards' names begin with it.
        questions: one that occurs several times is answered greedily once, and sampled as often as it occurs.
    """

    def __init__(self, folder: Path, name: str, questions: Sequence[Question], settings: AnswerSettings):
        self._folder, self._name, self._settings = folder, name, settings
        self._plan = list(_plan(questions, settings))

    def write(self, target: TrainTarget) -> None:
        """Write the shards that are missing, for at most the settings' seconds.

        Raises:
            EngineError: ``out_of_memory``.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        progress, started, tokens = Progress("answers"), time.monotonic(), 0
        for number, batch in enumerate(self._plan):
            path = self._path(number)
            spent = time.monotonic() - started
            if path.is_file():
                continue
            if spent > self._settings.seconds:
                break
            part = self._answer(target, batch, number)
            save_corpus(path, part)
            tokens += int(part.answer.sum())
            done = max((number + 1) / len(self._plan), spent / self._settings.seconds)
            progress.update(
                min(done, 0.99), f"{tokens:,} tokens  {tokens / (time.monotonic() - started):,.0f} tokens/s"
            )
        progress.update(1.0, f"{tokens:,} tokens")

    def corpus(self) -> Corpus:
        """Everything that has been written."""
        return joined([load_corpus(path) for path in self._paths()])

    def replies(self) -> list[Reply]:
        """Everything that has been written, with the groups of the questions."""
        found = []
        for number, batch in enumerate(self._plan):
            if self._path(number).is_file():
                part = load_corpus(self._path(number))
                for index, question in enumerate(batch.questions):
                    found.append(Reply(question.group, last_prompt(part, index), last_reply(part, index)))
        return found

    def _paths(self) -> list[Path]:
        return [path for path in map(self._path, range(len(self._plan))) if path.is_file()]

    def _path(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:05d}.npz"

    def _answer(self, target: TrainTarget, batch: _Batch, number: int) -> Corpus:
        prompts = [question.ids for question in batch.questions]
        try:
            replies = generate_batch(
                target.model,
                prompts,
                self._settings.limit,
                temperature=batch.temperature,
                seed=self._settings.seed + number,
                stop_ids=target.codec.stop_ids,
            )
        except torch.OutOfMemoryError as error:
            raise EngineError(
                "out_of_memory",
                f"{len(prompts)} answers at once do not fit into the GPU's memory.",
                "Give a smaller --rows; what has been answered is kept.",
                repr(error),
            ) from error
        return answered(prompts, replies)


def _plan(questions: Sequence[Question], settings: AnswerSettings) -> Iterator[_Batch]:
    """Batches of prompts of about one length, in random order; it follows from questions and settings."""
    batches = []
    for temperature, asked in (
        (0.0, list(dict.fromkeys(questions))),
        (settings.temperature, [*questions] * settings.samples),
    ):
        asked = sorted(asked, key=lambda question: len(question.ids))
        batches += [
            _Batch(asked[first : first + settings.rows], temperature)
            for first in range(0, len(asked), settings.rows)
        ]
    random.Random(f"answers {settings.seed}").shuffle(batches)
    return iter(batches)
