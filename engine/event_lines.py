"""Events as JSON lines: written, and read with a clear word on what is no event. Imports no torch."""

from __future__ import annotations

from typing import get_args

import msgspec

from engine.errors import EngineError
from engine.events import SCHEMA_VERSION, AnyEvent


class _Head(msgspec.Struct):
    v: int = 0
    type: str = ""


_HEAD = msgspec.json.Decoder(_Head)
_EVENT = msgspec.json.Decoder(AnyEvent)
_ENCODER = msgspec.json.Encoder()
_KNOWN = frozenset(kind.__struct_config__.tag for kind in get_args(AnyEvent))


def encode_event(event: AnyEvent) -> bytes:
    """The event as one JSON line, without the line break."""
    return _ENCODER.encode(event)


def decode_event(line: bytes | str) -> AnyEvent | None:
    """Read one line; None for an event type this version does not know.

    Raises:
        EngineError: ``bad_trace`` for a line that is no event, ``trace_version`` for another schema.
    """
    try:
        head = _HEAD.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _no_event(str(error)) from error
    if not 0 <= head.v < 10**6:
        raise _no_event("no version has that number")
    if head.v != SCHEMA_VERSION:
        raise EngineError(
            "trace_version",
            f"This event has schema version {head.v}; this program reads version {SCHEMA_VERSION}.",
            "Open it with the version of ddtree-tui that wrote it, or record the run again.",
        )
    if head.type not in _KNOWN:
        return None
    try:
        return _EVENT.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _no_event(str(error)) from error


def _no_event(detail: str) -> EngineError:
    return EngineError(
        "bad_trace",
        "A line is not a DDTree event.",
        "Check that the file was written by ddtree-tui --trace and is complete.",
        detail,
    )
