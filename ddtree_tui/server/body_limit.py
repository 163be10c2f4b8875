"""Bodies that are too long, or that never end."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ddtree_tui.server.errors import ApiError

_CLOSE = {"Connection": "close"}
"""What is left of the body must not be taken for the next request."""


class BodyLimit:
    """ASGI middleware.

    Args:
        limit: bytes of a body.
        patience: seconds until all of it must be there.
    """

    def __init__(self, app: ASGIApp, limit: int, patience: float) -> None:
        self._app, self._limit, self._patience = app, limit, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length) > self._limit:
            await self._too_long().response()(scope, receive, send)
            return
        try:
            body = await asyncio.wait_for(self._read(receive), self._patience)
        except TimeoutError:
            refused = ApiError(408, "The body did not arrive in time.", code="timeout", headers=_CLOSE)
            await refused.response()(scope, receive, send)
            return
        if body is None:
            await self._too_long().response()(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The whole body, None if it is too long. It ends early where the client hangs up."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return bytes(body)
            body += message.get("body", b"")
            if len(body) > self._limit:
                return None
            if not message.get("more_body", False):
                return bytes(body)

    def _too_long(self) -> ApiError:
        return ApiError(
            413,
            f"The body is longer than {self._limit} bytes.",
            code="body_too_large",
            headers=_CLOSE,
        )


def _replayed(body: bytes, receive: Receive) -> Receive:
    """``receive`` with the body in front."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
