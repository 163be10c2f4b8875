"""JSON files that hold one object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import EngineError


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        EngineError: ``bad_json`` when there is none.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise bad_json(path, repr(error)) from error
    if not isinstance(value, dict):
        raise bad_json(path, f"a {type(value).__name__} instead of an object")
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write one object, readable by people too."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def bad_json(path: Path, detail: str) -> EngineError:
    """What to say about a file that holds no such object."""
    return EngineError(
        "bad_json",
        f"{path} is broken: it should be a JSON object.",
        "Download the file again: it may have been cut short.",
        detail,
    )
