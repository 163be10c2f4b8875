"""How an answer ended, and what to do about one that never was an answer."""

from __future__ import annotations

from ddtree_tui.answer import Answer
from ddtree_tui.escape import escape
from ddtree_tui.totals import counts_text
from ddtree_tui.unknown import speed_text

ENDINGS = {
    "stop": "ended by itself",
    "length": "cut at max-new-tokens",
    "cancelled": "stopped",
    "unknown": "why it ended is unknown",
}
UNANSWERED = {
    "stop": "It wrote no answer: turn thinking off (F9), or ask again.",
    "length": "It came to no answer: raise max new tokens (^G), or turn thinking off (F9).",
}
"""What to do about one that ended while thinking."""


def ending(answer: Answer) -> str:
    """How an answer ended, in a line; in another what to do about one that never was an answer."""
    if answer.failed:
        return f"✗ {escape(answer.failed.message)}"
    if not answer.finished:
        return ""
    done = answer.finished
    how = f"{ENDINGS[done.reason]} while thinking" if _thinking(answer) else ENDINGS[done.reason]
    told = f"{how} · {counts_text(answer)} · {speed_text(done.tokens_per_second)}"
    if answer.imported and done.ttft_s:
        told += f" · first token after {done.ttft_s:.2f} s"
    remedy = unanswered(answer)
    return f"{told}\n{remedy}" if remedy else told


def unanswered(answer: Answer) -> str:
    """What to do about an answer whose thinking never came to its end; empty for any other."""
    if answer.finished is None or not _thinking(answer):
        return ""
    return UNANSWERED.get(answer.finished.reason, "")


def _thinking(answer: Answer) -> bool:
    return answer.text is not None and answer.text.section == "thinking"
