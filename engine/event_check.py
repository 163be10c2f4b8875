"""Whether an event agrees with itself, as those of the engine do. Imports no torch.

The schema says which fields there are; readers also rely on how they fit together, and a file may hold
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from engine.errors import EngineError
from engine.events import (
    MAX_NODES,
    UNKNOWN_ID,
    AnyEvent,
    Candidates,
    Checked,
    Checking,
    Divergence,
    Finding,
    Finished,
    Floor,
    Lane,
    Loaded,
    Loading,
    MemoryUse,
    Noise,
    Piece,
    Prefilled,
    Racing,
    Round,
    StageTimes,
    Tokens,
)
from engine.settings import MAX_LANES, DecodeSettings

_ID_DIGITS = 18
_MOST = 10**_ID_DIGITS
_ROOT = -1
_ROUNDING = 1e-3
"""How far above 0 a log-probability may be, computed in half precision."""


def check_event(event: AnyEvent) -> None:
    """Check what ``engine.events`` promises beyond the types.

    Raises:
        EngineError: ``bad_trace`` that names what contradicts what.
    """
    _require(abs(event.t) < _MOST, "its time is none")
    match event:
        case Tokens():
            _check_tokens(event)
        case Prefilled():
            _check_ids("prompt", event.prompt_ids, unknown=True)
            _check_ids("first token", [event.first_id], unknown=True)
            _require(
                abs(event.cached) < _MOST and abs(event.seconds) < _MOST,
                "the prompt has a number that is none",
            )
            _require(
                event.first_logprob is None or _is_logprob(event.first_logprob), "a log-probability is none"
            )
            _check_candidates("first_topk", event.first_topk)
            _check_settings(event.settings)
        case Piece():
            _check_ids("token", [event.id], unknown=True)
            _require(0 <= (event.tokens or 0) < _MOST, "its number of tokens is none")
        case Round():
            _check_round(event)
        case Finished():
            _check_finished(event)
        case Racing():
            _check_race(event)
        case Lane():
            _require(0 <= event.lane < MAX_LANES, f"no race has a lane {event.lane}")
            check_event(event.event)
        case Finding():
            _check_numbers(event.round)
        case Loading() | Loaded() | Floor() | Noise() | Divergence() | MemoryUse() | Checking() | Checked():
            _check_numbers(event)


def _check_tokens(event: Tokens) -> None:
    for key in (*event.pieces, *event.raw):
        _require(key.isascii() and key.isdecimal() and len(key) <= _ID_DIGITS, f"{key!r} is no token id")
    for key, data in event.raw.items():
        try:
            bytes.fromhex(data)
        except ValueError:
            raise _contradiction(f"the bytes of token {key} are not hexadecimal") from None
    _check_ids("special", event.special)


def _check_race(event: Racing) -> None:
    _require(1 <= len(event.lanes) <= MAX_LANES, f"a race cannot have {len(event.lanes)} lanes")
    for settings in event.lanes:
        _check_settings(settings)


def _check_settings(settings: DecodeSettings) -> None:
    try:
        settings.check()
    except EngineError as error:
        raise _contradiction(error.message) from error


def _check_numbers(value: Any) -> None:
    """Whether all numbers in a struct are of a size that can be reckoned with."""
    match value:
        case msgspec.Struct():
            for name in value.__struct_fields__:
                _check_numbers(getattr(value, name))
        case list():
            for item in value:
                _check_numbers(item)
        case dict():
            for item in value.values():
                _check_numbers(item)
        case int() | float():
            _require(abs(value) < _MOST, "it has a number beyond any")


def _check_round(event: Round) -> None:
    nodes, count = event.nodes, len(event.nodes.ids)
    _require(count <= MAX_NODES, f"a tree of {count} nodes is larger than any")
    _require(
        len(nodes.parents) == len(nodes.depths) == count, f"{count} nodes have others' parents or depths"
    )
    for name in ("logprobs", "ranks"):  # empty where they are unknown
        _require(len(getattr(nodes, name)) in (0, count), f"{count} nodes have another number of {name}")
    for node, (parent, depth) in enumerate(zip(nodes.parents, nodes.depths, strict=True)):
        if not _ROOT <= parent < node:
            raise _contradiction(f"node {node} comes before its parent {parent}")
        if depth != 1 + (nodes.depths[parent] if parent != _ROOT else 0):
            raise _contradiction(f"node {node} is not one deeper than its parent")
    _require(all(0 <= rank < _MOST for rank in nodes.ranks), "a node's rank is none")
    _require(len(event.target.ids) == count + 1, "the target has another number of ids")
    for name in ("logprobs", "gaps"):
        _require(
            len(getattr(event.target, name)) in (0, count + 1), f"the target has another number of {name}"
        )
    for depth, node in enumerate(event.accepted, start=1):
        # Whether they are a path is for engine.detectors.tree to say: faulty runs can be read too.
        _require(
            0 <= node < count and nodes.depths[node] == depth, f"node {node} is accepted at no such depth"
        )
    _require(event.acceptance_length == len(event.committed_ids), "the acceptance length is another")
    _require(0 <= event.index < _MOST and -1 <= event.position < _MOST, "the round is nowhere")
    _require(0 <= event.budget < _MOST, "the budget is none")
    _check_times(event.ms)
    if event.miss is not None:
        _require(
            1 <= event.miss.depth <= MAX_NODES and 0 <= event.miss.rank < _MOST, "the near miss is nowhere"
        )
        _check_ids("near miss", [event.miss.id])
        _require(_is_logprob(event.miss.logprob), "the near miss has no log-probability")
    _require(all(map(_is_logprob, (*nodes.logprobs, *event.target.logprobs))), "a log-probability is none")
    for name in ("drafter_topk", "target_topk"):
        _check_candidates(name, getattr(event, name))
    _check_ids("node", nodes.ids, unknown=True)
    _check_ids("target", event.target.ids, unknown=True)
    _check_ids("committed", event.committed_ids, unknown=True)
    _check_ids("root", [event.root_id], unknown=True)
    if event.bonus_id is not None:
        _check_ids("bonus", [event.bonus_id], unknown=True)


def _check_finished(event: Finished) -> None:
    _check_ids("output", event.output_ids, unknown=True)
    counts = (event.rounds, event.tokens, event.drafted, event.accepted, *event.acceptance_histogram)
    _require(min(counts) >= 0 and max(counts) < _MOST, "the answer's end has a count that is none")
    _require(len(event.acceptance_histogram) <= MAX_NODES + 2, "the histogram is longer than any round")
    numbers = (event.mean_acceptance_length, event.tokens_per_second, event.ttft_s)
    _require(all(0 <= number < _MOST for number in numbers), "the answer's end has a number that is none")
    _check_times(event.ms)


def _check_times(ms: StageTimes) -> None:
    times = (ms.draft, ms.build, ms.verify, ms.walk, ms.commit, ms.total)
    _require(min(times) >= 0 and max(times) < _MOST, "a time is none")


def _check_candidates(name: str, candidates: Candidates | None) -> None:
    if candidates is not None:
        lengths = [[len(row) for row in rows] for rows in (candidates.ids, candidates.logprobs)]
        _require(lengths[0] == lengths[1], f"{name} has ids without log-probabilities")
        for row in candidates.ids:
            _check_ids(name, row)
        for values in candidates.logprobs:
            _require(all(map(_is_logprob, values)), f"{name} has a log-probability that is none")


def _is_logprob(value: float) -> bool:
    return value <= _ROUNDING


def _check_ids(what: str, ids: Sequence[int], *, unknown: bool = False) -> None:
    """``unknown``: whether they may be ``UNKNOWN_ID``."""
    least = UNKNOWN_ID if unknown else 0
    for token_id in (min(ids, default=0), max(ids, default=0)):  # rounds have hundreds
        _require(least <= token_id < _MOST, f"{token_id} is no token id ({what})")


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _contradiction(otherwise)


def _contradiction(what: str) -> EngineError:
    return EngineError(
        "bad_trace",
        "An event contradicts itself.",
        "Check that the file was written by ddtree-tui --trace and was not changed.",
        what,
    )
