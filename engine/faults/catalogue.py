"""Which faults can be planted, what each does, and what it needs to show. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Need = Literal[
    "drafter", "branches", "hybrid", "solve", "template", "thinking", "thinking-off", "system", "device"
]
"""What a fault needs: a drafter in use (mode chain or tree), trees that branch (mode tree), a target with
recurrent layers, branches verified by a solve, a chat template, one that knows thinking, thinking off, a
system message, rounds on the device."""


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
    Fault(
        "drafter-window",
        "The drafter reads the last eight rows of its context, whatever its config says.",
        ("drafter",),
    ),
    Fault(
        "other-drafter",
        "The dimensions of what the drafter reads are exchanged, as if another target had been trained.",
        ("drafter",),
    ),
    Fault(
        "calibration",
        "The drafter's list is read from its end, with the probabilities of its beginning.",
        ("drafter",),
    ),
    Fault("speculation-off", "The drafter drafts, and no tree is built of it.", ("drafter",)),
    Fault("vocabulary", "To the tokenizer every word has the id after its own.", rounds="any"),
    Fault("quantised-target", "The target's linear layers are rounded to four bits.", ("drafter",), "any"),
    Fault(
        "no-thinking-tags",
        "The chat template is the plain one that servers fall back to.",
        ("thinking",),
        "any",
    ),
    Fault(
        "thinking-left-on",
        "The template is given the client's word for off as a string, which counts as true.",
        ("thinking", "thinking-off"),
        "any",
    ),
    Fault("two-bos", "The first token of the prompt is put in front once more.", ("template",), "any"),
    Fault("no-generation-prompt", "The assistant's turn is not begun.", ("template",), "any"),
    Fault("system-lost", "System messages are left out.", ("system",), "any"),
    Fault("prompt-border", "Tokens at the prompt's end are joined or parted.", ("template",), "any"),
    Fault("degenerate-text", "After four tokens target and drafter want the token four before."),
    Fault("not-finite", "The target's logits over a tree hold a NaN."),
)

FAULTS: dict[str, Fault] = {fault.name: fault for fault in _ALL}
