"""Lists of numbers and words: sort, reverse, largest, smallest, count, sum, evens, odds, without repeats."""

from __future__ import annotations

import random

from engine.demo.answers import last_number_is, last_numbers_are, mentions_truth
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.tasks.words import WORDS
from engine.demo.wording import cap, casual, join, pick, say

_ASK = {
    "sort": (
        "[Sort {l}.|Sort these numbers: {l}|Sort the list {l}.|Put {l} in order.|Order these "
        "from smallest to largest: {l}|Sort {l} ascending.|Can you sort {l}?|sort {l}]"
    ),
    "descending": (
        "[Sort {l} from largest to smallest.|Sort {l} in descending order.|Order these from "
        "largest to smallest: {l}|Sort {l} descending.]"
    ),
    "reverse": (
        "[Reverse {l}.|Reverse the list {l}.|Turn {l} around.|Write {l} backwards.|Reverse "
        "the order of {l}.|reverse this list: {l}]"
    ),
    "largest": (
        "[What is the largest of {l}?|Find the maximum of {l}.|What is the biggest number in "
        "{l}?|Which is the largest: {l}?|Max of {l}?|Maximum of {l}]"
    ),
    "smallest": (
        "[What is the smallest of {l}?|Find the minimum of {l}.|What is the smallest number "
        "in {l}?|Which is the smallest: {l}?|Min of {l}?|Minimum of {l}]"
    ),
    "length": (
        "[How many numbers are in {l}?|How long is the list {l}?|Count the numbers in {l}.|"
        "How many elements does {l} have?|What is the length of {l}?]"
    ),
    "sum": (
        "[Sum {l}.|What is the sum of {l}?|Add up {l}.|Add these numbers: {l}|Sum of {l}?|"
        "Find the total of {l}.|sum up {l}]"
    ),
    "even": (
        "[Which of {l} are even?|Find the even numbers in {l}.|Even numbers in {l}?|List the "
        "even numbers in {l}.|Keep only the even numbers of {l}.]"
    ),
    "odd": (
        "[Which of {l} are odd?|Find the odd numbers in {l}.|Odd numbers in {l}?|List the "
        "odd numbers in {l}.|Keep only the odd numbers of {l}.]"
    ),
    "distinct": (
        "[Remove the duplicates from {l}.|Remove repeated numbers from {l}.|Dedupe {l}.|Give "
        "me {l} without duplicates.|Unique numbers in {l}?]"
    ),
    "first": "[What is the first number in {l}?|First element of {l}?|Which number comes first in {l}?]",
    "last": "[What is the last number in {l}?|Last element of {l}?|Which number comes last in {l}?]",
}
_INTRO = "[The list is {l}|We have {l}|I am given {l}|The numbers are {l}|Let me look at {l}|Here are {l}]."
_SO = "[So|Then|Thus|Hence|Therefore]"
_THEN = "[then|next|after that|followed by|now]"


def _shown(rng: random.Random, values: list[int]) -> str:
    style = rng.random()
    if style < 0.45:
        return "[" + ", ".join(map(str, values)) + "]"
    if style < 0.85:
        return ", ".join(map(str, values))
    return " ".join(map(str, values))


def _values(rng: random.Random, low: int = 3, high: int = 7) -> list[int]:
    count = rng.randint(low, high)
    top = pick(rng, (10, 21, 100, 100, 100, 1000)) if count <= 5 else pick(rng, (10, 21, 100))
    return [rng.randrange(top) for _ in range(count)]


def _list(values: list[int]) -> str:
    return ", ".join(map(str, values))


def _sorting(rng: random.Random, values: list[int], descending: bool) -> tuple[str, list[int]]:
    """Selection, always naming the next one and what is left."""
    left = list(values)
    done: list[int] = []
    steps: list[str] = []
    word = "[largest|biggest|greatest]" if descending else "[smallest|lowest|least]"
    while left:
        best = max(left) if descending else min(left)
        left.remove(best)
        done.append(best)
        rest = (
            say(rng, "[left|still there|remaining|to go]: {r}", r=_list(left))
            if left
            else pick(rng, ("nothing left", "all done", "that was the last", "finished"))
        )
        if len(done) == 1:
            steps.append(
                say(
                    rng,
                    (
                        f"[The {word} is|The {word} one is|First the {word},|Starting with the {word},] "
                        f"{{b}}, {{rest}}."
                    ),
                    b=best,
                    rest=rest,
                )
            )
        else:
            steps.append(
                say(rng, "[Then|Next|After that|Now|Next comes|Followed by] {b}, {rest}.", b=best, rest=rest)
            )
    return " ".join(steps), done


