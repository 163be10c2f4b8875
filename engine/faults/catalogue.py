"""Which faults can be planted, what each does, and what it needs to show. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal["drafter", "branches", "hybrid", "solve", "template", "device"]
"""What a fault needs: a drafter in use (mode chain or tree), trees that branch (mode tree), a target with
recurrent layers, branches verified by a solve, a chat template, rounds on the device."""


@dataclass(frozen=True)
class Fault:
    """Attributes:
    name: of the cause in ``engine.causes`` that the run then shows.
    plants: what is done to the run, one sentence.
    needs: without one of these nothing would come of it, and planting is refused.
    rounds: on which it shows.
    """

    name: str
    plants: str
    needs: tuple[Need, ...] = ()
    rounds: Literal["host", "device", "any"] = "host"


_ALL: tuple[Fault, ...] = (
    Fault(
        "drafter-root-masked",
        "Slot 0 of the drafter's block holds the mask instead of the root's id.",
        ("drafter",),
    ),
    Fault("mask-id", "The id of a word stands in the drafter's block instead of the mask's.", ("drafter",)),
    Fault(
        "tap-layers",
        "The drafter reads the inputs of its layers of the target, not their outputs.",
        ("drafter",),
    ),
    Fault(
        "tap-norm",
        "The last layer that the drafter reads is tapped on the other side of the final norm.",
        ("drafter",),
    ),
    Fault("block-size", "The drafter's block has half the slots that it was trained with.", ("drafter",)),
    Fault("drafter-positions", "The drafter's block stands one position behind its place.", ("drafter",)),
    Fault(
        "drafter-rejected-rows",
        "Of every accepted row the drafter is handed the one behind it in the pass.",
        ("drafter",),
    ),
    Fault("naive-verify", "Recurrent layers run through a tree row by row.", ("hybrid", "drafter")),
    Fault("conv-siblings", "Every row convolves the rows right before it.", ("hybrid", "branches")),
    Fault("rope-by-index", "Every row of the target stands at the position of its index.", ("branches",)),
    Fault(
        "tree-order",
        "A tree's nodes are verified from the last to the first.",
        ("hybrid", "drafter", "solve"),
    ),
    Fault(
        "path-not-closed",
        "The accepted path ends in a node of another branch.",
        ("branches",),
    ),
    Fault(
        "state-during-verify",
        "Verifying a tree writes its last row's state over the committed one.",
        ("hybrid",),
    ),
    Fault(
        "wrong-leaf",
        "Recurrent layers commit the state after a node beside the accepted one.",
        ("hybrid", "drafter"),
    ),
    Fault("state-precision", "The recurrent state is kept in bfloat16.", ("hybrid",)),
    Fault("stop-in-path", "Nothing looks for stop tokens in what rounds commit.", ("drafter",)),
    Fault(
        "stale-buffers",
        "Every round verifies the tokens of the tree that was drafted a round before, the first one none.",
        ("drafter", "device"),
        "device",
    ),
    Fault("not-finite", "The target's logits over a tree hold a NaN."),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
