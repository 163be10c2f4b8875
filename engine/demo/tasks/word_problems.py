"""Short word problems in one to three steps."""

from __future__ import annotations

import random

from engine.demo.answers import last_number_is
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.tasks.problems import NAMES, PROBLEMS, THINGS
from engine.demo.wording import cap, casual, join, pick, say

_SO = "[So|Then|Thus|Hence|Therefore]"


def sample(rng: random.Random) -> Example:
    build = pick(rng, PROBLEMS)
    name, thing = pick(rng, NAMES), pick(rng, THINGS)
    problem = build(rng, name, thing)
    story, question = say(rng, problem.story), say(rng, problem.question)
    prompt = casual(rng, join(story, question))
    steps = []
    for index, (reason, equation) in enumerate(problem.steps):
        lead = (
            pick(rng, ("First, ", "To start, ", "Begin: ", "One: "))
            if len(problem.steps) > 1 and index == 0
            else ""
        )
        lead = pick(rng, ("Then ", "Next, ", "After that, ", "Now ")) if index else lead
        why = say(rng, reason, t=thing)
        steps.append(cap(say(rng, "{lead}{why}[: |, so |, ]{e}.", lead=lead, why=why, e=equation)))
    r = problem.result
    intro = (
        say(
            rng,
            (
                "[Let me read it again|What do we know|The facts|I write down what is given|What is "
                "given]: {s} [The question|Asked is|We look for|Wanted]: {q}"
            ),
            s=story,
            q=question[0].lower() + question[1:],
        )
        if rng.random() < 0.5
        else say(
            rng,
            "[This takes {n}|I see {n} here|There {v} {n} to do|It needs {n}].",
            n=_count(len(steps)),
            v="is" if len(steps) == 1 else "are",
        )
    )
    end = say(rng, _SO + " [the answer is|it is|we get|I get] {r}.", r=r)
    close = say(rng, problem.close, r=r) + "."
    equations = [equation for _, equation in problem.steps]
    shown = say(rng, "[, then |, and |; ]").join(equations)
    direct = say(
        rng,
        "[{e}, so {c}|{C} That is because {e}.|{e}. {C}|We have {e}, so {c}|First {e}. {C}]"
        if len(equations) > 1
        else "[{e}, so {c}|{e}. {C}|We have {e}, so {c}|It is {e}. {C}]",
        e=shown,
        C=close,
        c=close if close.startswith((name, *NAMES)) else close[0].lower() + close[1:],
    )
    key = f"{build.__name__} {' '.join(equations)}"
    return Example(
        "word problems", build.__name__.strip("_"), key, prompt, join(intro, *steps, end), close, direct, r
    )


def _count(steps: int) -> str:
    return ("one step", "two steps", "three steps")[steps - 1]


def check(example: Example, text: str) -> bool:
    return last_number_is(example, text)


TASK = Task("word problems", 0.12, sample, check)
