"""What sampling may cost: a share of the time that the pair has been at work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from engine.pair import Pair

SHARE = 0.04
"""Of the run time. What is promised is a twentieth; the rest is for what is not measured."""
SMALL = 64
"""Tokens that cost as much as one: a pass is bound by its launches."""
_NEW = 0.3
"""Weight of the last measurement in a running mean."""


class Account:
    """One for all answers of a model, so that short answers save up for a comparison.

    Args:
        seconds: that loading took, which are run time too.

    Attributes:
        spent: seconds so far.
    """

    def __init__(self, seconds: float) -> None:
        self._earned = SHARE * seconds
        self.spent = 0.0
        self._pass_seconds: float | None = None
        self._token_seconds: float | None = None

    @property
    def credit(self) -> float:
        """Seconds that may be spent now; negative after an overrun."""
        return self._earned - self.spent

    def earn(self, seconds: float) -> None:
        """Count the time of an answer."""
        self._earned += SHARE * seconds

    @contextmanager
    def spending(self) -> Iterator[None]:
        """Count what is done inside as a cost."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.spent += time.perf_counter() - began

    def expect(self, pass_seconds: float, token_seconds: float) -> None:
        """What to reckon with until something is measured."""
        if self._pass_seconds is None:
            self._pass_seconds = pass_seconds
        if self._token_seconds is None:
            self._token_seconds = token_seconds

    def price(self, tokens: int) -> float:
        """Seconds that reading so many tokens will take."""
        assert self._pass_seconds is not None
        assert self._token_seconds is not None
        return self._pass_seconds + max(0, tokens - SMALL) * self._token_seconds

    def affordable(self) -> int:
        """Most tokens whose price there is credit for; 0 when there is not even for a few."""
        left = self.credit - self.price(SMALL)
        if left < 0:
            return 0
        assert self._token_seconds is not None
        return SMALL + int(left / max(self._token_seconds, 1e-9))

    def measured(self, tokens: int, seconds: float) -> None:
        """Learn from what reading so many tokens took."""
        if tokens <= SMALL:
            self._pass_seconds = _mean(self._pass_seconds, seconds)
        else:
            more = max(0.0, seconds - (self._pass_seconds or 0.0)) / (tokens - SMALL)
            self._token_seconds = _mean(self._token_seconds, more)


def _mean(before: float | None, now: float) -> float:
    return now if before is None else (1 - _NEW) * before + _NEW * now


_ACCOUNTS: WeakKeyDictionary[Any, Account] = WeakKeyDictionary()


def account_of(pair: Pair) -> Account:
    """That of the pair's target."""
    model = pair.target.model
    if model not in _ACCOUNTS:
        _ACCOUNTS[model] = Account(pair.info.seconds)
    return _ACCOUNTS[model]
