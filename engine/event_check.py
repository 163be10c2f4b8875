"""Whether an event agrees with itself, as those of the engine do. Imports no torch.

The schema says which fields there are; readers also rely on how they fit together, and a file may hold
anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import EngineError
from engine.events import AnyEvent, Candidates, Lane, Nodes, Prefilled, Round, Tokens

_ID_DIGITS = 18
_ROOT = -1
_ROUNDING = 1e-3
"""How far above 0 a log-probability may be, computed in half precision."""


def check_event(event: AnyEvent) -> None:
    """Check what ``engine.events`` promises beyond the types.

    Raises:
        EngineError: ``bad_trace`` that names what contradicts what.
    """
    match event:
        case Tokens():
            _check_tokens(event)
        case Prefilled():
            _check_ids("prompt", event.prompt_ids)
            _check_ids("first token", [event.first_id])
        case Round():
            _check_round(event)
        case Lane():
            check_event(event.event)


def _check_tokens(event: Tokens) -> None:
    for key in (*event.pieces, *event.raw):
        _require(key.isascii() and key.isdecimal() and len(key) <= _ID_DIGITS, f"{key!r} is no token id")
    for key, data in event.raw.items():
        try:
            bytes.fromhex(data)
        except ValueError:
            raise _contradiction(f"the bytes of token {key} are not hexadecimal") from None
    _check_ids("special", event.special)


def _check_round(event: Round) -> None:
    nodes, count = event.nodes, len(event.nodes.ids)
    for name in Nodes.__struct_fields__:
        _require(len(getattr(nodes, name)) == count, f"{count} nodes have another number of {name}")
    for node, (parent, depth) in enumerate(zip(nodes.parents, nodes.depths, strict=True)):
        if not _ROOT <= parent < node:
            raise _contradiction(f"node {node} comes before its parent {parent}")
        if depth != 1 + (nodes.depths[parent] if parent != _ROOT else 0):
            raise _contradiction(f"node {node} is not one deeper than its parent")
    for name in ("ids", "logprobs", "gaps"):
        _require(len(getattr(event.target, name)) == count + 1, f"the target has another number of {name}")
    for depth, node in enumerate(event.accepted, start=1):
        # Whether they are a path is for engine.detectors.tree to say: faulty runs can be read too.
        _require(
            0 <= node < count and nodes.depths[node] == depth, f"node {node} is accepted at no such depth"
        )
    _require(event.acceptance_length == len(event.committed_ids), "the acceptance length is another")
    if event.miss is not None:
        _require(event.miss.depth >= 1 and event.miss.rank >= 0, "the near miss is nowhere")
        _check_ids("near miss", [event.miss.id])
        _require(_is_logprob(event.miss.logprob), "the near miss has no log-probability")
    _require(all(map(_is_logprob, (*nodes.logprobs, *event.target.logprobs))), "a log-probability is none")
    for name in ("drafter_topk", "target_topk"):
        _check_candidates(name, getattr(event, name))
    _check_ids("node", nodes.ids)
    _check_ids("target", event.target.ids)
    _check_ids("committed", event.committed_ids)
    _check_ids("root", [event.root_id])
    if event.bonus_id is not None:
        _check_ids("bonus", [event.bonus_id])


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


def _check_ids(what: str, ids: Sequence[int]) -> None:
    for token_id in (min(ids, default=0), max(ids, default=0)):  # rounds have hundreds
        _require(0 <= token_id < 10**_ID_DIGITS, f"{token_id} is no token id ({what})")


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
