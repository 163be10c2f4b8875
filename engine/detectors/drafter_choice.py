"""Whether the drafter was trained for this target.

Of another target it fits in shapes and knows nothing of what it reads. Its probabilities may even be honest:
they are flat. So after an answer of which it drafted little that was accepted, it is asked about an easy text
that the target writes by itself: at tokens of which the target is sure, a drafter of this target is not lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.ddtree import empty_tree
from engine.detectors.found import found
from engine.errors import EngineError
from engine.events import Finding, Round
from engine.observer import Observation, Observer, Start
from engine.session import Session
from engine.settings import Message

if TYPE_CHECKING:
    from engine.pair import Pair
    from engine.rounds import RoundResult
    from engine.static.result import StaticResult

SUSPICIOUS = 2.5
"""Mean acceptance length below which the drafter is asked."""
ROUNDS = 2
TOKENS = 16
"""Of the easy text. Where it ends earlier, so does the question."""
DEPTHS = 3
SURE = 0.1
"""Nats of the target's own surprise below which it is sure of a token."""
LOST = 0.4
"""Of log V, which is the surprise of one who guesses: what a drafter of this target stays far below (the
demo's at 0.01, SmolLM2's at 0.18), and one that knows which words are frequent and no more does not (0.82 and
0.47 with the other's features)."""
_EASY: list[Message] = [{"role": "user", "content": "What is 47 + 85?"}]
_MODEL = re.compile(r"\d+(\.\d+)?b\b")


def check_names(pair: Pair) -> Iterator[Finding]:
    """The drafter's name says another target than the target's own name."""
    if pair.info.drafter is None:
        return
    target, drafter = pair.info.target.name, pair.info.drafter.name
    made_for = _made_for(drafter)
    if made_for is None or _MODEL.search(target.lower()) is None:
        return
    is_, wanted = _plain(target.rpartition("/")[2]), _plain(made_for)
    if not (is_.startswith(wanted) or wanted.startswith(is_)):
        yield found(
            "other-drafter",
            f"By its name the drafter {drafter} was trained for {made_for}, but the target is {target}.",
            severity="warning",
            target=target,
            drafter=drafter,
            made_for=made_for,
        )


def _made_for(drafter: str) -> str | None:
    """``z-lab/Qwen3.5-4B-DFlash`` was made for ``Qwen3.5-4B``."""
    name, _, _ = drafter.rpartition("/")[2].partition("-DFlash")
    return name if name != drafter.rpartition("/")[2] and _MODEL.search(name.lower()) else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


class DrafterChoice(Observer):
    """Asks the drafter after an answer of which it drafted little that was accepted; a pair once."""

    def __init__(self) -> None:
        self._committed = self._rounds = self._kept = 0

    def started(self, start: Start) -> Iterator[Observation]:
        self._pair = start.pair
        return iter(())

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Observation]:
        if event.nodes.ids and event.bonus_id is not None:
            self._rounds += 1
            self._committed += event.acceptance_length
            self._kept += bool(event.accepted)
        return iter(())

    def ending(self, output: list[int]) -> Iterator[Observation]:
        if self._rounds < ROUNDS or self._committed >= SUSPICIOUS * self._rounds:
            return
        if any(finding.cause == "vocabulary" for finding in self._pair.findings or ()):
            return  # in ids that mean other words no text is easy
        surprise, guessing = self._pair.drafter_surprise, log(self._pair.target.vocab_size)
        if surprise is not None and surprise > LOST * guessing:
            yield found(
                "other-drafter",
                f"{self._kept} of {self._rounds} rounds accepted a node, "
                f"{self._committed / self._rounds:.2f} tokens a round. And of an easy text the drafter does "
                f"not know the tokens the target is sure of: {surprise:.1f} nats a token, where guessing "
                f"takes {guessing:.1f}.",
                round=0,
                surprise=round(surprise, 3),
                guessing=round(guessing, 3),
                rounds=self._rounds,
                rounds_that_accepted=self._kept,
                mean_acceptance_length=round(self._committed / self._rounds, 3),
            )


@torch.inference_mode()
def surprise_at_easy_text(pair: Pair) -> float | None:
    """-log q of the tokens of an easy text that the target is sure of, on average over depths 1 to
    ``DEPTHS``, in nats; None where there is no drafter or no such token.

    The target writes the text in caches of its own, token by token, and the drafter drafts at each of them.
    Every rank of a target that several processes hold must call it.
    """
    target, drafter = pair.target, pair.drafter
    if drafter is None:
        return None
    try:
        prompt = pair.codec.encode_chat(_EASY, pair.codec.supports_thinking).ids
    except EngineError:  # a template that wants more than a question
        return None
    session, text, sure = Session(target, drafter), [*prompt], []
    logits = [*session.prefill(prompt, 0)][-1]
    drafts: list[Tensor] = []
    for _ in range(TOKENS):
        logprobs = torch.log_softmax(logits[-1].float(), dim=-1)
        token = int(logprobs.argmax())
        sure.append(float(logprobs[token]) > -SURE)
        text.append(token)
        if token in pair.codec.stop_ids:
            break
        drafts.append(torch.log_softmax(session.draft(token)[:DEPTHS].float(), dim=-1))
        logits = session.verify(token, empty_tree(device=target.device), "solve")
        session.commit([token], [0])
    known = text[len(prompt) :]
    asked = [
        float(draft[depth, known[root + 1 + depth]])
        for root, draft in enumerate(drafts)
        for depth in range(min(DEPTHS, len(known) - root - 1))
        if sure[root + 1 + depth]
    ]
    return -sum(asked) / len(asked) if asked else None
