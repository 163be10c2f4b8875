"""What a task is: a sampler of examples and a judge of answers."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from engine.demo.example import Example


def no_check(example: Example, text: str) -> bool:
    """For tasks without a checkable value: anything that was written counts."""
    return bool(text.strip())


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of question.

    Attributes:
        name: as in ``Example.task``.
        weight: share of the training conversations, relative to the other tasks.
        sample: draws an example, held out or not.
        check: whether an answer text is right; only meaningful where the example has a truth.
        checkable: whether its examples carry a truth.
    """

    name: str
    weight: float
    sample: Callable[[random.Random], Example]
    check: Callable[[Example, str], bool] = no_check
    checkable: bool = True
