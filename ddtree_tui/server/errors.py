"""What went wrong, in OpenAI's shape: ``{"error": {"message", "type", "param", "code"}}`` and a status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from engine.errors import EngineError
from engine.events import Failed

RETRY_SECONDS = 5
"""What clients are told to wait while the engine starts."""

_STATUS = {
    "bad_setting": 400,
    "bad_prompt": 400,
    "bad_text": 400,
    "empty_prompt": 400,
    "no_drafter": 400,
    "prompt_too_long": 400,
    "template_refused": 400,
    "thinking_unsupported": 400,
    "engine_died": 503,
    "engine_restarted": 503,
    "out_of_memory": 503,
    "not_loaded": 503,
    "shutting_down": 503,
    "timeout": 504,
}
"""By the kind of the engine's error; all others are 500."""
_CODES = {"prompt_too_long": "context_length_exceeded", "thinking_unsupported": "unsupported_value"}
_OF_THE_PROMPT = ("prompt_too_long", "empty_prompt", "bad_prompt", "bad_text", "template_refused")
_HINTS = {
    "bad_text": "Send whole characters: a surrogate has no meaning without its other half.",
    "empty_prompt": "Add a message of the user's that is not empty.",
    "prompt_too_long": "Send less.",
}
"""For whoever writes the request, where the engine's own hint is for who sits in front of the app."""
_PARAMS = {
    "thinking_unsupported": "enable_thinking",
    "no_drafter": "mode",
}
_TYPES = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """An answer other than the one asked for.

    Attributes:
        status: of HTTP.
        message: a sentence or two for the person at the other end.
        code: stable, snake case.
        param: the field it is about.
        headers: to send along.
        again: whether it may be otherwise in a while.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = True,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.param = status, message, code, param
        self.headers = dict(headers or {})
        if status == 503 and again:
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        kind = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}

    def response(self) -> JSONResponse:
        return JSONResponse(self.body, self.status, self.headers)


def of_engine(error: EngineError | Failed, question: str = "messages") -> ApiError:
    """What the engine says, with the status it means for a client. ``question``: the prompt's parameter."""
    kind = error.kind if isinstance(error, EngineError) else error.error
    message = error.message
    status = _STATUS.get(kind, 500)
    hint = _HINTS.get(kind, error.hint)
    if status == 400 and hint:  # other hints are for whoever runs the server
        message = f"{message} {hint}"
    param = question if kind in _OF_THE_PROMPT else _PARAMS.get(kind)
    return ApiError(status, message, code=_CODES.get(kind, kind), param=param)


INTERNAL = ApiError(500, "The server failed unexpectedly.", code="internal")


def add_error_handlers(app: FastAPI) -> None:
    """Have every failure leave ``app`` in the one shape."""

    @app.exception_handler(ApiError)
    async def api_error(request: Request, error: ApiError) -> JSONResponse:
        return error.response()

    @app.exception_handler(EngineError)
    async def engine_error(request: Request, error: EngineError) -> JSONResponse:
        return of_engine(error).response()

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> JSONResponse:
        return _invalid(error.errors()).response()

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "bad_request")
        found = ApiError(error.status_code, f"{error.detail}.", code=code, headers=error.headers)
        return found.response()

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        return INTERNAL.response()


def _invalid(errors: Sequence[Mapping[str, Any]]) -> ApiError:
    """The first thing that is wrong with a request, and how many more there are."""
    first = errors[0]
    param = _path(first["loc"])
    match first["type"]:
        case "json_invalid":
            message, param = f"The body is not JSON: {first['ctx']['error']}.", None
        case "extra_forbidden":
            message = f"There is no parameter '{param}'."
        case "missing" if param is None:
            message = "There is no JSON body; send one with Content-Type: application/json."
        case _ if param is None and first["type"] != "value_error":
            # A body whose type is told otherwise is not looked into.
            message = "The body is not a JSON object sent with Content-Type: application/json."
        case "missing":
            message = f"The parameter '{param}' is missing."
        case "union_tag_not_found":
            message = f"The parameter '{param}' has no 'role'."
        case "union_tag_invalid":
            message = f"The parameter '{param}' has an unknown role; there are {', '.join(_ROLES)}."
        case "value_error" if param is None:  # of several together, named first in the sentence
            message = str(first["ctx"]["error"])
            param = message.split("'")[1]
        case "value_error":
            message = f"The parameter '{param}' {first['ctx']['error']}"
        case _:
            message = f"The parameter '{param}' is not valid: {_sentence(str(first['msg']))}"
    if len(errors) > 1:
        message += f" ({len(errors) - 1} more {'is' if len(errors) == 2 else 'are'} wrong.)"
    return ApiError(400, message, code="invalid_value", param=param)


def _path(place: Sequence[int | str]) -> str | None:
    """``messages[0].content`` for ("body", "messages", 0, "user", "content")."""
    path = ""
    after_index = False
    for part in place[1:]:
        if isinstance(part, int):
            path += f"[{part}]"
        elif not (after_index and part in _ROLES):  # pydantic names the kind of message chosen
            path += f".{part}" if path else part
        after_index = isinstance(part, int)
    return path or None


_ROLES = ("system", "developer", "user", "assistant")


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
