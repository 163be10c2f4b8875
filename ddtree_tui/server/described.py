"""How answers are described in the OpenAPI schema."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from ddtree_tui.server.responses import ErrorResponse

_MEANINGS = {
    400: "the request is not valid, or does not fit the context",
    401: "no API key, or a wrong one",
    403: "a host name or a web page; either needs an API key",
    404: "no such model, or nothing of that name",
    408: "the body did not arrive in time",
    413: "the body is too long",
    429: "too many requests wait already, of all clients or of this one",
    499: "the client left",
    500: "the engine failed while it answered",
    503: "the engine is not ready, or ended",
    504: "the answer took too long",
}

EVENTS = "text/event-stream"
EVENT = {
    "type": "object",
    "description": "one event of the stream",
    "properties": {"data": {"type": "string", "description": "JSON; at the end of an answer [DONE]"}},
    "required": ["data"],
}
Described = dict[int | str, dict[str, Any]]


def errors(*statuses: int) -> Described:
    """Answers of these statuses, in OpenAI's shape."""
    return {
        status: {"model": ErrorResponse, "description": _MEANINGS[status][:1].upper() + _MEANINGS[status][1:]}
        for status in statuses
    }


COMMON_ERRORS = errors(400, 401, 403)
ANSWER_ERRORS = errors(400, 401, 403, 404, 408, 413, 429, 500, 503, 504)


def text_of(media_type: str) -> Described:
    """An answer that is a text."""
    schema = EVENT if media_type == EVENTS else {"type": "string"}
    return {200: {"description": "The text", "content": {media_type: {"schema": schema}}}}


def streamed_or(whole: type[BaseModel], chunk: type[BaseModel]) -> Described:
    """An answer that is one object, or with ``stream`` a stream of ``chunk``."""
    return {
        200: {
            "model": whole,
            "description": f"The answer; with stream, server-sent events of {chunk.__name__}, then [DONE]",
            "content": {EVENTS: {"schema": EVENT}},
        }
    }
