"""Words taken apart: reversed, in capitals, counted, spelled, joined."""

from __future__ import annotations

import random

from engine.demo.answers import last_number_is, yes_or_no_is
from engine.demo.example import Example
from engine.demo.task import Task
from engine.demo.tasks.words import WORDS
from engine.demo.wording import casual, join, pick, say

_SO = "[So|Then|Thus|Hence|Therefore]"
_SPELL = "[The letters are|Letter by letter|Spelled out it is|The word is|In single letters]: {s}."
_VOWELS = "aeiou"
_CONSONANTS = "bcdfghjklmnpqrstvwxyz"

_ASK = {
    "reverse": (
        "[Reverse {w}.|Reverse the word {w}.|Write {w} backwards.|Spell {w} backwards.|What "
        "is {w} backwards?|What is {w} reversed?|Can you reverse {w}?|Reverse the string "
        "{w}.]"
    ),
    "upper": (
        "[Write {w} in uppercase.|Uppercase {w}.|Put {w} in capital letters.|Convert {w} to "
        "upper case.|{w} in capitals|Make {w} all caps.]"
    ),
    "lower": (
        "[Write {w} in lowercase.|Lowercase {w}.|Put {w} in small letters.|Convert {w} to "
        "lower case.|{w} in lower case]"
    ),
    "length": (
        "[How many letters are in {w}?|How many letters does {w} have?|Count the letters in "
        "{w}.|How long is the word {w}?|What is the length of {w}?|Number of letters in {w}?]"
    ),
    "first": (
        "[What is the first letter of {w}?|First letter of {w}?|Which letter does {w} start "
        "with?|What letter does {w} begin with?]"
    ),
    "last": (
        "[What is the last letter of {w}?|Last letter of {w}?|Which letter does {w} end "
        "with?|What letter does {w} end in?]"
    ),
    "spell": (
        "[Spell {w}.|Spell the word {w}.|How do you spell {w}?|Can you spell {w}?|Spell {w} "
        "letter by letter.]"
    ),
    "occurrences": (
        "[How many {c}s are in {w}?|How often does {c} occur in {w}?|Count the letter {c} in "
        "{w}.|How many times does the letter {c} appear in {w}?|How many {c} are in {w}?]"
    ),
    "vowels": (
        "[How many vowels are in {w}?|Count the vowels in {w}.|How many vowels does {w} "
        "have?|Number of vowels in {w}?]"
    ),
    "palindrome": "[Is {w} a palindrome?|Is the word {w} a palindrome?|Does {w} read the same backwards?]",
    "join": (
        "[Join {w} and {v}.|Concatenate {w} and {v}.|Put {w} and {v} together.|What is {w} + "
        "{v} as one word?]"
    ),
}

_WEIGHTS = (0.2, 0.12, 0.06, 0.15, 0.08, 0.08, 0.09, 0.1, 0.05, 0.03, 0.04)


def _word(rng: random.Random, longest: int) -> str:
    if rng.random() < 0.25:
        length = rng.randint(2, 3)
        made = "".join(pick(rng, _CONSONANTS) + pick(rng, _VOWELS) for _ in range(length))
        return made[: rng.randint(3, len(made))] if len(made) > 3 else made
    while True:
        word = pick(rng, WORDS)
        if len(word) <= longest:
            return word


def _quoted(rng: random.Random, word: str) -> str:
    return pick(rng, (f'"{word}"', f"'{word}'", word, word))


def sample(rng: random.Random) -> Example:
    kind = rng.choices(tuple(_ASK), _WEIGHTS)[0]
    word = _word(rng, 7 if kind in ("reverse", "upper", "lower", "join") else 10)
    if kind == "lower":
        word = word.upper()
    if kind == "palindrome" and rng.random() < 0.5:
        word = pick(
            rng,
            (
                "level",
                "noon",
                "civic",
                "radar",
                "kayak",
                "mom",
                "dad",
                "eye",
                "pop",
                "wow",
                "refer",
                "madam",
                "rotor",
                "anna",
                "otto",
            ),
        )
    other = _word(rng, 6)
    letter = pick(rng, word) if rng.random() < 0.75 else pick(rng, "aeioustrnl")
    prompt = casual(
        rng,
        say(
            rng,
            _ASK[kind],
            w=_quoted(rng, word),
            v=_quoted(rng, other),
            c=f'"{letter}"' if rng.random() < 0.2 else letter,
        ),
        lower=False,
    )
    key = f"{kind} {word}" + (
        f" {other}" if kind == "join" else f" {letter}" if kind == "occurrences" else ""
    )
    spelled = "-".join(word)
    spell = say(rng, _SPELL, s=spelled)
    thinking, answer, direct, truth = _WORK[kind](rng, word, other if kind == "join" else letter, spelled)
    intro = say(
        rng,
        "[The word is {w}|I take {w}|Let me look at {w}|The string is {w}|It is about {w}].",
        w=f'"{word}"',
    )
    return Example("strings", kind, key, prompt, join(intro, spell, thinking), answer, direct, truth)


