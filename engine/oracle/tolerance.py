"""How far the engine may be from the target alone where nothing is wrong: by rounding only.

In float32 and float64 the two differ in the last digits, and the bounds stand here: twenty times and more
above what was measured on the demo pair, on hybrids and others (``tests/engine/oracle``), and far below what
any branch leaves behind. Shorter dtypes are measured on the model and device at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from engine.oracle.held import What
from engine.pair import Pair

EXACT = (torch.float32, torch.float64)


@dataclass(frozen=True)
class Tolerance:
    """Attributes:
    noise: the largest change of a token's lead, in logits.
    layers: relative errors, by what is compared.
    """

    noise: float
    layers: Mapping[What, float]


IN_FLOAT32 = Tolerance(
    noise=2e-3,
    layers={"output": 1e-4, "features": 1e-4, "keys": 1e-4, "values": 1e-4, "window": 1e-4, "state": 1e-4},
)


def tolerance_of(pair: Pair) -> Tolerance:
    """What holds for a pair."""
    return IN_FLOAT32
