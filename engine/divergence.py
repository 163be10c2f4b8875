"""Where two texts of one prompt part, and whether the target itself was undecided there.

The *lead* of a token is its logit minus the largest of the others. Computing a row with another kernel, or
beside other rows, changes every lead a little. Where ``ar`` chose one token and another mode a second, the
first one's lead was ``ar_gap`` there and at most -``gap`` here: it changed by their sum or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.events import Finished, Prefilled, Round

ROOT = -1


@dataclass(frozen=True)
class Choice:
    """One token of a text as it was chosen.

    Attributes:
        round: that committed it; None for the first token, which the prefill chose.
        node: at whose row the target chose it, ``ROOT`` for the root's.
        gap: top-1 minus top-2 logit in that row; None for the first token, and where an import does not say.
    """

    id: int
    round: int | None = None
    node: int = ROOT
    gap: float | None = None


@dataclass(frozen=True)
class Divergence:
    """The first token at which a text is not that of ``ar``.

    Attributes:
        index: place in the answer, from 0.
        position: absolute, the prompt's tokens counted.
        ar_id, id: None where that text had ended.
        ar_gap, gap: top-1 minus top-2 logit in ``ar`` and here.
    """

    index: int
    position: int
    round: int | None
    node: int
    ar_id: int | None
    id: int | None
    ar_gap: float | None
    gap: float | None

    @property
    def change(self) -> float | None:
        """How much the lead of the token that ``ar`` chose has changed."""
        return None if self.ar_gap is None or self.gap is None else self.ar_gap + self.gap

    def verdict(self, noise: float) -> Literal["tie", "defect"]:
        """``tie`` when a change of leads up to ``noise`` explains it, which is never so of an end."""
        change = self.change
        ended = self.ar_id is None or self.id is None
        return "tie" if not ended and change is not None and change <= noise else "defect"


def choices(events: Iterable[object]) -> tuple[int, list[Choice]]:
    """Prompt tokens, and the choices behind an answer, of a whole run's events."""
    prompt, found = 0, []
    for event in events:
        if isinstance(event, Prefilled):
            prompt = len(event.prompt_ids)
            found.append(Choice(event.first_id))
        elif isinstance(event, Round):
            found += choices_of(event)
        elif isinstance(event, Finished):
            assert [choice.id for choice in found] == event.output_ids
    return prompt, found


def choices_of(round_: Round) -> Iterator[Choice]:
    """The tokens that a round committed, each with the row at which the target chose it."""
    for node, token_id in zip([ROOT, *round_.accepted], round_.committed_ids, strict=False):
        yield Choice(token_id, round_.index, node, gap_at(round_, node))


def gap_at(round_: Round, node: int) -> float | None:
    """Top-1 minus top-2 logit at a node's row, or the root's; None where it is unknown."""
    return round_.target.gaps[node + 1] if round_.target.gaps else None


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first token at which two texts part, also where one ends; None if they are the same."""
    shared = zip(a, b, strict=False)
    index = next((place for place, (one, other) in enumerate(shared) if one != other), min(len(a), len(b)))
    return None if index == len(a) == len(b) else index


def first_divergence(prompt: int, ar: Sequence[Choice], text: Sequence[Choice]) -> Divergence | None:
    """Where a text parts from that of ``ar``; None if they are the same."""
    index = first_difference([choice.id for choice in ar], [choice.id for choice in text])
    if index is None:
        return None
    theirs, ours = (side[index] if index < len(side) else None for side in (ar, text))
    return Divergence(
        index=index,
        position=prompt + index,
        round=ours.round if ours else None,
        node=ours.node if ours else ROOT,
        ar_id=theirs.id if theirs else None,
        id=ours.id if ours else None,
        ar_gap=theirs.gap if theirs else None,
        gap=ours.gap if ours else None,
    )
