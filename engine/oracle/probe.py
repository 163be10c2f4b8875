"""What was copied from the live caches between two rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.oracle.held import Held
from engine.session import Session


@dataclass(frozen=True)
class Probe:
    """Attributes:
    length: tokens of the text in the caches.
    rounds: that committed the last of them, one for each row of keys and values; None for the prefill.
    held: what the target's cache held.
    features: (rows, layers · hidden) that wait for the drafter, of the last tokens; None where they are gone.
    """

    length: int
    rounds: Sequence[int | None]
    held: Held
    features: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return self.held.nbytes + (0 if self.features is None else self.features.nbytes)


@torch.inference_mode()
def take(session: Session, length: int, rounds: Sequence[int | None], features: bool = True) -> Probe:
    """Copy what the session holds of a text of ``length`` tokens: of the last ones keys, values and features.

    Args:
        rounds: of these last ones.
        features: whether those of all of them still wait for the drafter.
    """
    held = Held.copied(session.cache, len(rounds))
    waiting = session.waiting_features(len(rounds)) if features else None
    return Probe(length, rounds, held, waiting)
