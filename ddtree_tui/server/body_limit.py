"""Bodies that are too long, or that never end."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ddtree_tui.server.errors import ApiError

DISCARD_SECONDS = 2.0
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
        try:
            async with asyncio.timeout(self._patience):
                body = await self._read(receive, Headers(scope=scope).get("content-length", "0"))
        except TimeoutError:
            refused = ApiError(408, "The body did not arrive in time.", code="timeout", headers=_CLOSE)
            await refused.response()(scope, receive, send)
            return
        if body is None:
            await _discard(receive)
            message = f"The body is longer than {self._limit} bytes."
            refused = ApiError(413, message, code="body_too_large", headers=_CLOSE)
            await refused.response()(scope, receive, send)
            return
        await self._app(scope, _replayed(body, receive), send)

    async def _read(self, receive: Receive, length: str) -> bytes | None:
        """The whole body, None if it is too long. It ends early where the client hangs up."""
        if length.isdecimal() and (len(length) > 18 or int(length) > self._limit):
            return None
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


async def _discard(receive: Receive) -> None:
    """Read on for a while: most clients look at an answer only when they have sent everything."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DISCARD_SECONDS):
            while (await receive()).get("more_body", False):
                pass


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
