"""Which source a file is from, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ddtree_tui.importers.answer import Imported
from ddtree_tui.importers.json_answers import read_json
from ddtree_tui.importers.pickle_data import read_pickle
from ddtree_tui.importers.plain import read_plain
from ddtree_tui.importers.reference import read_reference
from ddtree_tui.importers.refusal import KIND, refused, too_large
from ddtree_tui.importers.sglang import is_sglang, read_sglang
from ddtree_tui.importers.torch_file import is_old_file, is_zip, read_old_file, read_zip
from ddtree_tui.importers.vllm import is_vllm, read_vllm
from engine.errors import EngineError

MAX_FILE_BYTES = 512 * 2**20


def read_import(path: Path, source: str = "auto") -> Imported:
    """Read a file of another system.

    Args:
        source: one of ``sources.SOURCES``; ``auto`` goes by what is in the file.

    Raises:
        EngineError: ``import`` for what cannot be read, in a sentence; nothing in the file is ever run.
    """
    data = _bytes(path)
    try:
        return _read(data, source)
    except EngineError as error:
        message = error.message.replace("The file", str(path), 1)
        raise EngineError(error.kind, message, error.hint, error.detail) from error


def _read(data: bytes, source: str) -> Imported:
    start = data.lstrip()[:1]
    if not start:
        raise refused("The file is empty.")
    if source == "reference" or (source == "auto" and start not in (b"{", b"[")):
        return read_reference(_pickled(data) if source == "reference" else _maybe_pickled(data))
    values = read_json(data)
    first = values[0] if values else None
    if isinstance(first, Mapping) and "v" in first and "type" in first:
        raise refused("The file is a DDTree trace already.", "Open it with: ddtree-tui replay FILE")
    if source == "vllm" or (source == "auto" and is_vllm(first)):
        return read_vllm(values)
    if source == "sglang" or (source == "auto" and is_sglang(first)):
        return read_sglang(values)
    if source == "auto" and not _is_plain(first):
        raise refused(
            "The file is JSON, but no record of a run that is known.",
            "Say what wrote it with --from; docs/importing.md tells what each source looks like.",
        )
    return read_plain(values)


def _is_plain(value: Any) -> bool:
    return isinstance(value, Mapping) and any(name in value for name in ("rounds", "answers", "parents"))


def _maybe_pickled(data: bytes) -> Any:
    """What is no JSON, and of which nobody has said that it is a pickle."""
    try:
        return _pickled(data)
    except EngineError as error:
        if not _is_text(data):
            raise
        raise refused(
            "The file is a text, and no record of a run that is known.",
            "docs/importing.md tells what can be imported.",
        ) from error


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _pickled(data: bytes) -> Any:
    if is_zip(data):
        return read_zip(data)
    return read_old_file(data) if is_old_file(data) else read_pickle(data)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise EngineError(KIND, f"There is no file {path}.", "Check the path.") from error
    except IsADirectoryError as error:
        raise EngineError(KIND, f"{path} is a folder.", "Name a file in it.") from error
    except OSError as error:
        raise EngineError(
            KIND, f"{path} cannot be read: {error.strerror or error}.", "Check its permissions."
        ) from error
    if len(data) > MAX_FILE_BYTES:
        raise too_large(f"has more than {MAX_FILE_BYTES // 2**20} MiB")
    return data
