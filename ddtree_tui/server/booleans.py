"""Booleans, however clients spell them: templates filled by a shell or a form send strings."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


def read_boolean(value: Any) -> bool | None:
    """True or False for what means that, None for null.

    Raises:
        ValueError: for anything else; the string "false" in particular is never true.
    """
    if value is None or isinstance(value, bool):
        return value
    spelled = value.strip().lower() if isinstance(value, str) else str(value) if type(value) is int else ""
    if spelled in _TRUE:
        return True
    if spelled in _FALSE:
        return False
    raise ValueError("is a boolean: true or false, or one of the strings true, false, 1, 0, yes, no.")


Boolean = Annotated[
    bool | None,
    BeforeValidator(read_boolean),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "boolean"},
                {"type": "string", "enum": [*_TRUE, *_FALSE]},
                {"type": "integer", "enum": [0, 1]},
                {"type": "null"},
            ]
        }
    ),
]
"""A field that is true, false or not said."""
