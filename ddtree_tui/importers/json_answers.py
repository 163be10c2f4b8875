"""JSON of answers: one value, a list of them, or JSON Lines."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from ddtree_tui.importers.refusal import refused, unfit
from engine.errors import EngineError

T = TypeVar("T")


def read_json(data: bytes) -> list[Any]:
    """The values of a file, those of a list at its top one by one.

    Raises:
        EngineError: ``import`` if it is no JSON.
    """
    try:
        values = [msgspec.json.decode(data)]
    except (msgspec.MsgspecError, RecursionError) as whole:
        lines = [line for line in data.splitlines() if line.strip()]
        if len(lines) < 2:
            raise _no_json(whole) from whole
        try:
            values = [msgspec.json.decode(line) for line in lines]
        except (msgspec.MsgspecError, RecursionError):
            raise _no_json(whole) from whole
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def of_type(value: Any, kind: type[T], number: int) -> T:
    """A value as a struct of ours; fields that this does not have are left out.

    Raises:
        EngineError: ``import`` that says which field is of the wrong type.
    """
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise unfit(f"does not fit in answer {number}: {error}") from error


def _no_json(error: Exception) -> EngineError:
    return refused(
        "The file is no JSON, nor one JSON value a line.", "It is damaged or cut short.", str(error)
    )
