"""Rank 0's reins, felt by all ranks."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from engine.control import Control
from engine.ranks import CANCELLED, ROUND, Ranks
from engine.settings import DecodeSettings


class SharedControl(Control):
    """What the decode loop asks a control, answered by rank 0's: every question must be asked in all ranks.

    Args:
        own: this rank's; only rank 0's is looked at.
    """

    def __init__(self, own: Control, ranks: Ranks) -> None:
        super().__init__()
        self._own, self._ranks = own, ranks

    def restrict(self, modes: Collection[str]) -> None:
        self._own.restrict(modes)

    @property
    def cancelled(self) -> bool:
        answer = b"yes" if self._ranks.leads and self._own.cancelled else b""
        return bool(self._ranks.share(CANCELLED, answer))

    def before_round(self, settings: DecodeSettings) -> DecodeSettings | None:
        answer = b""
        if self._ranks.leads:
            own = self._own.before_round(settings)
            answer = b"" if own is None else msgspec.json.encode(own)
        answer = self._ranks.share(ROUND, answer)
        return msgspec.json.decode(answer, type=DecodeSettings) if answer else None
