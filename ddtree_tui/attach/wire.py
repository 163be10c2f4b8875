"""What the server's watch routes send, read and checked: nothing of it is taken on trust."""

from __future__ import annotations

from typing import Any

import msgspec

from ddtree_tui.attach.address import Address
from ddtree_tui.attach.refusals import not_understood
from engine.errors import EngineError
from engine.event_check import check_event
from engine.event_lines import decode_event
from engine.events import AnyEvent

MOST_ID = 200
"""Characters of a request's id."""


class Summary(msgspec.Struct, frozen=True):
    """Of events ``first`` to ``last``, for which the viewer was too slow. ``rounds`` and ``tokens``: of the
    request so far."""

    first: int
    last: int
    rounds: int
    tokens: int


class Item(msgspec.Struct, frozen=True):
    """One event of a request, of none (``request`` is None), or a summary of several.

    Attributes:
        seq: the event's number in its request, from 0; of a summary the last one's.
        event: None of a kind that this version does not know, and of a summary.
    """

    request: str | None
    seq: int
    event: AnyEvent | None = None
    summary: Summary | None = None


class _Frame(msgspec.Struct):
    request: str | None
    seq: int
    event: msgspec.Raw = msgspec.Raw()
    summary: Summary | None = None


class Watched(msgspec.Struct, frozen=True):
    """A request as ``/v1/ddtree/requests`` lists it. ``settings``: as they are told."""

    id: str
    kind: str
    created: int
    state: str
    prompt_tokens: int
    output_tokens: int
    rounds: int
    events: int
    events_kept: int
    settings: dict[str, Any] = {}

    @property
    def running(self) -> bool:
        """Whether it is being answered."""
        return self.state == "running"


class _Listing(msgspec.Struct):
    data: list[Watched]


_FRAME = msgspec.json.Decoder(_Frame)


def read_item(data: bytes, address: Address) -> Item:
    """One item of the stream.

    Raises:
        EngineError: ``remote_answer``; ``trace_version`` for events of another schema.
    """
    try:
        frame = _FRAME.decode(data)
        if frame.seq < 0 or len(frame.request or "") > MOST_ID:
            raise ValueError("a number or a name out of range")
        event = decode_event(bytes(frame.event)) if len(frame.event) else None
        if event is not None:
            check_event(event)
    except EngineError as error:
        if error.kind == "trace_version":
            raise
        raise _no_item(address, error.detail) from error
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise _no_item(address, str(error)) from error
    return Item(frame.request, frame.seq, event, frame.summary)


def read_list(found: Any, address: Address) -> list[Watched]:
    """The requests of a listing.

    Raises:
        EngineError: ``remote_answer``.
    """
    try:
        return msgspec.convert(found, _Listing).data
    except (msgspec.MsgspecError, RecursionError) as error:
        raise not_understood(address, "a list of requests that cannot be read", str(error)) from error


def _no_item(address: Address, detail: str) -> EngineError:
    return not_understood(address, "something that is no event", detail)
