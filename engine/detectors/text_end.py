"""Whether an answer ends at its first stop token, and every round begins where the one before ended.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.detectors.detector import AnswerEvent, Detector
from engine.detectors.found import found
from engine.events import UNKNOWN_ID, Finding, Prefilled, Round


class StopInPath(Detector):
    """Nothing follows a stop token."""

    def __init__(self) -> None:
        self._stop_ids: frozenset[int] = frozenset()

    def take(self, event: AnswerEvent) -> Iterable[Finding]:
        if isinstance(event, Prefilled):
            self._stop_ids = frozenset(event.stop_ids)
        if not isinstance(event, Round):
            return ()
        behind = [event.root_id, *event.committed_ids[:-1]]
        if self._stop_ids.isdisjoint(behind):
            return ()
        place = next(place for place, token_id in enumerate(behind) if token_id in self._stop_ids)
        stop, more = behind[place], len(event.committed_ids) - place
        behind_it = "1 more token was" if more == 1 else f"{more} more tokens were"
        where = f"at place {place} of the accepted path" if place else "as the root of the round"
        return [
            found(
                "stop-in-path",
                f"Stop token {stop} stands {where}, and {behind_it} committed behind it.",
                round=event.index,
                stop_id=stop,
                place=place,
                behind=more,
            )
        ]


class Continuity(Detector):
    """A round's root is the last token of the text, at its position."""

    def __init__(self) -> None:
        self._position: int | None = None
        self._root_id = 0

    def take(self, event: AnswerEvent) -> Iterable[Finding]:
        if isinstance(event, Prefilled):
            self._position, self._root_id = len(event.prompt_ids), event.first_id
        if not isinstance(event, Round):
            return ()
        position, root_id = self._position, self._root_id
        self._position = event.position + event.acceptance_length
        self._root_id = event.committed_ids[-1] if event.committed_ids else event.root_id
        if position is None or (event.position, event.root_id) == (position, root_id):
            return ()
        if event.position < 0 or UNKNOWN_ID in (event.root_id, root_id):  # an import that does not say
            return ()
        return [
            found(
                "stale-buffers",
                f"The round's root was token {event.root_id} at position {event.position}; the text ended "
                f"with token {root_id} at position {position}.",
                round=event.index,
                root_id=event.root_id,
                position=event.position,
                expected_id=root_id,
                expected_position=position,
            )
        ]
