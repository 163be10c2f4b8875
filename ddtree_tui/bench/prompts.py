"""Prompts to measure with: from files in the formats of the usual sets, or the demo's own questions."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.commands import Generate, encode_command
from engine.errors import EngineError
from engine.settings import DecodeSettings, Message

MAX_FILE_BYTES = 256 * 2**20
DEMO_SOURCE = "held-out demo questions"
DEMO_SEED = 2026

FIELDS = ("prompt", "question", "problem", "text")
"""Where a prompt is, the first one present: HumanEval and sanitized MBPP say ``prompt``, GSM8K ``question``,
MATH-500 ``problem``, MBPP as first published ``text``."""


class Prompt(msgspec.Struct, frozen=True):
    """One conversation to answer.

    Attributes:
        source: the file's name without its ending.
        number: its place in the source, from 0.
        messages: what to send with thinking off.
        thinking_messages: what to send with thinking on, where that differs: the turns before the question
            then have their thoughts.
    """

    source: str
    number: int
    messages: list[Message]
    thinking_messages: list[Message] | None = None

    def turns(self, thinking: bool) -> list[Message]:
        return self.thinking_messages or self.messages if thinking else self.messages

    @property
    def digest(self) -> str:
        """Names the content."""
        data = msgspec.json.encode([self.messages, self.thinking_messages])
        return hashlib.blake2b(data, digest_size=8).hexdigest()


def read_prompts(files: Sequence[Path], limit: int, wrap: str | None, model: str) -> list[Prompt]:
    """The first ``limit`` prompts of every file (0: all of them).

    Raises:
        EngineError: ``bench_file`` for a file without readable prompts; ``usage`` when no file is named and
            the model is not the demo, for which there are no questions of its own.
    """
    if not files:
        if model != "demo":
            raise EngineError(
                "usage",
                "There are no prompts to measure with.",
                "Name prompt files: ddtree-tui bench FILE ...; only the demo model has questions of its own.",
            )
        return demo_prompts(limit or 100)
    names = [path.stem for path in files]
    prompts = []
    for path, name in zip(files, names, strict=True):
        source = name if names.count(name) == 1 else str(path)
        prompts += _read_file(path, source, limit, wrap)
    return prompts


def demo_prompts(count: int) -> list[Prompt]:
    """Questions that the demo pair was not trained on."""
    from engine.demo.conversation import prompt_messages
    from engine.demo.tasks import heldout_examples

    prompts = []
    for number, example in enumerate(heldout_examples(count, DEMO_SEED)):
        plain, thinking = (list(prompt_messages(example, think)) for think in (False, True))
        prompts.append(Prompt(DEMO_SOURCE, number, plain, thinking if thinking != plain else None))
    return prompts


def _read_file(path: Path, source: str, limit: int, wrap: str | None) -> list[Prompt]:
    prompts = [
        Prompt(source, number, _messages(entry, where, wrap))
        for number, (where, entry) in enumerate(_entries(path, limit))
    ]
    if not prompts:
        raise _refused(f"The prompt file {path} holds no prompts.")
    return prompts


def _entries(path: Path, limit: int) -> list[tuple[str, Any]]:
    """The first ``limit`` entries of a file, each with where it is."""
    text = _read_text(path)
    if path.suffix == ".txt":
        return [(str(path), {"prompt": text.strip()})]
    if text.lstrip().startswith("["):
        rows = _decode(text, str(path))
        return [(f"{path}, entry {place}", row) for place, row in enumerate(rows, 1)][: limit or None]
    numbered = enumerate(text.split("\n"), 1)  # not splitlines: JSON strings may hold other breaks
    lines = [(f"{path}, line {place}", line) for place, line in numbered if line.strip()]
    return [(where, _decode(line, where)) for where, line in lines[: limit or None]]


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise EngineError(
            "bench_file",
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


def _messages(entry: Any, where: str, wrap: str | None) -> list[Message]:
    if not isinstance(entry, dict):
        raise _refused(f"{where}, is no JSON object.")
    if "messages" in entry:
        try:
            messages = msgspec.convert(entry["messages"], list[Message])
        except msgspec.ValidationError as error:
            raise _refused(f"{where}, has messages that are none: {error}.") from error
    else:
        content = next((entry[field] for field in FIELDS if field in entry), None)
        if not isinstance(content, str):
            raise _refused(f"{where}, has no prompt.")
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
        "bench_file",
        message,
        "Prompts are JSON lines or a JSON list of objects with messages, "
        + ", ".join(FIELDS[:-1])
        + f" or {FIELDS[-1]}, or a .txt file that is one prompt.",
    )
