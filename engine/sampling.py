"""Choosing tokens with randomness keyed by (seed, absolute position).

token = argmax_v( log p(v) + Gumbel(seed, position, v) ), with p the target's distribution after temperature
and filters, is a sample of p (the Gumbel-max trick). Because the noise depends on nothing but the seed,
the position and the token, the token at a position is a function of the text before it: decoding one token
at a time, along a chain or over a tree gives the same text for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class Sampler:
    """Sampling settings; ``temperature`` 0 is greedy and ignores the rest."""

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0

    def choose(self, logits: Tensor, positions: Tensor) -> Tensor:
        """The token at each row.

        Args:
            logits: floating (R, V).
            positions: int64 (R,), the absolute position of the token to be chosen.

        Returns:
            int64 (R,); the lowest id among equals.
        """
        if self.temperature == 0:
            return first_argmax(logits)
        scores = self.filtered_logprobs(logits)
        # Rows of one depth are alternatives for one position and share its noise.
        distinct, row_of = torch.unique(positions, return_inverse=True)
        noise = gumbel_noise(self.seed, distinct, logits.shape[-1])
        return first_argmax(scores + noise[row_of])

    def filtered_logprobs(self, logits: Tensor) -> Tensor:
        """Log-probabilities after temperature, top-k, top-p and min-p, in this order; float64 (R, V).

        Removed tokens are -inf; what stays is renormalised. At least the most likely token stays.
        """
        scores = torch.log_softmax(logits.double() / self.temperature, dim=-1)
        if 0 < self.top_k < scores.shape[-1]:
            smallest = torch.topk(scores, self.top_k, dim=-1).values[:, -1:]
            scores = _keep(scores, scores >= smallest)
        if self.top_p < 1:
            ordered, order = torch.sort(scores, descending=True, stable=True, dim=-1)
            probability = ordered.exp()
            # A token stays while the more likely ones together are short of top_p.
            stays = probability.cumsum(-1) - probability < self.top_p
            scores = _keep(scores, torch.zeros_like(stays).scatter(-1, order, stays))
        if self.min_p > 0:
            least = scores.max(-1, keepdim=True).values + torch.tensor(self.min_p).double().log()
            scores = _keep(scores, scores >= least)
        return scores


def first_argmax(scores: Tensor) -> Tensor:
    """Index of the largest entry of each row, the lowest among equals (torch.argmax promises none)."""
    best = scores.max(-1, keepdim=True).values
    ids = torch.arange(scores.shape[-1], device=scores.device)
    return torch.where(scores == best, ids, scores.shape[-1]).min(-1).values


def gumbel_noise(seed: int, positions: Tensor, vocab_size: int) -> Tensor:
    """Standard Gumbel noise, a pure function of (seed, position, token id).

    Args:
        seed: 0 .. 2^63 - 1.
        positions: int64 (P,).

    Returns:
        float64 (P, vocab_size), the same on every device.
    """
    tokens = torch.arange(vocab_size, device=positions.device)
    key = _mix(_mix(torch.tensor(_signed(seed + _GOLDEN), device=positions.device)) + positions)
    bits = _mix(key[:, None] + tokens * _signed(_GOLDEN))
    uniform = (_shift_right(bits, 11).double() + 0.5) * 2.0**-53
    return -torch.log(-torch.log(uniform))


def _keep(scores: Tensor, stays: Tensor) -> Tensor:
    return torch.log_softmax(scores.masked_fill(~stays, -torch.inf), dim=-1)


def _mix(z: Tensor) -> Tensor:
    """SplitMix64's finaliser (Steele, Lea and Flood, 2014): int64 in, well mixed int64 out."""
    z = (z ^ _shift_right(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shift_right(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Logical shift; torch's own is arithmetic."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    """The int64 with the same low 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >= 1 << 63 else value
