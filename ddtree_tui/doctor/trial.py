"""One run with faults planted in it, against the same run without, and against what the doctor says of it.

What is the first round that a fault affects is told by the two runs alone, by no detector: from there on the
events of the sick run are not those of the healthy one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from engine.causes import CAUSES
from engine.diagnosis.ranking import Diagnosis
from engine.divergence import first_difference
from engine.events import AnyEvent, Failed, Finished, Prefilled, Round

DIGITS_OF_SUMS = 4e-4
"""Of logits and log-probabilities, which events have with four decimals."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    key: fault or faults, prompt and thinking.
    faults: what was planted.
    first, named: the cause that ranks first, and all that are no notes.
    round: the one named for the first fault; ``affected``: the first whose events differ from the healthy
        run's, of a fault of the text the one that commits its first other token; None where none does. Both
        from 0.
    touched: whether prompt, rounds or text differ from the healthy run's at all.
    effective: of ``faults`` those without which the run would be another.
    """

    key: str
    faults: list[str]
    first: str
    named: list[str]
    health: str
    verdict: str
    round: int | None
    affected: int | None
    touched: bool
    effective: list[str]
    tokens: int
    rounds: int
    failed: str = ""

    @property
    def named_first(self) -> bool:
        return self.first in self.faults

    @property
    def acted(self) -> bool:
        """Whether what was planted had anything to act on."""
        return self.touched or self.named_first

    @property
    def all_named(self) -> bool:
        return set(self.effective) <= set(self.named)

    @property
    def round_right(self) -> bool:
        """Whether the round that is named is the first one affected.

        What a round commits shows in the next one's events, so the round before the first that differs is
        right too. A cause that names no round is there from the start on.
        """
        if self.round is None:
            return self.affected in (None, 0)
        if self.affected is None:
            return not self.touched
        return self.affected - 1 <= self.round <= self.affected


def trial(
    key: str,
    faults: Sequence[str],
    diagnosis: Diagnosis,
    sick: Sequence[AnyEvent],
    healthy: Sequence[AnyEvent],
    without: Mapping[str, Sequence[AnyEvent]] | None = None,
) -> Trial:
    """What came of one run. ``without``: of several faults, the run without each."""
    named = [one for one in diagnosis.causes if one.severity != "note"]
    its = next((one for one in named if one.cause.name == faults[0]), None)
    of_text = faults[0] in CAUSES and CAUSES[faults[0]].area == "text"
    affected = first_other_token(sick, healthy) if of_text else first_affected(sick, healthy)
    failed = next((event for event in sick if isinstance(event, Failed)), None)
    rounds = [event for event in sick if isinstance(event, Round)]
    others = without or dict.fromkeys(faults, healthy)
    return Trial(
        key=key,
        faults=[*faults],
        first=named[0].cause.name if named else "",
        named=[one.cause.name for one in named],
        health=diagnosis.health,
        verdict=diagnosis.verdict,
        round=its.round if its is not None else None,
        affected=affected,
        touched=differs(sick, healthy),
        effective=[name for name in faults if differs(sick, others[name])],
        tokens=1 + sum(one.acceptance_length for one in rounds),
        rounds=len(rounds),
        failed=failed.message if failed else "",
    )


def differs(one: Sequence[AnyEvent], other: Sequence[AnyEvent]) -> bool:
    """Whether prompt, rounds or text of two runs are not the same."""
    return (
        first_affected(one, other) is not None or _prompt(one) != _prompt(other) or _text(one) != _text(other)
    )


def first_other_token(sick: Sequence[AnyEvent], healthy: Sequence[AnyEvent]) -> int | None:
    """The round that committed the first token which the healthy text has not; None if the texts are the
    same, however they were drafted."""
    ours, theirs = ([one for event in events for one in _committed(event)] for events in (sick, healthy))
    place = first_difference([token for _, token in ours], [token for _, token in theirs])
    return None if place is None else ours[min(place, len(ours) - 1)][0]


def _committed(event: AnyEvent) -> list[tuple[int, int]]:
    """Round and token of what an event adds to the text."""
    if isinstance(event, Prefilled):
        return [(0, event.first_id)]
    return [(event.index, token) for token in event.committed_ids] if isinstance(event, Round) else []


def first_affected(sick: Sequence[AnyEvent], healthy: Sequence[AnyEvent]) -> int | None:
    """The first round whose tree, choices or path are not those of the healthy run; None if none is.

    Where buffers lie in memory changes float32 sums in their last digits; what differs by more was affected.
    """
    theirs = [event for event in healthy if isinstance(event, Round)]
    for number, round_ in enumerate(event for event in sick if isinstance(event, Round)):
        if number >= len(theirs) or not _alike(round_, theirs[number]):
            return number
    ours = sum(isinstance(event, Round) for event in sick)
    return ours if ours < len(theirs) else None


def _alike(one: Round, other: Round) -> bool:
    """All but times."""
    return _tokens(one) == _tokens(other) and all(
        abs(a - b) <= DIGITS_OF_SUMS for a, b in zip(_numbers(one), _numbers(other), strict=True)
    )


def _tokens(round_: Round) -> tuple[Any, ...]:
    nodes = round_.nodes
    return (
        (round_.position, round_.root_id),
        (nodes.ids, nodes.parents, nodes.depths, nodes.ranks, round_.target.ids),
        (round_.accepted, round_.committed_ids),
    )


def _numbers(round_: Round) -> list[float]:
    return [*round_.nodes.logprobs, *round_.target.logprobs, *round_.target.gaps]


def _prompt(events: Sequence[AnyEvent]) -> object:
    return next((event.prompt_ids for event in events if isinstance(event, Prefilled)), None)


def _text(events: Sequence[AnyEvent]) -> object:
    return next(((event.output_ids, event.reason) for event in events if isinstance(event, Finished)), None)