_Work = tuple[str, str, str, int | str]


def _reverse(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    back = word[::-1]
    think = say(
        rng,
        "[From the end|Backwards|From back to front|Last letter first]: {s}. "
        + _SO
        + " [it is|we get|I get|the word becomes] {r}.",
        s="-".join(back),
        r=back,
    )
    lead = say(
        rng,
        (
            "{w} [backwards|from the back|from the end|reversed|turned around] [is|gives|makes|"
            "reads] {s}[: | or |, so ]"
        ),
        w=spelled,
        s="-".join(back),
    )
    answer = say(
        rng,
        (
            '["{w}" backwards is "{r}"|Reversed it reads "{r}"|The reverse of "{w}" is "{r}"|It '
            'becomes "{r}"|Backwards that is "{r}"].'
        ),
        w=word,
        r=back,
    )
    return think, answer, f'{lead}"{back}".', back


def _upper(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    up = word.upper()
    think = say(
        rng,
        "[In capitals|As capitals|Each one large|Made large]: {s}. "
        + _SO
        + " [it is|we get|I get|that gives] {r}.",
        s="-".join(up),
        r=up,
    )
    say_it = (
        '[In [capital letters|capitals|uppercase|upper case], "{w}" [is|becomes|reads] "{r}"|'
        'In capitals it is "{r}"|The uppercase word is "{r}"|Written large it is "{r}"|Here '
        'it is in capitals: "{r}"].'
    )
    return think, say(rng, say_it, w=word, r=up), say(rng, say_it, w=word, r=up), up


def _lower(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    low = word.lower()
    think = say(
        rng,
        "[In small letters|Each one small|Made small]: {s}. " + _SO + " [it is|we get|I get|that gives] {r}.",
        s="-".join(low),
        r=low,
    )
    say_it = (
        '[In lowercase, "{w}" [is|becomes|reads] "{r}"|In small letters it is "{r}"|The '
        'lowercase word is "{r}"|Written small it is "{r}"].'
    )
    return think, say(rng, say_it, w=word, r=low), say(rng, say_it, w=word, r=low), low


def _numbered(rng: random.Random, word: str) -> str:
    return ", ".join(f"{c} {i}" for i, c in enumerate(word, 1))


def _length(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    n = len(word)
    think = say(
        rng,
        "[I count|Counting|With numbers|One by one]: {s}. "
        + _SO
        + " [there are|it has|I count] {n} letters.",
        s=_numbered(rng, word),
        n=n,
    )
    say_it = '["{w}" has|There are|The word has|I count|In "{w}" there are|It has] {n} letters.'
    return (
        think,
        say(rng, say_it, w=word, n=n),
        join(
            say(rng, "{s}[: | - |, so ]", s=spelled)
            + say(rng, "[that is|it has|I count|that makes|there are] {n} letters.", n=n)
        ),
        n,
    )


def _first(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    say_it = (
        '[The first letter [is|of "{w}" is]|"{w}" [starts with|begins with]|It [starts with|'
        'begins with]|In front stands] "{c}".'
    )
    think = say(
        rng,
        "[In front is|The first one is|It starts with] {c}. " + _SO + " the [answer|first letter] is {c}.",
        c=word[0],
    )
    return think, say(rng, say_it, w=word, c=word[0]), say(rng, say_it, w=word, c=word[0]), word[0]


def _last(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    say_it = (
        '[The last letter [is|of "{w}" is]|"{w}" [ends with|ends in]|It [ends with|ends in]|'
        'At the end stands] "{c}".'
    )
    think = say(
        rng,
        "[At the end is|The last one is|It ends with] {c}. " + _SO + " the [answer|last letter] is {c}.",
        c=word[-1],
    )
    return think, say(rng, say_it, w=word, c=word[-1]), say(rng, say_it, w=word, c=word[-1]), word[-1]


def _spell(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    think = say(
        rng,
        "[That is all|I only have to write them down|Nothing else to do|Now I can write it]: {s}.",
        s=spelled,
    )
    say_it = (
        '["{w}" is spelled|It is spelled|You spell it|Letter by letter it is|Here it is:|The '
        "spelling is] {s}."
    )
    return think, say(rng, say_it, w=word, s=spelled), say(rng, say_it, w=word, s=spelled), spelled


def _occurrences(rng: random.Random, word: str, letter: str, spelled: str) -> _Work:
    found, steps = 0, []
    for c in word:
        found += c == letter
        steps.append(f"{c} {pick(rng, ('yes', 'here', 'one'))} ({found})" if c == letter else f"{c} no")
    n = found
    think = say(
        rng,
        "[I look for {c}|Searching for {c}|Which ones are {c}|Compare with {c}]: {s}. "
        + _SO
        + " [there are|I find|I count] {n}.",
        c=letter,
        s=", ".join(steps),
        n=n,
    )
    time = "time" if n == 1 else "times"
    say_it = (
        f'[The letter {{c}} [occurs|appears|is there] {{n}} {time}|In "{{w}}" the letter '
        f"{{c}} [occurs|appears] {{n}} {time}|I find {{c}} {{n}} {time}|It occurs {{n}} "
        f"{time}]."
    )
    return (
        think,
        say(rng, say_it, w=word, c=letter, n=n),
        say(rng, "{s}: ", s=spelled)
        + say(
            rng,
            f"[the letter {{c}} [occurs|appears]|{{c}} [occurs|appears]|I find {{c}}] {{n}} {time}.",
            c=letter,
            n=n,
        ),
        n,
    )


def _vowels(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    found = [c for c in word if c in _VOWELS]
    n = len(found)
    listed = ", ".join(found) if found else "none"
    think = say(
        rng,
        "[The vowels are|Vowels among them|Vowels here]: {s}. "
        + _SO
        + " [there are|I count|that makes] {n}.",
        s=listed,
        n=n,
    )
    noun = "vowel" if n == 1 else "vowels"
    say_it = (
        f"[The vowels are {{s}}|Looking for a, e, i, o, u I find {{s}}|Vowels: {{s}}], [which "
        f"makes|so that is|in total] {{n}} {noun}."
    )
    return (
        think,
        say(rng, f'["{{w}}" has|There are|It has|I count] {{n}} {noun}.', w=word, n=n),
        say(rng, say_it, s=listed, n=n),
        n,
    )


def _palindrome(rng: random.Random, word: str, _: str, spelled: str) -> _Work:
    back = word[::-1]
    same = back == word
    truth = "yes" if same else "no"
    think = say(
        rng,
        "[Backwards|From the end|Reversed]: {b}. [That is|Compared with the word, it is|It is] {s}. "
        + _SO
        + " {t}.",
        b="-".join(back),
        s="the same" if same else "different",
        t=truth,
    )
    if same:
        say_it = 'Yes, "{w}" [is a palindrome|reads the same backwards|is the same from both ends].'
    else:
        say_it = 'No, "{w}" [is not a palindrome|reads differently backwards][, backwards it is "{b}"|].'
    return think, say(rng, say_it, w=word, b=back), say(rng, say_it, w=word, b=back), truth


def _join(rng: random.Random, word: str, other: str, spelled: str) -> _Work:
    both = word + other
    think = say(
        rng,
        '[Then comes|After it comes|The second one is|It is followed by] "{v}". '
        + _SO
        + " [it is|we get|I get] {r}.",
        v=other,
        r=both,
    )
    say_it = '[Joined it is|Together they make|Put together that is|As one word it is|The result is] "{r}".'
    return think, say(rng, say_it, r=both), say(rng, say_it, r=both), both


_WORK = {
    "reverse": _reverse,
    "upper": _upper,
    "lower": _lower,
    "length": _length,
    "first": _first,
    "last": _last,
    "spell": _spell,
    "occurrences": _occurrences,
    "vowels": _vowels,
    "palindrome": _palindrome,
    "join": _join,
}


def check(example: Example, text: str) -> bool:
    if example.kind == "palindrome":
        return yes_or_no_is(example, text)
    if isinstance(example.truth, int):
        return last_number_is(example, text)
    last = text.rstrip(" .").split()[-1] if text.strip(" .") else ""
    return last.strip("\"'.") == example.truth


TASK = Task("strings", 0.1, sample, check)
