"""The lanes of recorded races as answers, for those who look at one answer after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.events import AnyEvent, Lane, Prefilled, Racing


def apart(events: Iterable[AnyEvent]) -> Iterator[AnyEvent]:
    """The same events, those of each lane behind one another and without their lane."""
    lanes: dict[int, list[AnyEvent]] = {}
    for event in events:
        if isinstance(event, Lane):
            lanes.setdefault(event.lane, []).append(event.event)
            continue
        if isinstance(event, Racing | Prefilled):
            yield from _emptied(lanes)
        yield event
    yield from _emptied(lanes)


def _emptied(lanes: dict[int, list[AnyEvent]]) -> Iterator[AnyEvent]:
    for lane in sorted(lanes):
        yield from lanes.pop(lane)
