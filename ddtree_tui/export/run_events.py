"""A run as the events it came from, whether the engine told it or a recording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ddtree_tui.answer import Answer
from ddtree_tui.vocabulary import SeenVocabulary
from engine.event_lines import encode_event
from engine.events import AnyEvent, Tokens
from engine.recording import ids_of


def run_events(answer: Answer) -> Iterator[AnyEvent]:
    """``loaded``, the spelling of the ids used, ``prefilled``, the rounds, the end: a whole trace."""
    if answer.loaded is not None:
        yield answer.loaded
    ids: set[int] = set()
    few = (answer.prefilled, answer.finished, answer.checked, *answer.divergences)
    for event in chain(few, answer.rounds):
        if event is not None:
            ids |= ids_of(event)
    yield spelled(answer.vocabulary, ids)
    if answer.prefilled is not None:
        yield answer.prefilled
    yield from answer.findings
    yield from answer.rounds
    yield from answer.divergences
    end = answer.finished or answer.failed
    if end is not None:
        yield end
    if answer.checked is not None:
        yield answer.checked


def spelled(vocabulary: SeenVocabulary, ids: Iterable[int]) -> Tokens:
    """The announcement of some ids."""
    pieces, raw, special = {}, {}, []
    for token_id in sorted(ids):
        data = vocabulary.token_bytes(token_id)
        if not data:
            continue
        pieces[str(token_id)] = vocabulary.piece(token_id)
        if pieces[str(token_id)].encode() != data:
            raw[str(token_id)] = data.hex()
        if token_id in vocabulary.special_ids:
            special.append(token_id)
    return Tokens(pieces=pieces, raw=raw, special=special)


def jsonl(events: Iterable[AnyEvent]) -> Iterator[bytes]:
    """The lines of a trace."""
    for event in events:
        yield encode_event(event) + b"\n"
