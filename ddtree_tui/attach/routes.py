"""What a DDTree server can be asked for by those who watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.refusals import not_understood
from ddtree_tui.attach.wire import Item, Watched, read_item, read_list
from ddtree_tui.escape import escape
from engine.errors import EngineError

EVENTS = "/v1/ddtree/events"
REQUESTS = "/v1/ddtree/requests"
HEALTH = "/health"
MOST_TRACE = 512 * 2**20
"""Bytes of the events of one request."""


@contextmanager
def items(
    client: Client, request: str | None, first: int, *, silence: float, line: Line
) -> Iterator[Iterator[Item]]:
    """The stream of one request's events from number ``first`` on, or of whatever runs.

    Args:
        silence: seconds without a sign of life after which the connection counts as broken.

    Raises:
        EngineError: as ``refusals`` names them, also from the iterator.
    """
    query = "" if request is None else f"?request={quote(request, safe='')}&first={first}"
    with client.open("GET", EVENTS + query, timeout=silence, line=line) as reply:
        yield (read_item(data, client.address) for data in reply.events())


def requests(client: Client) -> list[Watched]:
    """What the server has events of, newest first.

    Raises:
        EngineError: as ``refusals`` names them.
    """
    return read_list(client.get(REQUESTS), client.address)


def fetch(client: Client, request: str, path: Path) -> None:
    """Write the events that the server has of a request into a new file, a trace.

    Raises:
        EngineError: as ``refusals`` names them; ``trace_write``.
    """
    size = 0
    with client.open("GET", f"{REQUESTS}/{quote(request, safe='')}/events") as reply:
        try:
            with path.open("xb") as file:
                for line in reply.lines():
                    size += file.write(line + b"\n")
                    if size > MOST_TRACE:
                        raise not_understood(client.address, f"more than {MOST_TRACE // 2**20} MiB of events")
        except OSError as error:
            message = f"{path} cannot be written: {error.strerror or error}."
            raise EngineError("trace_write", message, "Check that there is room.") from error


@dataclass(frozen=True)
class Ailment:
    """Why the server does not serve; ``reason`` is empty if it does. ``failed``: waiting will hardly help."""

    reason: str = ""
    failed: bool = False


def ailment(client: Client, line: Line) -> Ailment:
    """What the server says of itself.

    Raises:
        EngineError: as ``refusals`` names them.
    """
    with client.open("GET", HEALTH, also=(503,), line=line) as reply:
        found = reply.json()
    if not isinstance(found, dict) or found.get("status") == "ok":
        return Ailment()
    status = found.get("status")
    return Ailment(escape(str(found.get("reason") or status)[:200]), status == "failed")
