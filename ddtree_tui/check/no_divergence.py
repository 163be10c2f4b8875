"""Why there is no divergence to go to: none was found, or nobody has looked."""

from __future__ import annotations

from ddtree_tui.answer import Answer
from ddtree_tui.check.text import chosen_at, headline


def no_divergence(answer: Answer | None, how: str) -> str:
    """In sentences, where no round of the conversation is known to hold one.

    Args:
        answer: the shown one; None before the first.
        how: how it can be compared, a sentence.
    """
    if answer is None:
        return "There is no round yet."
    if answer.checking is not None:
        return "No divergence so far: this answer is being compared with the target alone."
    if answer.divergences:  # none of a round
        return (
            f"The only divergence is the first token, {chosen_at(answer.divergences[0])}. No round has one."
        )
    if answer.checked is None or answer.checked.verdict == "unchecked":
        reason = answer.checked.reason if answer.checked is not None else ""
        told = ("No divergence is known: this answer was not compared with the target alone.", reason, how)
        return " ".join(part for part in told if part)
    return f"No divergence in any round. {headline(answer.checked)}"
