"""Server-sent events: whole frames, ended when the client goes away or reads no more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ddtree_tui.server.hangup import ClientGoneError, unless_gone

DONE = b"data: [DONE]\n\n"
KEEP_ALIVE = b": nothing new\n\n"
_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
    "X-Accel-Buffering": "no",  # nginx would collect them
}


def frame(data: bytes) -> bytes:
    """One event. ``data`` is JSON, which has no line breaks."""
    return b"data: " + data + b"\n\n"


class EventStream(Response):
    """A response of ``frames``.

    Args:
        patience: seconds that a client may leave what was sent unread.
        end: called when nothing more is sent, for whatever reason.
    """

    def __init__(self, frames: AsyncGenerator[bytes, None], patience: float, end: Callable[[], None]) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self._frames = frames
        self._patience = patience
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await unless_gone(receive, self._write(send))
        except (ClientGoneError, TimeoutError):
            scope["facts"].setdefault("outcome", "client_gone")
        finally:
            self._end()
            await self._frames.aclose()

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        async for data in self._frames:
            part = {"type": "http.response.body", "body": data, "more_body": True}
            async with asyncio.timeout(self._patience):
                await send(part)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
