"""Rounds and events kept small. A round of 256 nodes takes 70 KB as Python objects and 9 KB packed.

Nothing is lost: what is packed comes back equal. Imports no torch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

import msgspec

from engine.events import AnyEvent, Lane, Miss, Round, Tokens

KEPT = 32
"""Unpacked rounds that are kept, so that looking at a few again and again costs nothing."""

_ENCODER = msgspec.msgpack.Encoder()
_ROUND = msgspec.msgpack.Decoder(Round)
_EVENT: msgspec.msgpack.Decoder[Round | Tokens | Lane] = msgspec.msgpack.Decoder(Round | Tokens | Lane)


class RoundSummary(NamedTuple):
    """What lists and sums over all rounds need, without unpacking any.

    Attributes:
        acceptance_length: tokens the round committed.
        drafted: nodes of its tree.
        ms: milliseconds of the whole round.
        t: seconds since the run started.
        miss: where its path ended short of the block, and on what.
        drafting: whether its mode drafts; ``ar`` does not.
    """

    acceptance_length: int
    drafted: int
    ms: float
    t: float
    miss: Miss | None
    drafting: bool = True


class PackedRounds(Sequence[Round]):
    """The rounds of an answer, in order. Like a list; iterating unpacks each (80 µs at 256 nodes).

    Other threads may iterate and slice while rounds are appended.

    Attributes:
        summaries: one per round, never packed.
    """

    def __init__(self, rounds: Iterable[Round] = ()) -> None:
        self.summaries: list[RoundSummary] = []
        self._packed: list[bytes] = []
        self._kept: OrderedDict[int, Round] = OrderedDict()
        for round_ in rounds:
            self.append(round_)

    def append(self, round_: Round) -> None:
        """Add the next round."""
        self.summaries.append(
            RoundSummary(
                round_.acceptance_length,
                len(round_.nodes.ids),
                round_.ms.total,
                round_.t,
                round_.miss,
                round_.mode != "ar",
            )
        )
        self._packed.append(_ENCODER.encode(round_))
        self._keep(len(self._packed) - 1, round_)

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> list[Round]: ...
    def __getitem__(self, index: int | slice) -> Round | list[Round]:
        if isinstance(index, slice):
            return [_ROUND.decode(packed) for packed in self._packed[index]]
        number = range(len(self))[index]
        round_ = self._kept.get(number)
        if round_ is None:
            round_ = _ROUND.decode(self._packed[number])
        self._keep(number, round_)
        return round_

    def __iter__(self) -> Iterator[Round]:
        return (_ROUND.decode(packed) for packed in self._packed)

    def _keep(self, number: int, round_: Round) -> None:
        self._kept[number] = round_
        self._kept.move_to_end(number)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)


class PackedEvents(Sequence[AnyEvent]):
    """The events of a run, in order, those that are large or many packed.

    Attributes:
        kinds: the type of each event.
        times: ``t`` of each event, in seconds.
        rounds: which of them are rounds, those of lanes too; ascending.
    """

    def __init__(self, events: Iterable[AnyEvent] = ()) -> None:
        self.kinds: list[type[AnyEvent]] = []
        self.times: list[float] = []
        self.rounds: list[int] = []
        self._events: list[AnyEvent | bytes] = []
        for event in events:
            self.append(event)

    def append(self, event: AnyEvent) -> None:
        """Add the next event."""
        if isinstance(event, Round) or (isinstance(event, Lane) and isinstance(event.event, Round)):
            self.rounds.append(len(self.kinds))
        self.kinds.append(type(event))
        self.times.append(event.t)
        self._events.append(_ENCODER.encode(event) if isinstance(event, Round | Tokens | Lane) else event)

    def hand_over(self, first: int, end: int) -> list[AnyEvent]:
        """The events from ``first`` up to ``end``, kept no longer then, but for their kinds and times."""
        events = self[first:end]
        self._events[first:end] = [b""] * len(events)
        return events

    def __len__(self) -> int:
        return len(self._events)

    @overload
    def __getitem__(self, index: int) -> AnyEvent: ...
    @overload
    def __getitem__(self, index: slice) -> list[AnyEvent]: ...
    def __getitem__(self, index: int | slice) -> AnyEvent | list[AnyEvent]:
        if isinstance(index, slice):
            return [_unpacked(event) for event in self._events[index]]
        return _unpacked(self._events[index])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(ours == theirs for ours, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]


def _unpacked(event: AnyEvent | bytes) -> AnyEvent:
    if not isinstance(event, bytes):
        return event
    if not event:
        raise LookupError("the event has been handed over")
    return _EVENT.decode(event)
