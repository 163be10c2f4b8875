"""Prompts from files, in the formats of the usual sets. Imports neither torch nor transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from engine.commands import Generate, encode_command
from engine.errors import EngineError
from engine.settings import DecodeSettings, Message

MAX_FILE_BYTES = 256 * 2**20

FIELDS = ("prompt", "question", "problem", "text")
"""Where a prompt is, the first one present: HumanEval and sanitized MBPP say ``prompt``, GSM8K ``question``,
MATH-500 ``problem``, MBPP as first published ``text``."""


def read_prompt_file(
    path: Path, limit: int = 0, wrap: str | None = None, *, field: str | None = None, lines: bool = False
) -> list[list[Message]]:
    """The conversations of a file: JSON lines or a JSON list of objects, or a .txt file that is one prompt.

    Args:
        limit: how many of the first to read; 0 is all.
        wrap: text to put around a prompt, which stands for ``{prompt}`` in it.
        field: where the prompt is in an object; None looks for ``messages`` and then for ``FIELDS``.
        lines: every line of a .txt file is a prompt.

    Raises:
        EngineError: ``prompt_file`` when it cannot be read or an entry is no prompt.
    """
    if path.suffix == ".txt":
        field = None
    conversations = [_messages(entry, where, wrap, field) for where, entry in _entries(path, limit, lines)]
    if not conversations:
        raise _refused(f"The prompt file {path} holds no prompts.")
    return conversations


def _entries(path: Path, limit: int, one_each_line: bool) -> list[tuple[str, Any]]:
    """The first ``limit`` entries of a file, each with where it is."""
    text = _read_text(path)
    plain = path.suffix == ".txt"
    if plain and not one_each_line:
        return [(str(path), {"prompt": text.strip()})]
    if not plain and text.lstrip().startswith("["):
        rows = _decode(text, str(path))
        return [(f"{path}, entry {place}", row) for place, row in enumerate(rows, 1)][: limit or None]
    numbered = enumerate(text.split("\n"), 1)  # not splitlines: JSON strings may hold other breaks
    lines = [(f"{path}, line {place}", line) for place, line in numbered if line.strip()][: limit or None]
    return [(where, {"prompt": line.strip()} if plain else _decode(line, where)) for where, line in lines]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise EngineError(
            "prompt_file",
            f"The prompt file {path} cannot be read: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise _refused(f"The prompt file {path} has more than {MAX_FILE_BYTES // 2**20} MiB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _refused(f"The prompt file {path} is not UTF-8 text (byte {error.start}).") from error


def _decode(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refused(f"{where}, is no JSON: {error}.") from error


def _messages(entry: Any, where: str, wrap: str | None, field: str | None) -> list[Message]:
    if not isinstance(entry, dict):
        raise _refused(f"{where}, is no JSON object.")
    if "messages" in entry and field in (None, "messages"):
        try:
            messages = msgspec.convert(entry["messages"], list[Message])
        except msgspec.ValidationError as error:
            raise _refused(f"{where}, has messages that are none: {error}.") from error
    else:
        names = FIELDS if field is None else (field,)
        content = next((entry[name] for name in names if name in entry), None)
        if not isinstance(content, str):
            raise _refused(f"{where}, has no {'prompt' if field is None else f'text {field}'}.")
        messages = [{"role": "user", "content": wrap.replace("{prompt}", content) if wrap else content}]
    if not messages or not messages[-1]["content"].strip():
        raise _refused(f"{where}, has an empty prompt.")
    try:
        encode_command(Generate(messages=messages, settings=DecodeSettings()))
    except EngineError as error:
        raise _refused(f"{where}, holds text that is not Unicode.") from error
    return messages


def _refused(message: str) -> EngineError:
    return EngineError(
        "prompt_file",
        message,
        "Prompts are JSON lines or a JSON list of objects with messages, "
        + ", ".join(FIELDS[:-1])
        + f" or {FIELDS[-1]}, or a .txt file that is one prompt.",
    )
