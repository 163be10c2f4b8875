"""Parameters that this server knows and does not honour: refused where they would change the answer, else
listed among the answer's warnings."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_MARK = "x-ignored"

IGNORED = Field(json_schema_extra={_MARK: True})
"""Marks a field that clients send as a matter of course; an answer to a request with it has a warning."""


class Only:
    """Marks a field that may be there with a value that asks for nothing: null, or one of ``neutral``."""

    def __init__(self, *neutral: Any) -> None:
        self.allowed = [*neutral, None]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._check)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"enum": self.allowed}

    def _check(self, value: Any) -> Any:
        if any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in self.allowed):
            return value
        spelled = " or ".join("null" if each is None else repr(each) for each in self.allowed)
        raise ValueError(f"is not supported by this server; leave it away (it may be {spelled}).")


def ignored_fields(request: BaseModel) -> list[str]:
    """The fields marked ``IGNORED`` that a request has."""
    return [
        name
        for name, field in type(request).model_fields.items()
        if isinstance(field.json_schema_extra, dict)
        and field.json_schema_extra.get(_MARK)
        and getattr(request, name) is not None
    ]
