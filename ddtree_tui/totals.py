"""What is told of an answer's rounds where none of them is known, only what all came to, or not even that."""

from __future__ import annotations

from ddtree_tui.answer import Answer
from ddtree_tui.plural import counted
from ddtree_tui.unknown import UNKNOWN
from engine.events import Finished

MEANINGS = {
    "answer": "and only their totals are known",
    "server": "by the server's counters, which count all it does: this answer alone meanwhile",
    "shared": "an estimate: the server's counters count other answers too",
}
"""By ``finished.counted``."""


def rounds_text(answer: Answer) -> str:
    """How many rounds it took, as far as that is known."""
    if answer.rounds or not answer.imported:
        return counted(answer.round_count, "round")
    done = answer.finished
    if done is None or (not done.rounds and done.tokens > 1):
        return f"rounds {UNKNOWN}"
    return f"{about(answer)}{counted(done.rounds, 'round')}"


def counts_text(answer: Answer) -> str:
    """How many tokens in how many rounds, as far as that is known."""
    rounds = rounds_text(answer)
    if UNKNOWN in rounds or UNKNOWN in tokens_text(answer):
        return f"{tokens_text(answer)}, {rounds}"
    if _some_without_draft(answer):
        return f"{tokens_text(answer)} in {rounds} with a draft"
    committed = answer.statistics.acceptance.tokens if answer.rounds else answer.tokens
    return in_rounds(answer.tokens, committed, rounds)


def _some_without_draft(answer: Answer) -> bool:
    """Whether the rounds that are told do not make up the answer: vLLM leaves out those without a draft."""
    done, source = answer.finished, answer.prefilled.source if answer.prefilled is not None else None
    if done is None or source is None or source.system not in ("vllm", "openai") or done.counted == "shared":
        return False
    return 1 + round(done.rounds * done.mean_acceptance_length) < done.tokens


def in_rounds(tokens: int, committed: int, rounds: str) -> str:
    """Tokens of an answer, and how many of them ``rounds`` committed: one divided by the other is the mean.
    The prefill's token is none of a round's."""
    told = counted(tokens, "token")
    return f"{told} in {rounds}" if committed in (0, tokens) else f"{told}, {committed} in {rounds}"


def finished_text(event: Finished) -> str:
    """The same of an answer of the engine, by its end alone."""
    committed = round(event.mean_acceptance_length * event.rounds)
    return in_rounds(event.tokens, committed, counted(event.rounds, "round"))


def tokens_text(answer: Answer) -> str:
    """How many tokens it has so far, as far as that is known."""
    uncounted = answer.pieces.count and not answer.pieces.tokens and not answer.finished
    return f"tokens {UNKNOWN}" if uncounted else counted(answer.tokens, "token")


def about(answer: Answer) -> str:
    """What stands in front of numbers that are an estimate."""
    return "≈" if answer.finished is not None and answer.finished.counted == "shared" else ""


def totals_text(answer: Answer) -> str:
    """Rounds of which none is known, and what the numbers of them are."""
    done = answer.finished
    if done is None and not answer.pieces.count:
        return "no round yet"
    if done is None:
        return "its rounds are told at its end, or never"
    return f"{rounds_text(answer)}, {MEANINGS[done.counted]}" if done.rounds else rounds_text(answer)
