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
SCORES = 2**23
"""Filtered scores at a time."""


@dataclass(frozen=True)
class Sampler:
    """Sampling settings; ``temperature`` 0 is greedy and ignores the rest.

    All but ``temperature`` 0 may also be tensors of no dimension, to change without a new CUDA graph.
    """

    temperature: float | Tensor = 0.0
    top_p: float | Tensor = 1.0
    top_k: int | Tensor = 0
    min_p: float | Tensor = 0.0
    seed: int | Tensor = 0

    @property
    def greedy(self) -> bool:
        return not isinstance(self.temperature, Tensor) and self.temperature == 0

    def choose(self, logits: Tensor, positions: Tensor) -> Tensor:
        """The token at each row.

        Args:
            logits: floating (R, V).
            positions: int64 (R,), the absolute position of the token to be chosen.

        Returns:
            int64 (R,); the lowest id among equals.
        """
        if self.greedy:
            return first_argmax(logits)
        # Rows of one depth are alternatives for one position and share its noise.
        distinct, row_of = torch.unique(positions, return_inverse=True)
        return self.choose_with(logits, gumbel_noise(self.seed, distinct, logits.shape[-1]), row_of)

    def choose_with(self, logits: Tensor, noise: Tensor, row_of: Tensor) -> Tensor:
        """``choose`` with the noise given, float64 (P, V), and the noise row of each row, int64 (R,).

        Rows are taken in as many pieces as keep each piece's scores, of which there are some ten copies of
        eight bytes, below ``SCORES``.
        """
        most = max(1, SCORES // logits.shape[-1])
        pieces = zip(torch.split(logits, most), torch.split(row_of, most), strict=True)
        return torch.cat([first_argmax(self.filtered_logprobs(part) + noise[row]) for part, row in pieces])

    def filtered_logprobs(self, logits: Tensor) -> Tensor:
        """Log-probabilities after temperature, top-k, top-p and min-p, in this order; float64 (R, V).

        Removed tokens are -inf; what stays is renormalised. At least the most likely token stays; of
        equally likely ones the lower ids stay first.
        """
        scores = torch.log_softmax(logits.double() / self.temperature, dim=-1)
        if not self._filters:
            return scores
        ordered, order = torch.sort(scores, descending=True, stable=True, dim=-1)
        rank = torch.arange(scores.shape[-1], device=scores.device)
        stays = (rank < self.top_k) | torch.as_tensor(self.top_k == 0, device=scores.device)
        probability = torch.softmax(ordered.masked_fill(~stays, -torch.inf), dim=-1)
        # A token stays while the more likely ones together are short of top_p.
        stays = stays & (probability.cumsum(-1) - probability < self.top_p)
        stays = stays & (probability >= self.min_p * probability[:, :1])
        stays = torch.zeros_like(stays).scatter(-1, order, stays)
        return torch.log_softmax(scores.masked_fill(~stays, -torch.inf), dim=-1)

    @property
    def _filters(self) -> bool:
        values = (self.top_p, self.top_k, self.min_p)
        return any(isinstance(value, Tensor) for value in values) or values != (1.0, 0, 0.0)


def first_argmax(scores: Tensor) -> Tensor:
    """Index of the largest entry of each row, the lowest among equals (torch.argmax promises none)."""
    best = scores.max(-1, keepdim=True).values
    ids = torch.arange(scores.shape[-1], device=scores.device)
    return torch.where(scores == best, ids, scores.shape[-1]).min(-1).values


def gumbel_noise(seed: int | Tensor, positions: Tensor, vocab_size: int) -> Tensor:
    """Standard Gumbel noise, a pure function of (seed, position, token id).

    Args:
        seed: 0 .. 2^63 - 1, also as an int64 tensor of no dimension.
        positions: int64 (P,).

    Returns:
        float64 (P, vocab_size), the same on every device.
    """
    tokens = torch.arange(vocab_size, device=positions.device)
    start = torch.as_tensor(seed, dtype=torch.int64, device=positions.device) + _signed(_GOLDEN)
    key = _mix(_mix(start) + positions)
    bits = _mix(key[:, None] + tokens * _signed(_GOLDEN))
    uniform = (_shift_right(bits, 11).double() + 0.5) * 2.0**-53
    return -torch.log(-torch.log(uniform))


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
