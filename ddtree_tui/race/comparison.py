"""Where the texts of two lanes part, and why."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ddtree_tui.bench.verdict import TIE_GAPS
from ddtree_tui.race.course import Lane, Race
from engine.divergence import ROOT, Divergence, choices, first_difference, first_divergence

Kind = Literal["alone", "same", "so far", "tie", "defect", "naive", "planted", "sampled"]
LONGEST_DIFF = 2000
"""Tokens behind the first divergence that are compared further."""

WORDS: dict[Kind, str] = {
    "alone": "another prompt",
    "same": "same text",
    "so far": "same so far",
    "tie": "differs: tie",
    "defect": "differs: DEFECT",
    "naive": "differs: naive",
    "planted": "differs: planted",
    "sampled": "differs",
}


@dataclass(frozen=True)
class Comparison:
    """A lane's text against that of another lane.

    Attributes:
        against: the lane it is compared with; None where no other has the same prompt.
        kind: ``same``; ``so far``: one of them was stopped, and they agree up to there; ``tie``: what another
            order of summing changes explains the difference; ``defect``: it does not; ``naive``: verified
            wrongly on purpose; ``planted``: decoded with a fault; ``sampled``: drawn tokens, of which logits
            do not tell how close they were; ``alone``: there is nothing to compare with.
        noise: how much a lead of logits may change by itself: ``measured`` here, or usual in this dtype.
    """

    lane: Lane
    against: Lane | None
    kind: Kind
    where: Divergence | None = None
    noise: float = 0.0
    measured: bool = False


def compare(race: Race, lane: Lane) -> Comparison | None:
    """What is to be said of a lane that is over; None of the one that the others are compared with."""
    rival = _rival(race, lane)
    if rival is lane:
        return None
    if rival is None:
        return Comparison(lane, None, "alone")
    (prompt, theirs), (_, ours) = (
        choices([side.answer.prefilled, *side.answer.rounds]) for side in (rival, lane)
    )
    where = first_divergence(prompt, theirs, ours)
    if where is None:
        return Comparison(lane, rival, "same")
    stopped = (rival if where.ar_id is None else lane) if None in (where.ar_id, where.id) else None
    if stopped is not None and not stopped.complete:
        return Comparison(lane, rival, "so far")
    measured = race.noise is not None
    noise = race.noise if race.noise is not None else TIE_GAPS.get(race.loaded.target.dtype, 0.0)
    return Comparison(lane, rival, _kind(lane, rival, where, noise), where, noise, measured)


def _rival(race: Race, lane: Lane) -> Lane | None:
    """``ar`` with the same prompt, or the first lane that has it; the lane itself where it is that."""
    if lane.answer.prefilled is None:
        return None
    ids = lane.answer.prefilled.prompt_ids
    alike = [
        other
        for other in race.lanes
        if other.answer.prefilled is not None and other.answer.prefilled.prompt_ids == ids
    ]
    if len(alike) == 1:
        return lane if lane is race.reference else None
    return next((other for other in alike if other.settings.mode == "ar"), alike[0])


def _kind(lane: Lane, rival: Lane, where: Divergence, noise: float) -> Kind:
    if lane.answer.wrong or rival.answer.wrong:
        return "planted" if lane.settings.inject or rival.settings.inject else "naive"
    if noise and lane.settings.temperature > 0:
        return "sampled"
    return where.verdict(noise)


def explanation(comparison: Comparison) -> str:
    """A few sentences on the first divergence; empty where there is none."""
    lane, rival, where = comparison.lane, comparison.against, comparison.where
    if rival is None or where is None:
        return ""
    theirs, ours = _spelled(rival, where.ar_id), _spelled(lane, where.id)
    told = (
        f"{lane.name} {ours} where {rival.name} {theirs}, at token {where.index + 1} of the answer "
        f"(position {where.position}; {_chosen_at(where)}). "
    )
    if where.ar_gap is not None and where.gap is not None:
        told += (
            f"There the target preferred its token by {where.ar_gap:.4g} in {rival.name} and by "
            f"{where.gap:.4g} in {lane.name}: between them the lead has changed by {where.change:.4g}. "
        )
    return told + _reason(comparison)


def _reason(comparison: Comparison) -> str:
    source = "as measured here" if comparison.measured else "as is usual in this dtype"
    match comparison.kind:
        case "tie":
            return (
                f"Another order of summing changes it by up to {comparison.noise:.4g}, {source}: the target "
                "was undecided, a numerical tie. Behind it the texts are different ones."
            )
        case "naive":
            return "Naive verification is wrong on such targets: the text is not the target's own."
        case "planted":
            return "A fault is planted: the text is not the target's own."
        case "sampled":
            return "The tokens were drawn: logits do not tell how close that was."
    if comparison.noise:
        most = f"{comparison.noise:.4g}, {source}"
        return f"Another order of summing changes it by no more than {most}: this is a defect."
    return "In this dtype all modes are to agree token for token: this is a defect."


def _spelled(lane: Lane, token_id: int | None) -> str:
    if token_id is None:
        return "ends"
    return f"writes {lane.answer.labels(token_id)[0]} (id {token_id})"


def _chosen_at(where: Divergence) -> str:
    if where.round is None:
        return "chosen after the prompt" if where.id is not None else "behind its end"
    row = "at the root" if where.node == ROOT else f"at node {where.node}"
    return f"chosen in round {where.round + 1}, {row}"


@dataclass(frozen=True)
class Piece:
    """Tokens that both texts have, or only the one that was there (``gone``), or only the other (``new``)."""

    kind: Literal["same", "gone", "new"]
    ids: Sequence[int]


def diff(before: Sequence[int], after: Sequence[int]) -> list[Piece]:
    """How one text becomes the other, token by token."""
    parted = first_difference(before, after)
    shared = len(before) if parted is None else parted
    pieces = [Piece("same", before[:shared])]
    old, new = before[shared:][:LONGEST_DIFF], after[shared:][:LONGEST_DIFF]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", old[a:b]))
        else:
            pieces += [Piece("gone", old[a:b]), Piece("new", new[c:d])]
    pieces += [
        Piece("gone", before[shared + LONGEST_DIFF :]),
        Piece("new", after[shared + LONGEST_DIFF :]),
    ]
    return [piece for piece in pieces if piece.ids]
