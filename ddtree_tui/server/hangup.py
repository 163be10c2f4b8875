"""Clients that go away while something is done for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from starlette.types import Receive

Result = TypeVar("Result")


class ClientGoneError(Exception):
    """Nobody is there to answer any more."""


async def unless_gone(receive: Receive, work: Awaitable[Result]) -> Result:
    """The result of ``work``, which is cancelled when the client hangs up. Its request must have been read.

    Raises:
        ClientGoneError: then.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
