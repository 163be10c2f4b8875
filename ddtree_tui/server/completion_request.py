"""The body of ``POST /v1/completions``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from ddtree_tui.server.decode_request import DecodeRequest
from ddtree_tui.server.unsupported import Only
from engine.events import MAX_CANDIDATES


def _prompt(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value:
        raise ValueError("is one string that is not empty; lists of prompts and token ids are not supported.")
    return value


def _alternatives(value: Any) -> Any:
    """A number here, where chat has a boolean; false is none."""
    return None if value is False else value


_TEXT = {"type": "string", "minLength": 1}


class CompletionRequest(DecodeRequest):
    """A text to be gone on with, without a chat template."""

    prompt: Annotated[
        str,
        BeforeValidator(_prompt),
        WithJsonSchema({"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": 1}]}),
    ]
    logprobs: Annotated[int | None, BeforeValidator(_alternatives)] = Field(
        None, ge=0, le=MAX_CANDIDATES, description="tell log-probabilities, and of so many alternatives"
    )

    best_of: Annotated[Any, Only(1)] = None
    echo: Annotated[Any, Only(False)] = None
    suffix: Annotated[Any, Only("")] = None

    @property
    def alternatives(self) -> int | None:
        return self.logprobs
