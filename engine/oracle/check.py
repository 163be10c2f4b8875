"""The oracle on demand: an answer that is over, or one recorded elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.codec import prompt_too_long
from engine.control import Control
from engine.divergence import Choice
from engine.errors import EngineError
from engine.events import Checked, Checking, Divergence, Tokens
from engine.oracle.answer import Answer
from engine.oracle.oracle import check_supported, compare_all
from engine.oracle.probe import Probe, take
from engine.pair import Pair
from engine.recording import ids_of
from engine.settings import DecodeSettings


def check(
    pair: Pair,
    prompt_ids: Sequence[int],
    choices: Sequence[Choice],
    settings: DecodeSettings,
    *,
    sequential: bool = False,
    control: Control | None = None,
) -> Iterator[Tokens | Checking | Divergence | Checked]:
    """Compare an answer with what the target alone writes; the last event is ``checked``.

    Where the session still holds that text, what its caches hold at the end is compared too.

    Args:
        choices: the answer's tokens in order, as ``engine.divergence.choices`` finds them in events.
        settings: the answer was decoded with.
        sequential: decode the text one token at a time, as slow as it is.

    Raises:
        EngineError: ``bad_setting`` for a pair that cannot be checked, ``bad_trace`` for ids that its target
            has not or that an import does not say, ``prompt_too_long``.
    """
    check_supported(pair)
    answer = Answer([*prompt_ids], [*choices], settings=settings)
    _check_text(pair, answer)
    told: set[int] = set()
    with pair.session.in_use():
        probes = _at_the_end(pair, answer)
        for event in compare_all(pair, answer, probes, control or Control(), sequential=sequential):
            if new := ids_of(event) - told:
                told |= new
                yield pair.codec.tokens_event(sorted(new))
            yield event


def _check_text(pair: Pair, answer: Answer) -> None:
    if not answer.prompt or not answer.choices:
        raise EngineError(
            "bad_trace",
            "There is no answer to check.",
            "Choose a run with a prompt and at least one token behind it.",
        )
    if min(answer.text) < 0:
        raise EngineError(
            "bad_trace",
            "The run does not say every token of its prompt and answer.",
            "Check a run that this program recorded, or import one with all its token ids.",
        )
    largest = max(answer.text)
    if largest >= pair.target.vocab_size:
        raise EngineError(
            "bad_trace",
            f"The answer has the token {largest}, and this target knows {pair.target.vocab_size} only.",
            "Load the pair that wrote the answer.",
        )
    if len(answer.text) > pair.target.context_length + 1:
        raise prompt_too_long(len(answer.text), pair.target.context_length)


def _at_the_end(pair: Pair, answer: Answer) -> list[Probe]:
    """What the live caches hold, if it is this text."""
    text = answer.text[:-1]
    if pair.session.ids != text:
        return []
    rounds = [*[None] * len(answer.prompt), *(choice.round for choice in answer.choices[1:])]
    return [take(pair.session, len(text), rounds, features=False)]
