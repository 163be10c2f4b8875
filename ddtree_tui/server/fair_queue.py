"""Who is next: every client has a line of its own, and the lines take turns."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


SHARE = 3
"""So many items a client may have for each place that is free."""


class QueueFullError(Exception):
    """No more may wait: of anybody, or of this client, which has ``own`` items."""

    def __init__(self, own: int, *, of_client: bool) -> None:
        super().__init__()
        self.own, self.of_client = own, of_client


class FairQueue(Generic[Item]):
    """Items of one client come out in the order in which they went in; a client with many does not make
    another with one wait for all of them.

    Nor does it keep another one out. With f free places a client may have ``SHARE`` · f items (a dynamic
    threshold: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So one alone comes to
    three quarters of the places, k clients that ask for all they can get to 3 / (3 k + 1) of them each, and
    the rest is there for the next one.

    Args:
        limit: items of all clients together.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._lines: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return self._length

    def put(self, client: str, item: Item, *, spare: int = 0) -> None:
        """Add an item. ``spare``: so many are about to be taken out.

        Raises:
            QueueFullError: if ``limit`` items wait beside those, or the client has its share.
        """
        free = self.limit + spare - self._length
        own = len(self._lines.get(client, ()))
        if own >= SHARE * free:
            raise QueueFullError(own, of_client=free > 0)
        self._lines.setdefault(client, deque()).append(item)
        self._length += 1
        self._filled.set()

    async def filled(self) -> None:
        """Wait until there is an item."""
        await self._filled.wait()

    def take(self) -> Item:
        """The next item, of which there must be one. Its client's line goes behind the others."""
        client, line = next(iter(self._lines.items()))
        item = line.popleft()
        if line:
            self._lines.move_to_end(client)
        else:
            del self._lines[client]
        self._shorten()
        return item

    def remove(self, client: str, item: Item) -> bool:
        """Take an item out of the line; whether it was there."""
        line = self._lines.get(client)
        if line is None or item not in line:
            return False
        line.remove(item)
        if not line:
            del self._lines[client]
        self._shorten()
        return True

    def empty(self) -> list[Item]:
        """Take out all items."""
        items = [item for line in self._lines.values() for item in line]
        self._lines.clear()
        self._length = 0
        self._filled.clear()
        return items

    def _shorten(self) -> None:
        self._length -= 1
        if not self._length:
            self._filled.clear()
