"""Who looks at a run from inside: detectors and the oracle.

An observer sees what the engine really uses, not what events tell of it, and answers with events. It never
changes anything: what it keeps beyond a call, it copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.events import Checked, Checking, Divergence, Finding, Prefilled, Round

if TYPE_CHECKING:
    from engine.codec import EncodedPrompt
    from engine.control import Control
    from engine.errors import EngineError
    from engine.pair import Pair
    from engine.rounds import RoundResult
    from engine.settings import DecodeSettings, Message
    from engine.static.result import StaticResult

Observation = Finding | Divergence | Checking | Checked


@dataclass(frozen=True)
class Start:
    """What an answer begins with.

    Attributes:
        pair: what decodes.
        given: the pair as it was loaded: what ``pair`` would be without the faults planted in it.
        control: tells whether the answer is cancelled, which long work behind it looks at too.
    """

    pair: Pair
    messages: list[Message]
    encoded: EncodedPrompt
    settings: DecodeSettings
    given: Pair
    control: Control


class Observer:
    """Sees one answer. Every method may return events; by default none does."""

    def started(self, start: Start) -> Iterable[Observation]:
        """Before the prefill."""
        return ()

    def prefilled(self, event: Prefilled) -> Iterable[Observation]:
        """The prompt is in the caches, the first token is chosen."""
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterable[Observation]:
        """A round is over. On the host the session's caches hold exactly the text but its last token; on the
        device (``StaticResult``) they are ahead of it and must not be touched."""
        return ()

    def ending(self, output: list[int]) -> Iterable[Observation]:
        """The last token is there, and the caches are the session's again: what is to be told before
        ``finished`` is. They may be looked at, not changed."""
        return ()

    def failed(self, error: EngineError) -> Iterable[Observation]:
        """The answer cannot go on; this is told before the error is. What the caches hold is unreliable."""
        return ()

    def finished(self, output: list[int]) -> Iterable[Observation]:
        """The answer is over, and the caches are the session's again. They may be looked at, not changed."""
        return ()
