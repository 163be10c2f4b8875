from __future__ import annotations

import copy
import itertools
import random
from dataclasses import replace

import pytest

from engine.demo.function import Function
from engine.demo.tasks import sample_example
from engine.demo.tasks.code import FUNCTIONS, TASK, python_source


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_every_body_does_what_its_cases_say(function: Function) -> None:
    for body, names in itertools.product(function.bodies, itertools.product(*function.params)):
        if len(set(names)) < len(names):
            continue
        text = body.replace("$a", names[0]).replace("$b", names[-1])
        source = f"def {function.name}({', '.join(names)}):\n    " + text.replace("\n", "\n    ")
        scope: dict[str, object] = {}
        exec(source, scope)  # noqa: S102
        for arguments, result in function.cases:
            assert scope[function.name](*copy.deepcopy(arguments)) == result, source  # type: ignore[operator]


def test_answers_hold_one_function_that_compiles() -> None:
    rng = random.Random(4)
    for _ in range(300):
        example = sample_example(rng, "code")
        for text in (example.answer, example.answer_direct):
            source = python_source(text)
            assert source is not None
            scope: dict[str, object] = {}
            exec(source, scope)  # noqa: S102
            assert callable(scope[str(example.truth)])


def test_checks_run_the_function() -> None:
    rng = random.Random(5)
    for _ in range(12):
        example = sample_example(rng, "code")
        assert TASK.check(example, example.answer), example
        assert TASK.check(example, python_source(example.answer_direct) or "")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I would rather not.",
        "def double(x):\n    return x * 3",
        "def double(x)\n    return x * 2",
        "def twice(x):\n    return x * 2",
        "def double(x):\n    while True:\n        pass",
        "def double(x):\n    import os\n    return x * 2",
        "def double(x):\n    open('/dev/null')\n    return x * 2",
        "def double(x):\n    return x.__class__(x * 2)",
    ],
)
def test_checks_refuse_wrong_hanging_and_reaching_code(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.demo.tasks.code.SECONDS", 1.0)
    example = replace(sample_example(random.Random(0), "code"), truth="double")
    assert TASK.check(example, "```python\ndef double(x):\n    return x * 2\n```")
    assert not TASK.check(example, answer)
    assert not TASK.check(example, f"```python\n{answer}\n```")
