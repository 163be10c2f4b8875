"""The prompts the shipped drafter was trained and measured on.

Trained on: GSM8K's training questions (MIT); MBPP outside the task ids 11 to 510, which are its test set (CC
BY 4.0), in several wordings; questions of the demo's tasks and its functions as functions to complete (this
project's own, MIT). Measured on: GSM8K's test questions, HumanEval, MBPP's test set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.demo.function import Function
from engine.demo.tasks.code import FUNCTIONS
from engine.settings import Message
from engine.train.prompts import DEMO, Prompt, read_prompts

MEASURED = ("gsm8k", "humaneval", "mbpp")
MBPP_TEST = range(11, 511)
_DEFINITION = re.compile(r"^def .*:\s*$", re.MULTILINE)
_REPEATS = 4
"""How often a programming task occurs, and so is sampled: there are few of them."""


def write_prompts(published: Path, folder: Path, demo: int) -> None:
    """Write ``training.jsonl`` and one file for each of ``MEASURED``.

    Args:
        published: folder with gsm8k_train.jsonl, gsm8k_test.jsonl, humaneval.jsonl and mbpp_sanitized.json as
            they are published.
        demo: how many of the demo's questions to train on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tasks = json.loads((published / "mbpp_sanitized.json").read_text(encoding="utf-8"))
    code = [wording for task in tasks if task["task_id"] not in MBPP_TEST for wording in mbpp_wordings(task)]
    code += [wording for function in FUNCTIONS for wording in function_wordings(function)]
    _write(
        folder / "training.jsonl",
        [
            *read_prompts([str(published / "gsm8k_train.jsonl"), f"{DEMO}:{demo}"]),
            *(_prompt(wording) for wording in code for _ in range(_REPEATS)),
        ],
    )
    _write(folder / "gsm8k.jsonl", read_prompts([str(published / "gsm8k_test.jsonl")]))
    _write(folder / "humaneval.jsonl", read_prompts([str(published / "humaneval.jsonl")]))
    tested = [_prompt(task["prompt"]) for task in tasks if task["task_id"] in MBPP_TEST]
    _write(folder / "mbpp.jsonl", tested)


def mbpp_wordings(task: dict[str, Any]) -> list[str]:
    """A task of MBPP: as it is; with its tests; and as a function to complete."""
    text, tests = task["prompt"], task["test_list"]
    wordings = [text, f"{text}\nYour code should pass these tests:\n\n" + "\n".join(tests)]
    definition = _DEFINITION.search(task["code"])
    if definition is not None:
        call, _, result = tests[0].removeprefix("assert ").partition("==")
        wordings.append(_to_complete(definition.group().strip(), text, call.strip(), result.strip()))
    return wordings


def function_wordings(function: Function) -> Iterator[str]:
    """A function of the demo to complete, with other names for its parameters each time."""
    arguments, result = function.cases[0]
    call = f"{function.name}({', '.join(map(repr, arguments))})"
    for number, does in enumerate(function.does):
        names = [options[number % len(options)] for options in function.params]
        if len(set(names)) == len(names):
            text = f"{does[0].upper()}{does[1:]}."
            yield _to_complete(f"def {function.name}({', '.join(names)}):", text, call, repr(result))


def _to_complete(definition: str, text: str, call: str, result: str) -> str:
    """The beginning of a function, with an example, as HumanEval has it."""
    return f'{definition}\n    """ {text}\n    >>> {call}\n    {result}\n    """\n'


def _prompt(text: str) -> Prompt:
    message: Message = {"role": "user", "content": text}
    return Prompt("", (message,))


def _write(path: Path, prompts: Sequence[Prompt]) -> None:
    lines = (json.dumps({"messages": prompt.messages}, ensure_ascii=False) for prompt in prompts)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
