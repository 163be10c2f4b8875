"""Which faults can be planted, what each does, and what it needs to show. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal["drafter", "branches", "hybrid", "template"]
"""What a fault needs: a drafter in use (mode chain or tree), trees that branch (mode tree), a target with
recurrent layers, a chat template."""


@dataclass(frozen=True)
class Fault:
    """Attributes:
    name: of the cause in ``engine.causes`` that the run then shows.
    plants: what is done to the run, one sentence.
    needs: without one of these nothing would come of it, and planting is refused.
    """

    name: str
    plants: str
    needs: tuple[Need, ...] = ()


_ALL: tuple[Fault, ...] = (
    Fault(
        "drafter-root-masked",
        "Slot 0 of the drafter's block holds the mask instead of the root's id.",
        ("drafter",),
    ),
    Fault("mask-id", "Ids of an ordinary token stand in the drafter's block instead of masks.", ("drafter",)),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
