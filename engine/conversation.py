"""What a prompt may be: a text, or the turns of a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.errors import EngineError
from engine.settings import Message

_HINT = 'Give a string, or a list of messages like {"role": "user", "content": "..."}.'


def conversation(prompt: str | Iterable[Message]) -> list[Message]:
    """The messages of a prompt; a text is one message of the user.

    Raises:
        EngineError: ``bad_prompt`` for what is no prompt, ``empty_prompt`` for no message at all.
    """
    if isinstance(prompt, str):
        messages: list[Message] = [{"role": "user", "content": prompt}]
    elif isinstance(prompt, (bytes, Mapping)) or not isinstance(prompt, Iterable):
        raise EngineError("bad_prompt", f"A prompt cannot be a {type(prompt).__name__}.", _HINT)
    else:
        messages = [*prompt]
    check_messages(messages)
    return messages


def check_messages(messages: Sequence[Message]) -> None:
    """Refuse what is no conversation; whether it can be answered is another question.

    Raises:
        EngineError: ``bad_prompt``, ``empty_prompt`` where there is no message.
    """
    for message in messages:
        if not _is_message(message):
            raise EngineError("bad_prompt", "A message of the conversation has no role or no text.", _HINT)
        for text in message.values():
            check_text(text)
    if not messages:
        raise empty_prompt()


def check_text(text: object) -> None:
    """Refuse half a character.

    Raises:
        EngineError: ``bad_prompt``.
    """
    try:
        str(text).encode()
    except UnicodeEncodeError as error:
        raise EngineError(
            "bad_prompt",
            "The prompt contains half a character (a lone surrogate).",
            "Give the prompt as valid UTF-8.",
        ) from error


def empty_prompt() -> EngineError:
    """What to say where nothing was asked."""
    return EngineError("empty_prompt", "The prompt is empty.", "Type a question or a task.")


def _is_message(message: object) -> bool:
    if not isinstance(message, Mapping):
        return False
    return isinstance(message.get("role"), str) and isinstance(message.get("content"), str)
