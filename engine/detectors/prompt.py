"""What a prompt tells by itself: its text, its ids and the messages it was made of. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import Finding, Loaded, Prefilled, Tokens
from engine.settings import Message
from engine.text_stream import THINK_CLOSE, THINK_OPEN

TURNS = (
    ("<|im_end|>", "<|im_start|>assistant"),
    ("<|eot_id|>", "<|start_header_id|>assistant"),
    ("<|end|>", "<|start|>assistant"),
    ("<end_of_turn>", "<start_of_turn>model"),
)
"""In the chat markups in use, what ends a turn and what begins the assistant's."""
SHOWN = 40
"""Characters of a prompt that a finding quotes at most."""


class Prompt(Detector):
    """Looks at the prompt of an answer; needs no tokenizer."""

    def __init__(self) -> None:
        self._special: set[int] = set()
        self._always_thinks = False

    def take(self, event: AnswerEvent) -> Iterator[Finding]:
        if isinstance(event, Loaded):
            self._always_thinks = not event.thinking
        elif isinstance(event, Tokens):
            self._special.update(event.special)
        elif isinstance(event, Prefilled):
            yield from two_bos(event.prompt_ids, self._special)
            if not event.prompt_text or not event.messages:  # an import may not say them
                return
            yield from system_lost(event.messages, event.prompt_text)
            tail = tail_of(event.messages, event.prompt_text)
            yield from no_assistant_turn(event.messages, tail)
            if not event.thinking and not self._always_thinks:
                yield from open_thoughts(tail)


def two_bos(ids: Sequence[int], special: set[int] | frozenset[int]) -> Iterator[Finding]:
    """The same control token twice at the very beginning."""
    if len(ids) > 1 and ids[0] == ids[1] and ids[0] in special:
        yield found(
            "two-bos", f"The prompt's first two tokens are both the control token {ids[0]}.", ids=[*ids[:4]]
        )


def system_lost(messages: Sequence[Message], text: str) -> Iterator[Finding]:
    """A line of a system message that is nowhere in the prompt."""
    for message in messages:
        if message["role"] != "system":
            continue
        lines = [line.strip() for line in message["content"].splitlines() if line.strip()]
        missing = [line for line in lines if line not in text]
        if missing:
            yield found(
                "system-lost",
                f"{len(missing)} of {len(lines)} lines of the system message are not in the prompt.",
                lines=len(lines),
                missing=len(missing),
            )
            return


def tail_of(messages: Sequence[Message], text: str) -> str:
    """What stands in the prompt behind the last message's own words; nothing if they are not found."""
    _, found_there, tail = text.rpartition(messages[-1]["content"].strip())
    return tail if found_there else ""


def no_assistant_turn(messages: Sequence[Message], tail: str) -> Iterator[Finding]:
    """The last turn is closed and the assistant's is not opened, in a markup that is known."""
    if messages[-1]["role"] == "assistant":
        return
    for end, opening in TURNS:
        if end in tail and opening not in tail:
            yield found(
                "no-generation-prompt",
                f"The prompt ends with {tail[-SHOWN:]!r}: the last turn is closed, and no {opening} follows.",
                tail=tail[-SHOWN:],
            )


def open_thoughts(tail: str) -> Iterator[Finding]:
    """Thinking is off and the prompt ends inside thoughts."""
    if tail.rfind(THINK_OPEN) > tail.rfind(THINK_CLOSE):
        yield found(
            "thinking-left-on",
            f"Thinking is off, but the prompt ends with {tail[-SHOWN:]!r}, inside open thoughts.",
            tail=tail[-SHOWN:],
        )
