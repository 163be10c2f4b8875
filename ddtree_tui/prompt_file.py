"""Prompts and system messages out of files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from engine.errors import EngineError
from engine.settings import Message

MAX_PROMPT_BYTES = 16 * 2**20


def read_prompt_file(path: Path) -> str:
    """The text of a file, without line breaks at its end.

    Raises:
        EngineError: ``prompt_file`` if it cannot be read or is not UTF-8, ``prompt_too_long``.
    """
    try:
        with path.expanduser().open("rb") as file:
            return decode_prompt(file.read(MAX_PROMPT_BYTES + 1), str(path))
    except (OSError, RuntimeError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise EngineError(
            "prompt_file",
            f"The file {path} cannot be read: {str(reason).rstrip('.')}.",
            "Check the path and its permissions.",
        ) from error


def decode_prompt(data: bytes, source: str) -> str:
    """Text of ``data``, without line breaks at its end; ``source`` is what an error names.

    Raises:
        EngineError: as ``read_prompt_file``.
    """
    if len(data) > MAX_PROMPT_BYTES:
        raise EngineError(
            "prompt_too_long",
            f"{source} is longer than any context ({MAX_PROMPT_BYTES // 2**20} MiB).",
            "Shorten the prompt.",
        )
    try:
        return data.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise EngineError(
            "prompt_file",
            f"{source} is not UTF-8 text (byte {error.start}).",
            "Convert it, for example with iconv.",
        ) from error


def read_messages(path: Path) -> list[Message]:
    """A conversation from a file: a JSON list of objects with ``role`` and ``content``, the user's last.

    Raises:
        EngineError: as ``read_prompt_file``; ``prompt_file`` if the file holds something else.
    """
    try:
        messages = msgspec.json.decode(read_prompt_file(path), type=list[Message])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise EngineError(
            "prompt_file",
            f"The file {path} holds no conversation.",
            'Write a JSON list, as [{"role": "user", "content": "Hello"}].',
            str(error),
        ) from error
    if not messages or messages[-1]["role"] != "user" or not messages[-1]["content"].strip():
        raise EngineError(
            "empty_prompt",
            f"The conversation in {path} does not end with something the user says.",
            "Add a message of role user.",
        )
    return messages
