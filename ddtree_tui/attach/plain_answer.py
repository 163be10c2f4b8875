"""The events of an answer that another server has written: its beginning, and what is known at its end.

At its end the streamed answer is the same as one that came whole, and is read as ``ddtree-tui import`` reads
those: vLLM's ``metrics.speculative_decoding`` and SGLang's ``sglext.spec_tokens_details``. Where the server
tells nothing of the one answer, its counters do (``plain_counters``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from ddtree_tui.attach.plain_counters import Meanwhile
from ddtree_tui.attach.plain_stream import Stream
from ddtree_tui.importers.answer import (
    Imported,
    ImportedAnswer,
    ImportedRound,
    Totals,
    announced,
    events_of,
)
from ddtree_tui.importers.chat import bytes_of, reason_of
from ddtree_tui.importers.sglang import read_sglang
from ddtree_tui.importers.vllm import read_vllm
from ddtree_tui.vocabulary import SeenVocabulary
from engine.errors import EngineError
from engine.events import UNKNOWN_ID, AnyEvent, Finished, Prefilled, Round, Source, Tokens
from engine.settings import DecodeSettings, Message
from engine.text_stream import TextStream


@dataclass(frozen=True)
class Asked:
    """What a server was asked, and what it is known to do.

    Attributes:
        settings: as far as ``known`` names them.
    """

    system: str
    model: str
    messages: Sequence[Message]
    settings: DecodeSettings
    known: frozenset[str]


@dataclass(frozen=True)
class Taken:
    """How long an answer took, in seconds since it was asked for.

    Attributes:
        first: until the first token was here; ``last``: until the last was.
        first_tokens: how many came first.
    """

    first: float
    last: float
    end: float
    first_tokens: int


def beginning(asked: Asked, stream: Stream, seconds: float, *, opens_thinking: bool) -> Prefilled:
    """The event that comes with the first token. Which one it is comes with the first piece."""
    return Prefilled(
        t=seconds,
        prompt_ids=list(stream.prompt_ids) or [UNKNOWN_ID] * (stream.prompt_tokens or 0),
        prompt_text="",
        messages=list(asked.messages),
        thinking=asked.settings.thinking,
        settings=asked.settings,
        stop_ids=[],
        seconds=seconds,
        first_id=UNKNOWN_ID,
        source=Source(system=asked.system, name=asked.model, settings=sorted(asked.known)),
        opens_thinking=opens_thinking,
    )


def ending(
    asked: Asked,
    stream: Stream,
    taken: Taken,
    prefilled: Prefilled,
    meanwhile: Meanwhile | None,
    *,
    cancelled: bool = False,
) -> tuple[list[AnyEvent], str]:
    """The events at the end: how control tokens are spelled, rounds, ``finished``.

    Returns:
        Them, and a sentence if the server's numbers contradict each other and were left away.
    """
    spelling = _spelling_of_text(stream, prefilled)
    ids = stream.ids if spelling is not None else []
    answer, notice = _base(asked, stream, taken), ""
    counted = meanwhile.counted if meanwhile is not None else "answer"
    try:
        read = None if cancelled else _told(stream, ids)
        if read is not None and read.totals is not None and read.totals.rounds:
            rounds = read.rounds if asked.system == "vllm" else [_shapeless(one) for one in read.rounds]
            answer, counted = replace(answer, rounds=rounds, totals=read.totals), "answer"
        elif meanwhile is not None:
            answer = replace(answer, totals=meanwhile.totals)
        elif "mode" in asked.known and asked.settings.mode == "ar" and answer.tokens:
            answer = replace(answer, totals=_one_each(answer.tokens - 1))
        events = _events(asked.system, replace(answer, output_ids=ids), counted, taken.end)
    except EngineError as error:
        why = error.message.replace("The file", "what it says", 1)  # as an import would say it
        notice = f"The server's numbers of this answer are left away: {why}"
        bare = replace(answer, rounds=(), totals=None, output_ids=ids)
        events = _events(asked.system, bare, "answer", taken.end)
    if cancelled:
        events = [_as_cancelled(event) for event in events]
    return [*([spelling] if spelling is not None and spelling.special else []), *events], notice


def _base(asked: Asked, stream: Stream, taken: Taken) -> ImportedAnswer:
    """What every answer has."""
    seconds = taken.last - taken.first
    behind = (stream.tokens or 0) - taken.first_tokens
    return ImportedAnswer(
        name=asked.model,
        messages=asked.messages,
        prompt_ids=stream.prompt_ids,
        prompt_tokens=stream.prompt_tokens,
        tokens=stream.tokens or len(stream.ids),
        text=stream.text,
        thinking_text=stream.thinking,
        reason=reason_of(stream.finish_reason),
        seconds_to_first=taken.first,
        tokens_per_second=behind / seconds if behind > 0 and seconds > 0 else 0.0,
    )


def _told(stream: Stream, ids: list[int]) -> ImportedAnswer | None:
    """What the server says of this one answer's rounds.

    Raises:
        EngineError: ``import`` for what contradicts itself.
    """
    response: dict[str, Any] = {
        "choices": [{"message": {}, "token_ids": ids or None}],
        "usage": {"prompt_tokens": stream.prompt_tokens, "completion_tokens": stream.tokens},
        "prompt_token_ids": stream.prompt_ids or None,
        "metrics": stream.metrics,
        "sglext": stream.sglext,
    }
    as_vllm, as_sglang = stream.drafting
    if not as_vllm and not as_sglang:
        return None
    read = read_vllm([response]) if as_vllm else read_sglang([response])
    return next(iter(read.answers))


def _shapeless(round_: ImportedRound) -> ImportedRound:
    """The same of a server that may draft other trees than chains: how many tokens it gave is known."""
    return replace(round_, mode="tree", ids=None, parents=(), accepted=())


def _one_each(rounds: int) -> Totals:
    """Without drafting every round gives one token, and the prefill the first."""
    return Totals(rounds=rounds, mean=1.0 if rounds else 0.0, histogram=[0, rounds] if rounds else [])


def _events(system: str, answer: ImportedAnswer, counted: Any, t: float) -> list[AnyEvent]:
    made = events_of(Imported(system=system, answers=[answer]))
    found: list[AnyEvent] = []
    for event in made:
        if isinstance(event, Round):
            found.append(msgspec.structs.replace(event, t=t))
        elif isinstance(event, Finished):
            found.append(msgspec.structs.replace(event, t=t, counted=counted))
    return found


def _as_cancelled(event: AnyEvent) -> AnyEvent:
    return msgspec.structs.replace(event, reason="cancelled") if isinstance(event, Finished) else event


def _spelling_of_text(stream: Stream, prefilled: Prefilled) -> Tokens | None:
    """How the ids are spelled, if that is the text which the server has sent, so that rounds can be shown by
    their ids; else None. A last token that is no part of the text is a control token."""
    if not stream.ids or len(stream.ids) != len(stream.entries):
        return None
    spelled = {token: bytes_of(entry) for token, entry in zip(stream.ids, stream.entries, strict=True)}
    for special in ([], stream.ids[-1:]):
        tokens = msgspec.structs.replace(announced(spelled), special=special)
        if _text_of(tokens, stream.ids, prefilled) == (stream.thinking.strip(), stream.text.strip()):
            return tokens
    return None


def _text_of(tokens: Tokens, ids: Sequence[int], prefilled: Prefilled) -> tuple[str, str]:
    vocabulary = SeenVocabulary()
    vocabulary.add(tokens)
    text = TextStream(vocabulary, stop=prefilled.settings.stop, in_thinking=prefilled.opens_thinking)
    for token_id in ids:
        if text.stopped is None:
            text.push(token_id)
    text.close()
    return text.thinking_text.strip(), text.text.strip()
