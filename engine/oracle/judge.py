"""Whether the target alone writes the same token, and if not, whether it was undecided there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from engine.divergence import Choice
from engine.sampling import Sampler, gumbel_noise


@dataclass(frozen=True)
class Judged:
    """One token of an answer against the target alone.

    Attributes:
        position: absolute.
        target_id: what the target alone writes there.
        gap: its top-1 minus top-2 logit.
        gap_change: how far the gap of the answer's row is from it; None where the tokens differ or the gap is
            not known.
        verdict: None for the same token.
    """

    position: int
    choice: Choice
    target_id: int
    gap: float
    gap_change: float | None
    verdict: Literal["tie", "defect"] | None


def judge(
    logits: Tensor, position: int, choices: Sequence[Choice], sampler: Sampler, noise: float
) -> list[Judged]:
    """Compare tokens with the target alone.

    Args:
        logits: the target alone's (k, V), in front of each of the tokens.
        position: absolute, of the first one.
        noise: the largest change of a token's lead that a change of kernel explains.
    """
    positions = torch.arange(position, position + len(choices), device=logits.device)
    ids = sampler.choose(logits, positions).tolist()
    best = torch.topk(logits, 2, dim=-1).values.double()
    gaps = (best[:, 0] - best[:, 1]).tolist()
    found = []
    for row, (choice, target_id, gap) in enumerate(zip(choices, ids, gaps, strict=True)):
        same = choice.id == target_id
        verdict: Literal["tie", "defect"] | None = None
        if not same:
            change = _change(logits[row], positions[row], choice, target_id, sampler, noise)
            verdict = "tie" if change <= noise else "defect"
        moved = abs(choice.gap - gap) if same and choice.gap is not None else None
        found.append(Judged(position + row, choice, target_id, gap, moved, verdict))
    return found


def _change(
    logits: Tensor, position: Tensor, choice: Choice, target_id: int, sampler: Sampler, noise: float
) -> float:
    """By how much the lead of one token over the other must have changed, in logits, at least.

    Greedy, the lead in the answer's row is known too: there it was ``choice.gap`` the other way.
    """
    if sampler.greedy:
        lead = float(logits[target_id].double() - logits[choice.id].double())
        return lead + (choice.gap or 0.0)
    noises = gumbel_noise(sampler.seed, position[None], logits.shape[-1])
    changes = []
    for filters in _filters(logits, sampler, noise):
        scores = (filters.filtered_logprobs(logits[None]) + noises)[0]
        changes.append(float(scores.max() - scores[choice.id]) * float(sampler.temperature))
    return min(changes)


def _filters(logits: Tensor, sampler: Sampler, noise: float) -> Iterator[Sampler]:
    """The sampler, and what its filters may come to where probabilities change with the logits: a token at
    the border of top-k, top-p or min-p is in or out for no other reason than the last digits."""
    yield sampler
    temperature, top_p = float(sampler.temperature), float(sampler.top_p)
    top_k, min_p = int(sampler.top_k), float(sampler.min_p)
    factor = math.exp(min(50.0, 2 * noise / temperature))  # of a probability, at most
    near = 0
    if 0 < top_k < logits.shape[-1]:
        best = torch.topk(logits.double(), top_k + 1).values
        near = int(best[-2] - best[-1] <= noise)
    for side in (1, -1):
        slack = factor - 1
        yield dataclasses.replace(
            sampler,
            top_p=1.0 if top_p == 1 else min(1.0, max(1e-9, top_p + side * slack)),
            top_k=max(1, top_k + side * near) if top_k else 0,
            min_p=min(1.0, min_p * factor**-side),
        )
