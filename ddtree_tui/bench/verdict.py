"""Is a text the one that mode ``ar`` writes, and if not, why?"""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from ddtree_tui.bench.measurement import Measurement
from engine.divergence import first_difference

_T = TypeVar("_T")
Kind = Literal["same", "tie", "defect", "unjudged"]

TIE_GAPS = {"float64": 0.0, "float32": 0.0, "float16": 0.03, "bfloat16": 0.25}
"""Where it was not measured, how much another order of summing may change a lead (``engine.divergence``): two
steps of the dtype at logits between 16 and 32. In float32 and float64 the modes are expected to agree token
for token, so there is no tie to appeal to."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """The first token at which two texts part.

    Attributes:
        index: place in the answer, from 0.
        position: absolute, the prompt's tokens counted.
        round: the round that committed it; None for the token from the prefill.
        ar_id, id: what ``ar`` and the other way wrote there; None where that text had ended.
        ar_gap, gap: the target's top-1 minus top-2 logit as each of them saw it, where events tell.
    """

    index: int
    position: int
    round: int | None
    ar_id: int | None
    id: int | None
    ar_gap: float | None
    gap: float | None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """``same``; ``tie``: rounding explains it; ``defect``: it does not; ``unjudged``: sampled text, or the
    first token, of which events tell no gap, in a dtype that has ties."""

    kind: Kind
    difference: Difference | None = None


def judge(answer: Measurement, ar: Measurement, tie_gap: float) -> Verdict:
    """Compare an answer with ``ar``'s to the same prompt, condition and seed. ``tie_gap``: how much rounding
    changes a lead.

    Where sampling decided, the gap of the logits does not say how close the choice was: with a tie gap of 0
    any difference is a defect still, otherwise it is not judged.
    """
    difference = find_difference(answer, ar)
    if difference is None:
        return Verdict(kind="same")
    return Verdict(
        kind=_kind(difference, tie_gap, sampled=answer.condition.temperature > 0), difference=difference
    )


def _kind(difference: Difference, tie_gap: float, *, sampled: bool) -> Kind:
    if tie_gap == 0:
        return "defect"
    if difference.ar_id is None or difference.id is None:  # one has ended: no lead explains that
        return "defect"
    if sampled or difference.ar_gap is None or difference.gap is None:
        return "unjudged"
    # The token that ar chose led by ar_gap there and trails by gap here.
    return "tie" if difference.ar_gap + difference.gap <= tie_gap else "defect"


def find_difference(answer: Measurement, ar: Measurement) -> Difference | None:
    """Where the two texts part; None if they are the same."""
    ours, theirs = answer.output_ids, ar.output_ids
    index = first_difference(ours, theirs)
    if index is None:
        return None
    return Difference(
        index=index,
        position=answer.prompt_tokens + index,
        round=answer.round_of(index),
        ar_id=_at(theirs, index),
        id=_at(ours, index),
        ar_gap=_at(ar.gaps, index),
        gap=_at(answer.gaps, index),
    )


def _at(values: list[_T], index: int) -> _T | None:
    return values[index] if index < len(values) else None