def _running_sum(rng: random.Random, values: list[int]) -> str:
    total = values[0]
    steps: list[str] = []
    for value in values[1:]:
        lead = pick(rng, ("", "then ", "next ", "now ")) if steps else ""
        steps.append(f"{lead}{total} + {value} = {total + value}")
        total += value
    return ", ".join(steps)


def _scan(rng: random.Random, values: list[int], even: bool) -> str:
    steps = []
    for value in values:
        kind = "odd" if value % 2 else "even"
        keep = (value % 2 == 0) == even
        verdict = (
            pick(rng, ("keep it", "that counts", "take it", "yes"))
            if keep
            else pick(rng, ("leave it", "skip it", "not wanted", "no"))
        )
        steps.append(say(rng, "{v} is {k}, {w}", v=value, k=kind, w=verdict))
    return cap("; ".join(steps)) + "."


def _best(rng: random.Random, values: list[int], largest: bool) -> str:
    best, steps = values[0], [say(rng, "[Start with|First comes|Begin with|At first] {v}", v=values[0])]
    for value in values[1:]:
        better = value > best if largest else value < best
        best = value if better else best
        steps.append(
            say(
                rng,
                "{v} is {w}, [so now {v}|take {v}|new best {v}|change to {v}]"
                if better
                else "{v} is not[, stay|, keep {b}|, no change|, so still {b}]",
                v=value,
                b=best,
                w="larger" if largest else "smaller",
            )
        )
    return "; ".join(steps) + "."


def _numbers(rng: random.Random) -> Example:
    kind = rng.choices(tuple(_ASK), (0.2, 0.08, 0.12, 0.1, 0.1, 0.07, 0.14, 0.08, 0.06, 0.06, 0.02, 0.02))[0]
    values = _values(rng, 3, 5) if kind == "sum" else _values(rng)
    if kind == "distinct":
        values = [pick(rng, values) if rng.random() < 0.4 else v for v in values]
    if kind == "even" and all(v % 2 for v in values):
        values[0] += 1
    if kind == "odd" and not any(v % 2 for v in values):
        values[0] += 1
    shown = _shown(rng, values)
    prompt = casual(rng, say(rng, _ASK[kind], l=shown))
    intro = say(rng, _INTRO, l=_list(values))
    key = f"{kind} {values}"
    brackets = shown.startswith("[") or rng.random() < 0.2
    truth: int | tuple[int, ...]
    direct_work = ""
    if kind in ("sort", "descending"):
        work, result = _sorting(rng, values, kind == "descending")
        close = "[In order|Sorted|The sorted list is|Here it is in order|The order is|Sorted, that is]: {r}."
    elif kind == "reverse":
        result = values[::-1]
        work = (
            say(rng, "[From the back|Starting at the end|Last one first|Going backwards]: ")
            + f" {say(rng, _THEN)} ".join(map(str, result))
            + "."
        )
        close = (
            "[Reversed|Backwards|The other way round|Turned around|The reversed list is|From "
            "back to front]: {r}."
        )
    elif kind in ("even", "odd"):
        result = [v for v in values if (v % 2 == 0) == (kind == "even")]
        work = _scan(rng, values, kind == "even")
        close = (
            f"[The {kind} {'number is' if len(result) == 1 else 'numbers are'}|{cap(kind)} here|"
            f"These are {kind}|Only the {kind} ones|{cap(kind)} numbers]: {{r}}."
        )
    elif kind == "distinct":
        result = list(dict.fromkeys(values))
        seen: list[int] = []
        steps = []
        for v in values:
            steps.append(
                f"{v} "
                + pick(
                    rng,
                    ("again", "is there already", "repeats", "was there")
                    if v in seen
                    else ("is new", "stays", "first time", "keep"),
                )
            )
            seen.append(v)
        work = cap(", ".join(steps)) + "."
        close = (
            "[Without repeats|Each one once|Without duplicates|The distinct numbers are|What remains]: {r}."
        )
    elif kind == "length":
        result = []
        truth = len(values)
        work = (
            say(rng, "[I count them|Counting|One by one]: ")
            + ", ".join(f"{v} ({i})" for i, v in enumerate(values, 1))
            + "."
        )
        close = "[There are|The list has|I count|It holds|In total there are] {r} [numbers|elements|entries]."
    elif kind == "sum":
        result = []
        truth = sum(values)
        work = (
            say(rng, "[Adding up|One after another|Step by step|From the left]: ")
            + _running_sum(rng, values)
            + "."
        )
        direct_work = work
        close = "[The sum is|Together that is|The total is|That makes|In total it is|They add up to] {r}."
    elif kind in ("first", "last"):
        result = []
        truth = values[0 if kind == "first" else -1]
        work = say(
            rng,
            (
                "[I read the list from the left|Left to right|The order counts here]. [At the {w}|In "
                "the {w} place] [is|stands] {v}."
            ),
            w="start" if kind == "first" else "end",
            v=truth,
        )
        close = f"[The {kind} number is|The {kind} one is|The {kind} element is|It is] {{r}}."
    else:
        result = []
        truth = max(values) if kind == "largest" else min(values)
        work = _best(rng, values, kind == "largest")
        close = f"[The {kind} is|The {kind} number is|The {kind} one is|Of these, the {kind} is|It is] {{r}}."
    if result:
        truth = tuple(result)
        text = f"[{_list(result)}]" if brackets else _list(result)
        if text.startswith("["):
            close = close.replace("{r}.", "{r}")
    else:
        text = str(truth)
    answer, again = say(rng, close, r=text), say(rng, close, r=text)
    end = say(rng, _SO + " [the answer is|it is|we get|I get] {r}.", r=_list(result) if result else truth)
    return Example(
        "lists", kind, key, prompt, join(intro, work, end), answer, join(direct_work, again), truth
    )


