"""The events of one request as they are shown: each once and in order, none made up where some lack."""

from __future__ import annotations

from msgspec.structs import replace

from ddtree_tui.attach.wire import Item
from ddtree_tui.plural import counted
from engine.events import AnyEvent, Failed, Finished, Prefilled, Round


class Shown:
    """The request that is shown.

    Attributes:
        next: the number of the first event that was not taken yet.
        rounds: how many were taken or are known to be missing.
        known: how many there are, as far as the server has told.
        over: whether its end was taken.
    """

    def __init__(self, id: str) -> None:  # noqa: A002
        self.id = id
        self.next = 0
        self.rounds = 0
        self.known = 0
        self.over = False
        self._prefilled: Prefilled | None = None
        self._position: int | None = None

    @property
    def behind(self) -> int:
        """How many rounds the server has decoded and we have not seen yet, as far as it told."""
        return max(0, self.known - self.rounds) if not self.over else 0

    def lacks(self, item: Item) -> bool:
        """Whether events between those taken and this one are missing."""
        if item.summary is not None:
            return item.summary.last >= self.next
        return item.seq > self.next

    def expect(self, item: Item) -> None:
        """Take in how much there is, where it is not what comes next."""
        if item.summary is not None:
            self.known = max(self.known, item.summary.rounds)

    def take(self, item: Item) -> list[AnyEvent]:
        """What is new: the event, and before it a new beginning where rounds are missing; nothing if it was
        taken before."""
        if item.seq < self.next or self.over:
            return []
        self.next = item.seq + 1
        match item.event:
            case None:
                return []
            case Prefilled():
                self._prefilled = item.event
            case Round():
                return self._round(item.event)
            case Finished() | Failed():
                self.over = True
        return [item.event]

    def _round(self, event: Round) -> list[AnyEvent]:
        missing, before = event.index - self.rounds, self.rounds
        unseen = event.position - self._position if self._position is not None else None
        self.rounds = event.index + 1
        self.known = max(self.known, self.rounds)
        self._position = event.position + event.acceptance_length
        if missing <= 0 or self._prefilled is None:
            return [event]
        tokens = f", {counted(unseen, 'token')}," if unseen is not None and unseen > 0 else ""
        gap = Failed(
            error=GAP,
            message=f"Rounds {before + 1} to {event.index}{tokens} are unknown here: the server keeps them "
            "no more. What follows begins behind them.",
        )
        # The root is the last of the tokens that are missing, so the text goes on with what is its own.
        return [
            gap,
            replace(self._prefilled, first_id=event.root_id, first_logprob=None, first_topk=None),
            event,
        ]


GAP = "remote_gap"
"""The kind of the ``failed`` that stands where rounds are missing."""
