"""Writing small Python functions."""

from __future__ import annotations

import ast
import json
import random
import re
import subprocess
import sys

from engine.demo.example import Example
from engine.demo.function import Function
from engine.demo.split import wording_key
from engine.demo.task import Task
from engine.demo.tasks.list_functions import LIST_FUNCTIONS
from engine.demo.tasks.number_functions import NUMBER_FUNCTIONS
from engine.demo.tasks.text_functions import TEXT_FUNCTIONS
from engine.demo.wording import cap, casual, join, pick, say

SECONDS = 5.0

FUNCTIONS = (*NUMBER_FUNCTIONS, *TEXT_FUNCTIONS, *LIST_FUNCTIONS)
_BY_NAME = {function.name: function for function in FUNCTIONS}
_FENCE = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)

_ASK = (
    "[Write a Python function that {d}.|Write a function that {d}.|Write a function {n} "
    "that {d}.|Can you write a Python function that {d}?"
    "|Python function that {d}|I need a function that {d}.|Give me a Python function "
    "that {d}.|Show me a function that {d}.|Code a function that {d}."
    "|Please write Python code that {d}.|Write {n} in Python.|Implement {n} in Python.|"
    "Python code for {n}|How do I write a function that {d}?|Create a function that {d}.]"
)
_FORBIDDEN = {
    "open",
    "exec",
    "eval",
    "compile",
    "input",
    "globals",
    "locals",
    "vars",
    "getattr",
    "setattr",
    "delattr",
    "breakpoint",
    "help",
}


def _fill(template: str, names: list[str]) -> str:
    text = template.replace("$a", names[0])
    return text.replace("$b", names[1]) if len(names) > 1 else text


def _source(rng: random.Random, function: Function, names: list[str]) -> str:
    body = _fill(pick(rng, function.bodies), names)
    lines = [f"def {function.name}({', '.join(names)}):"]
    if rng.random() < 0.5:
        doc = pick(rng, function.does)
        verb, _, rest = doc.partition(" ")
        lines.append(f'    """{cap(_imperative(verb) if rng.random() < 0.6 else verb)} {rest}."""')
    lines += [f"    {line}" for line in body.split("\n")]
    return "\n".join(lines)


def _imperative(verb: str) -> str:
    special = {
        "tells": "tell",
        "does": "do",
        "squares": "square",
        "cubes": "cube",
        "doubles": "double",
        "multiplies": "multiply",
        "reverses": "reverse",
        "raises": "raise",
        "removes": "remove",
        "makes": "make",
        "merges": "merge",
        "computes": "compute",
        "calculates": "calculate",
        "divides": "divide",
        "capitalizes": "capitalize",
        "deletes": "delete",
        "gives": "give",
        "solves": "solve",
        "says": "say",
        "handles": "handle",
    }
    return special.get(verb, verb[:-1])


def _call(function: Function) -> tuple[str, str]:
    arguments, result = function.cases[0]
    return f"{function.name}({', '.join(map(repr, arguments))})", repr(result)


def _answer(rng: random.Random, function: Function, names: list[str]) -> str:
    does = pick(rng, function.does)
    lead = say(
        rng,
        (
            "[Here is a function that {d}|This function {d}|Here you go|Sure, here it is|A short "
            "version|This should work|The function {n} {d}|Here is {n}|One way to write it]:"
        ),
        d=does,
        n=function.name,
    )
    call, result = _call(function)
    close = say(
        rng,
        (
            "[|The idea: {i}.|For example, {c} returns {r}.|It works like this: {i}.|So {c} "
            "gives {r}.|Try {c}, it returns {r}.|How it works: {i}.]"
        ),
        i=function.idea,
        c=call,
        r=result,
    )
    text = f"{lead}\n```python\n{_source(rng, function, names)}\n```"
    return f"{text}\n{close}" if close else text


def sample(rng: random.Random) -> Example:
    function = pick(rng, FUNCTIONS)
    style = rng.randrange(4)
    names: list[str] = []
    for options in function.params:
        free = tuple(option for option in options if option not in names)
        names.append(free[style % len(free)])
    ask = say(rng, _ASK, d=pick(rng, function.does), n=function.name)
    prompt = casual(rng, ask, lower=False)
    call, result = _call(function)
    thinking = join(
        say(
            rng,
            (
                "[A function that {d}|The function should be one that {d}|I need {n}|Asked is a "
                "function that {d}|Let me write {n}]."
            ),
            d=pick(rng, function.does),
            n=function.name,
        ),
        say(rng, "[It takes|The input is|Parameters:|As input it gets] {p}.", p=" and ".join(names)),
        say(rng, "[The idea|How to do it|The trick|What it does]: {i}.", i=function.idea),
        say(
            rng,
            (
                "[|Test: {c} should be {r}.|For a test, {c} gives {r}.|{c} must return {r}.|I expect "
                "{r} for {c}.]"
            ),
            c=call,
            r=result,
        ),
    )
    return Example(
        "code",
        function.name,
        wording_key(ask),
        prompt,
        thinking,
        _answer(rng, function, names),
        _answer(rng, function, names),
        function.name,
    )


def python_source(text: str) -> str | None:
    """The Python in an answer: what stands in its fence, or from ``def`` on."""
    fenced = _FENCE.search(text)
    if fenced:
        return fenced[1]
    at = text.find("def ")
    return text[at:] if at >= 0 else None


def _is_harmless(tree: ast.Module) -> bool:
    """No imports, no dunder names, nothing that reaches files or the interpreter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            return False
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return False
        if isinstance(node, ast.Name) and (node.id in _FORBIDDEN or node.id.startswith("__")):
            return False
    return True


def check(example: Example, text: str) -> bool:
    """Run the answer's function on its cases in a separate process with a time limit."""
    source = python_source(text)
    if source is None:
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not _is_harmless(tree):
        return False
    function = _BY_NAME[str(example.truth)]
    asserts = "\n".join(
        f"assert {function.name}(*{arguments!r}) == {result!r}" for arguments, result in function.cases
    )
    program = f"exec({json.dumps(source)})\n{asserts}\n"
    try:
        ran = subprocess.run(
            [sys.executable, "-I", "-S", "-c", program], capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


TASK = Task("code", 0.07, sample, check)
