"""What garbles an answer or makes drafting worthless: the causes that detectors name and that can be planted.

One name per cause, the same in ``finding`` events, in ``--inject`` and in the doctor's report. Imports no
torch.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import EngineError


@dataclass(frozen=True)
class Cause:
    """Attributes:
    name: as it is typed and written.
    title: what is wrong, a clause without a full stop.
    why: why it matters, one sentence.
    todo: what to do about it, one sentence.
    area: where it lies: ``drafter``, ``verify``, ``commit``, ``vocabulary``, ``prompt``, ``model`` or
        ``text``.
    """

    name: str
    title: str
    why: str
    todo: str
    area: str


_ALL = (
    Cause(
        "drafter-root-masked",
        "slot 0 of the drafter's block is not the committed token",
        "The drafter continues the text from slot 0; with another token there it continues another text.",
        "Put the root's id into slot 0 and masks only after it.",
        "drafter",
    ),
    Cause(
        "mask-id",
        "the drafter's mask id is not the one it was trained with",
        "A mask the drafter does not know is read as a word, and every guess after it is poor.",
        "Take mask_token_id from the drafter's config.json; it must lie inside the target's embedding.",
        "drafter",
    ),
    Cause(
        "tap-layers",
        "the drafter reads other layers of the target than it was trained on",
        "Features of a neighbouring layer look alike and are not: acceptance falls and nothing fails.",
        "Take target_layer_ids from the drafter's config.json; they count layer outputs, so transformers' "
        "hidden_states[id + 1].",
        "drafter",
    ),
    Cause(
        "tap-norm",
        "a layer's output is tapped on the wrong side of the final norm",
        "The drafter was trained on one of the two; the other differs in scale and direction.",
        "Tap the last layer after the final norm, transformers' hidden_states[-1], and all others before it.",
        "drafter",
    ),
    Cause(
        "block-size",
        "the drafter is given another number of masks than it was trained with",
        "A block drafter predicts all positions together; with other lengths it predicts them worse.",
        "Use the block_size of the drafter's config.json.",
        "drafter",
    ),
    Cause(
        "drafter-positions",
        "the drafter's block does not begin where the committed text ends",
        "Rotary positions that are off shift everything the drafter attends to.",
        "Give slot 0 the position of the root, and the others the ones after it.",
        "drafter",
    ),
    Cause(
        "drafter-rejected-rows",
        "the drafter's context holds rows of rejected nodes",
        "The drafter then continues a text that was never committed.",
        "Hand the drafter the features of accepted rows only, each once.",
        "drafter",
    ),
    Cause(
        "drafter-window",
        "the text is longer than the drafter's window or than it was trained on",
        "Beyond it the drafter sees positions it never saw in training, or misses what it needs.",
        "Honour the drafter's sliding windows, or keep the context within its trained length.",
        "drafter",
    ),
    Cause(
        "other-drafter",
        "the drafter was trained for another target, or for another training of this one",
        "It agrees in shapes and in nothing else: drafts are rejected from the first token on.",
        "Use the drafter published for exactly this target.",
        "drafter",
    ),
    Cause(
        "naive-verify",
        "branches of the tree share one recurrent state",
        "A mask does not isolate branches in a recurrence: every row also sees its siblings, and what was "
        "rejected stays in the state.",
        "Verify trees with a solve over ancestors (--verify solve), or with one state per node.",
        "verify",
    ),
    Cause(
        "conv-siblings",
        "the short convolution of a node takes inputs of its siblings",
        "The window of a node must run up its own path; in row order it mixes branches.",
        "Gather the convolution's inputs by ancestor.",
        "verify",
    ),
    Cause(
        "rope-by-index",
        "nodes are rotated by their index instead of their depth",
        "Two children of a node stand at the same position; by index each later branch drifts further off.",
        "Position of a node = position of the root + depth.",
        "verify",
    ),
    Cause(
        "tree-order",
        "a node of the tree comes before its parent",
        "The mask and the recurrence are computed in row order and then see a parent that is not there yet.",
        "Sort the nodes topologically before verifying.",
        "verify",
    ),
    Cause(
        "path-not-closed",
        "the accepted path is no path of the tree",
        "Tokens of different branches are joined into a text no model wrote.",
        "Walk from the root to a child of the node reached last, never elsewhere.",
        "verify",
    ),
    Cause(
        "state-during-verify",
        "the committed state changes while the tree is verified",
        "The next round starts from a state that has seen rejected nodes.",
        "Write the recurrent state, the window and committed keys in commit only.",
        "commit",
    ),
    Cause(
        "wrong-leaf",
        "the state committed is that of another node than the accepted leaf",
        "From there on the recurrent layers remember a different text than the one shown.",
        "Commit the state after the last accepted node.",
        "commit",
    ),
    Cause(
        "state-precision",
        "the recurrent state is kept below float32",
        "Rounding it every round adds up over a long answer.",
        "Keep the recurrent state in float32, whatever the weights are in.",
        "commit",
    ),
    Cause(
        "stale-buffers",
        "a round used what an earlier round, prompt or budget left in its buffers",
        "The tree that was verified is not the tree that was drafted.",
        "Refresh the static inputs before every replay, and reset them with the prompt and the bucket.",
        "commit",
    ),
    Cause(
        "stop-in-path",
        "the text goes on behind a stop token inside the accepted path",
        "What follows a stop is not an answer any more, and the caches hold it.",
        "Cut the accepted path at the first stop token before it is committed.",
        "commit",
    ),
    Cause(
        "not-finite",
        "logits or a state are not finite numbers",
        "Every later token is chosen from nothing.",
        "Try a wider --dtype; check the checkpoint for damaged weights.",
        "model",
    ),
    Cause(
        "vocabulary",
        "the vocabularies of target, drafter and tokenizer do not match",
        "One id then means two words, or a word that cannot be written.",
        "Use the tokenizer of the target, and a drafter with the same vocabulary.",
        "vocabulary",
    ),
    Cause(
        "quantised-target",
        "the target is quantised and its drafter was trained on the unquantised one",
        "The drafter predicts the other one's text; acceptance falls where the two part.",
        "Expect lower acceptance, compare with the unquantised target, or train a drafter on this one.",
        "model",
    ),
    Cause(
        "no-thinking-tags",
        "the chat template does not know thinking",
        "Turning thinking on or off then changes nothing, and tags turn up as text.",
        "Use the chat template published with the target.",
        "prompt",
    ),
    Cause(
        "thinking-left-on",
        "thinking is on although it was turned off",
        'A client\'s string "false" counts as true in a template.',
        "Pass enable_thinking as a boolean.",
        "prompt",
    ),
    Cause(
        "two-bos",
        "the prompt begins with two beginning-of-text tokens",
        "The template writes one and the tokenizer adds another; the target never saw that in training.",
        "Tokenise the rendered template without adding special tokens.",
        "prompt",
    ),
    Cause(
        "no-generation-prompt",
        "the prompt ends before the assistant's turn begins",
        "The target then goes on with the user's message instead of answering it.",
        "Render the template with add_generation_prompt=True.",
        "prompt",
    ),
    Cause(
        "system-lost",
        "the system message is not in the prompt",
        "The target answers without its instructions, and nothing says so.",
        "Use a template that renders system messages, or put the text into the first user message.",
        "prompt",
    ),
    Cause(
        "prompt-border",
        "the end of the prompt is tokenised otherwise than in training",
        "A token that joins two at the prompt's end puts the target off: it answers something else.",
        "Tokenise the prompt and the answer apart, exactly as in training.",
        "prompt",
    ),
    Cause(
        "speculation-off",
        "speculation is asked for and not engaged",
        "Every round commits one token, at the price of drafting or of nothing.",
        "Check that the drafter is loaded and that rounds draft nodes.",
        "drafter",
    ),
    Cause(
        "calibration",
        "far fewer tokens are accepted than the drafter's own probabilities promise",
        "The drafter is sure of itself and wrong: its inputs are not what it was trained on.",
        "Look for another cause first; without one, the drafter does not suit this text.",
        "drafter",
    ),
    Cause(
        "degenerate-text",
        "the text degenerates",
        "Repetition, mixed scripts or falling entropy are what garbled output looks like.",
        "Compare with the target alone: if it degenerates too, change the sampling or the prompt.",
        "text",
    ),
)

CAUSES: dict[str, Cause] = {cause.name: cause for cause in _ALL}

NOT_CHECKED = "not-checked"
"""What the finding of a detector that failed has for its cause. It garbles nothing, so it is none of
``CAUSES``: what the detector looks for is not known."""


def check_faults(names: Sequence[str]) -> None:
    """Raise ``EngineError("bad_setting")`` for a fault that does not exist."""
    for name in names:
        if name not in CAUSES:
            close = difflib.get_close_matches(name, CAUSES, n=1)
            meant = f"Did you mean {close[0]}? " if close else ""
            raise EngineError(
                "bad_setting",
                f"There is no fault {name}.",
                f"{meant}ddtree-tui doctor --list-faults lists them.",
            )
