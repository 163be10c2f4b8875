"""What one answer showed, computed from its events alone."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ddtree_tui.bench.configuration import Condition, Configuration
from engine.events import Finished, MemoryUse, Prefilled, Round, StageTimes


class Measurement(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="answer"):
    """One prompt answered in one way.

    Attributes:
        prompt: ``Prompt.digest``.
        session: which start of the program measured it, from 0.
        order: place among the ways of its prompt and condition, which takes turns.
        prompt_tokens: length of the prompt.
        reason: why the answer ended.
        output_ids: the text, the first token (from the prefill) included.
        gaps: the target's top-1 minus top-2 logit where each of them was chosen; None for the first one,
            of which events do not tell it.
        lengths: acceptance length of each round; they add up to the tokens after the first.
        ms: milliseconds of all rounds together, per stage.
        ttft_s: seconds to the first token, the whole prompt prefilled.
        seconds: from the start to the end of the answer, prefill and everything between rounds included.
        peak_bytes: most memory used meanwhile; None where it was not asked for.
    """

    prompt: str
    source: str
    number: int
    condition: Condition
    way: Configuration
    seed: int
    session: int
    order: int
    prompt_tokens: int
    reason: str
    output_ids: list[int]
    gaps: list[float | None]
    lengths: list[int]
    drafted: int
    accepted: int
    ms: StageTimes
    ttft_s: float
    seconds: float
    peak_bytes: int | None = None

    @property
    def rounds(self) -> int:
        return len(self.lengths)

    @property
    def committed(self) -> int:
        """Tokens that rounds committed: all but the first."""
        return sum(self.lengths)

    def round_of(self, index: int) -> int | None:
        """The round that committed the token at ``index``; None for the first one and beyond the end."""
        left = index
        for number, length in enumerate(self.lengths):
            left -= length
            if left <= 0 < index:
                return number
        return None


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="failure"):
    """A prompt that could not be answered in one way."""

    prompt: str
    source: str
    number: int
    condition: Condition
    way: Configuration
    error: str
    message: str


Key = tuple[str, Condition, Configuration]


def key(result: Measurement | Failure) -> Key:
    """What a result is of: a work file holds one of each."""
    return result.prompt, result.condition, result.way


class Recorder:
    """Takes the events of one answer."""

    def __init__(self) -> None:
        self._prefilled: Prefilled | None = None
        self._gaps: list[float | None] = [None]
        self._lengths: list[int] = []
        self._ms = dict.fromkeys(StageTimes.__struct_fields__, 0.0)
        self._drafted = self._accepted = 0

    def prefilled(self, event: Prefilled) -> None:
        self._prefilled = event

    def round(self, event: Round) -> None:
        self._lengths.append(len(event.committed_ids))
        self._gaps += chosen_gaps(event)
        self._drafted += len(event.nodes.ids)
        self._accepted += len(event.accepted)
        for stage in self._ms:
            self._ms[stage] += getattr(event.ms, stage)

    def measurement(
        self,
        event: Finished,
        memory: MemoryUse | None,
        *,
        prompt: str,
        source: str,
        number: int,
        session: int,
        order: int,
        way: Configuration,
        condition: Condition,
    ) -> Measurement:
        """What the answer showed that ``event`` ended."""
        assert self._prefilled is not None
        return Measurement(
            prompt=prompt,
            source=source,
            number=number,
            condition=condition,
            way=way,
            seed=self._prefilled.settings.seed,
            session=session,
            order=order,
            prompt_tokens=len(self._prefilled.prompt_ids),
            reason=event.reason,
            output_ids=event.output_ids,
            gaps=self._gaps,
            lengths=self._lengths,
            drafted=self._drafted,
            accepted=self._accepted,
            ms=StageTimes(**self._ms),
            ttft_s=self._prefilled.seconds,
            seconds=event.t,
            peak_bytes=None if memory is None else memory.peak_bytes,
        )


def chosen_gaps(event: Round) -> Sequence[float]:
    """The target's gap at the row that chose each committed token: the root's, then the accepted nodes'."""
    rows = [0, *(node + 1 for node in event.accepted)]
    return [event.target.gaps[row] for row in rows[: len(event.committed_ids)]]
