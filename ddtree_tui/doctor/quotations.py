"""Takes out of a report's sentences and numbers what they quote of prompts and answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ddtree_tui.doctor.answers import Answer
from engine.events import Tokens

LEFT_OUT = "‹…›"
SHORTEST_QUOTE = 3
"""Characters; shorter pieces of a text are in any sentence."""
SHORTEST_WORD = 4
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|`([^`\n]+)`")


def quotable(answers: Iterable[Answer]) -> list[str]:
    """Every word of the prompts and answers, and every token's spelling, longest first."""
    found: set[str] = set()
    for answer in answers:
        texts: list[str] = []
        if answer.prefilled is not None:
            texts += [message["content"] for message in answer.prefilled.messages]
            texts.append(answer.prefilled.prompt_text)
        if answer.finished is not None:
            texts += [answer.finished.text, answer.finished.thinking_text]
        for event in answer.events:
            if isinstance(event, Tokens):
                found.update(event.pieces.values())
        for text in texts:
            found.add(text)
            found.update(text.split())
    return sorted((word for word in found if len(word.strip()) >= SHORTEST_QUOTE), key=len, reverse=True)


def without(sentence: str, secrets: Sequence[str]) -> str:
    """A sentence without what it quotes of the texts. Sentences quote in quotation marks."""
    if not secrets:
        return sentence
    known = set(secrets)

    def cut(found: re.Match[str]) -> str:
        inside = next(group for group in found.groups() if group is not None)
        words = {inside, inside.strip(), *inside.split()}
        quoted = bool(words & known) or any(inside in secret for secret in secrets)
        return found[0].replace(inside, LEFT_OUT) if quoted else found[0]

    return _QUOTED.sub(cut, sentence)


def evidence_without(value: Any, secrets: Sequence[str]) -> Any:
    """Strings there are names of things, or a piece of the text, which goes; also one with a word of it."""
    if isinstance(value, str):
        known = set(secrets)
        words = {word for word in value.split() if len(word) >= SHORTEST_WORD}
        return LEFT_OUT if words & known or any(value in secret for secret in secrets) else value
    if isinstance(value, list):
        return [evidence_without(item, secrets) for item in value]
    return value
