"""The registry of tasks, and drawing examples for training and for measuring."""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine.demo.example import Example
from engine.demo.split import is_heldout
from engine.demo.task import Task
from engine.demo.tasks import (
    arithmetic,
    chat,
    code,
    facts,
    follow_ups,
    json_objects,
    lists,
    numbers,
    stories,
    strings,
    units,
    word_problems,
)

TASKS: dict[str, Task] = {
    module.TASK.name: module.TASK
    for module in (
        arithmetic,
        numbers,
        word_problems,
        lists,
        strings,
        json_objects,
        units,
        code,
        stories,
        facts,
        chat,
        follow_ups,
    )
}

_NAMES = tuple(TASKS)
_WEIGHTS = tuple(task.weight for task in TASKS.values())


def sample_example(rng: random.Random, task: str | None = None, heldout: bool = False) -> Example:
    """Draw an example of training content, or of held-out content.

    ``task`` None takes a random one by weight.

    Raises:
        KeyError: there is no such task.
    """
    sampler = TASKS[task if task is not None else rng.choices(_NAMES, _WEIGHTS)[0]].sample
    while True:
        example = sampler(rng)
        if is_heldout(example.key) == heldout:
            return example


def heldout_examples(n: int, seed: int, tasks: Sequence[str] | None = None) -> list[Example]:
    """``n`` different held-out examples, the tasks (default all) in the proportions of training.

    None of their keys is ever drawn for training.
    """
    rng = random.Random(f"held out {seed}")
    names = tuple(tasks) if tasks is not None else _NAMES
    weights = [TASKS[name].weight for name in names]
    seen: set[tuple[str, str, str]] = set()
    examples: list[Example] = []
    while len(examples) < n:
        example = sample_example(rng, rng.choices(names, weights)[0], heldout=True)
        content = (example.task, example.key, example.prompt)
        if content not in seen:
            seen.add(content)
            examples.append(example)
    return examples


def check(example: Example, text: str) -> bool:
    """Whether ``text``, thoughts left out, answers the example; without a truth any text does."""
    if example.truth is None:
        return bool(text.strip())
    return TASKS[example.task].check(example, text)
