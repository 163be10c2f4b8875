"""One training or test item: a question with its answer in both thinking modes."""

from __future__ import annotations

from dataclasses import dataclass

Truth = int | float | str | tuple[object, ...] | dict[str, object] | None


@dataclass(frozen=True, slots=True)
class Example:
    """A question and how the demo model should answer it.

    Attributes:
        task: name of the task in ``engine.demo.tasks.TASKS``.
        kind: what exactly is asked within the task (``add``, ``reverse``, ...).
        key: the content the question is about; the train / held-out split hashes it.
        prompt: what the user typed.
        thinking: text of the scratch pad, without the tags; never empty, no blank at either end.
        answer: final text after the scratch pad.
        answer_direct: final text when thinking is off.
        truth: the checkable value, None where an answer cannot be checked.
        history: earlier questions of the conversation, with their answers, which this one refers to.
    """

    task: str
    kind: str
    key: str
    prompt: str
    thinking: str
    answer: str
    answer_direct: str
    truth: Truth = None
    history: tuple[Example, ...] = ()