def _words(rng: random.Random) -> Example:
    words = rng.sample(WORDS, rng.randint(3, 4))
    kind = pick(rng, ("alphabet", "alphabet", "longest", "count words"))
    shown = ", ".join(words)
    intro = say(rng, "[The words are {l}|We have {l}|Given are {l}|Let me look at {l}].", l=shown)
    if kind == "alphabet":
        result = sorted(words)
        ask = (
            "[Sort these words: {l}|Sort alphabetically: {l}|Put these words in alphabetical "
            "order: {l}|Sort {l} by alphabet.]"
        )
        work = (
            say(rng, "[First letters|The first letters are|They start with]: ")
            + ", ".join(f"{w} {w[0]}" for w in words)
            + "."
        )
        text, truth = ", ".join(result), ", ".join(result)
        close = "[In alphabetical order|Sorted|By the alphabet|From a to z|The order is]: {r}."
    elif kind == "longest":
        lengths = sorted(len(w) for w in words)
        if lengths[-1] == lengths[-2]:
            return _words(rng)
        text = truth = max(words, key=len)
        ask = "[Which word is the longest: {l}?|What is the longest word of {l}?|Find the longest word: {l}]"
        work = (
            say(rng, "[Lengths|I count letters|Letters]: ") + ", ".join(f"{w} {len(w)}" for w in words) + "."
        )
        close = "[The longest word is|The longest one is|The longest is|It is] {r}."
    else:
        text = truth = str(len(words))
        ask = "[How many words are in this list: {l}?|Count these words: {l}|How many words: {l}?]"
        work = (
            say(rng, "[I count|Counting]: ") + ", ".join(f"{w} ({i})" for i, w in enumerate(words, 1)) + "."
        )
        close = "[There are|I count|The list has|These are] {r} words."
    prompt = casual(rng, say(rng, ask, l=shown))
    end = say(rng, _SO + " [the answer is|it is|we get|I get] {r}.", r=text)
    return Example(
        "lists",
        kind,
        f"{kind} {shown}",
        prompt,
        join(intro, work, end),
        say(rng, close, r=text),
        say(rng, close, r=text),
        truth,
    )


def sample(rng: random.Random) -> Example:
    return _numbers(rng) if rng.random() < 0.85 else _words(rng)


def check(example: Example, text: str) -> bool:
    if isinstance(example.truth, str):
        return mentions_truth(example, text)
    return (
        last_numbers_are(example, text) if isinstance(example.truth, tuple) else last_number_is(example, text)
    )


TASK = Task("lists", 0.11, sample, check)
