"""What is known of an imported answer, whatever its source, and the events it becomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import msgspec

from ddtree_tui.importers.refusal import damaged, too_large, unfit
from engine.errors import EngineError
from engine.event_check import check_event
from engine.events import (
    MAX_NODES,
    UNKNOWN_ID,
    AnyEvent,
    Finished,
    Loaded,
    ModelInfo,
    Nodes,
    Prefilled,
    Round,
    Source,
    StageTimes,
    TargetRows,
    Tokens,
)
from engine.settings import MAX_BUDGET, DecodeSettings, Message, Mode

MAX_ANSWERS = 50_000
MAX_ROUNDS = 500_000
"""Of all answers of a file."""
MAX_PLACES = 20_000_000
"""Nodes and tokens of all answers of a file."""
Reason = Literal["stop", "length", "cancelled", "unknown"]


@dataclass(frozen=True)
class ImportedRound:
    """One round. Ids may be ``UNKNOWN_ID``.

    Attributes:
        ids, parents: the tree's nodes, -1 is the root; None where only what it committed is known.
        logprobs, ranks: the drafter's, of each node; empty where unknown.
        accepted: nodes of the accepted path.
        bonus_id: None where the path was cut before it.
        committed: what the round added to the text; of the tree and the bonus token if None.
        ms: None where unknown.
    """

    mode: Mode
    root_id: int
    accepted: Sequence[int]
    bonus_id: int | None
    ids: Sequence[int] | None = None
    parents: Sequence[int] = ()
    logprobs: Sequence[float] = ()
    ranks: Sequence[int] = ()
    committed: Sequence[int] | None = None
    budget: int = 0
    ms: float | None = None


@dataclass(frozen=True)
class Totals:
    """What a source says of all rounds together; None and an empty histogram where it does not.

    Attributes:
        histogram: ``histogram[n]``: rounds that committed n tokens.
    """

    rounds: int
    mean: float
    histogram: Sequence[int] = ()
    drafted: int | None = None
    accepted: int | None = None


@dataclass(frozen=True)
class ImportedAnswer:
    """One answer; what is None or empty is unknown.

    Attributes:
        name: what it is called in its file.
        settings: those of ``DecodeSettings`` that the source says, by name.
        prompt_tokens: how many, where ``prompt_ids`` are unknown.
        tokens: of the answer, where ``output_ids`` are unknown; the first, from the prefill, included.
        totals: counted from ``rounds`` if None.
        spelling: id -> bytes.
    """

    name: str
    rounds: Sequence[ImportedRound] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    messages: Sequence[Message] = ()
    prompt_ids: Sequence[int] = ()
    prompt_tokens: int | None = None
    output_ids: Sequence[int] = ()
    tokens: int | None = None
    text: str = ""
    thinking_text: str = ""
    reason: Reason = "unknown"
    totals: Totals | None = None
    stage_ms: StageTimes = field(default_factory=StageTimes)
    seconds_to_first: float = 0.0
    tokens_per_second: float = 0.0
    spelling: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Imported:
    """All that a file holds. ``system``: as in ``engine.events.Source``; empty names are unknown."""

    system: str
    answers: Iterable[ImportedAnswer]
    target: str = ""
    drafter: str = ""
    block_size: int | None = None
    device: str = ""


def events_of(imported: Imported) -> Iterator[AnyEvent]:
    """The trace of what was imported, every event checked.

    Raises:
        EngineError: ``import`` for what contradicts itself, or is more than is read.
    """
    yield _checked(_loaded(imported), "the models")
    rounds = places = answers = 0
    for answer in imported.answers:
        answers += 1
        rounds += len(answer.rounds)
        if answers > MAX_ANSWERS:
            raise too_large(f"holds more than {MAX_ANSWERS:,} answers")
        if rounds > MAX_ROUNDS:
            raise too_large(f"holds more than {MAX_ROUNDS:,} rounds")
        for event in _answer(imported.system, answer):
            if isinstance(event, Round):
                places += len(event.nodes.ids) + event.acceptance_length
            elif isinstance(event, Prefilled):
                places += len(event.prompt_ids)
            if places > MAX_PLACES:
                raise too_large(f"holds more than {MAX_PLACES:,} tokens and nodes")
            where = f"round {event.index + 1}" if isinstance(event, Round) else "the answer"
            yield _checked(event, f"{where} of {answer.name}" if answer.name else where)
    if not answers:
        raise unfit("holds no answers")


def _checked(event: AnyEvent, where: str) -> AnyEvent:
    try:
        check_event(event)
    except EngineError as error:
        raise unfit(f"contradicts itself in {where}: {error.detail}") from error
    return event


def _loaded(imported: Imported) -> Loaded:
    def model(name: str) -> ModelInfo:
        return ModelInfo(name=name, path=name, architecture="", parameters=0, dtype="")

    return Loaded(
        target=model(imported.target),
        drafter=model(imported.drafter) if imported.drafter else None,
        device=imported.device,
        versions={},
        block_size=imported.block_size,
        mask_token_id=None,
        target_layer_ids=[],
        memory_bytes=0,
        seconds=0.0,
        context_length=0,
        vocab_size=0,
    )


def _answer(system: str, answer: ImportedAnswer) -> Iterator[AnyEvent]:
    if answer.spelling:
        yield announced(answer.spelling)
    yield _prefilled(system, answer)
    position = len(answer.prompt_ids) or answer.prompt_tokens
    t = answer.seconds_to_first
    rounds: list[Round] = []
    for index, imported in enumerate(answer.rounds):
        t += (imported.ms or 0.0) / 1000
        round_ = _round(index, imported, -1 if position is None else position, t)
        rounds.append(round_)
        yield round_
        if position is not None:
            position += round_.acceptance_length
    yield _finished(answer, rounds, t)


def announced(spelling: Mapping[int, bytes]) -> Tokens:
    """The event that tells how ids are spelled."""
    pieces = {str(token): data.decode(errors="replace") for token, data in spelling.items()}
    raw = {str(token): data.hex() for token, data in spelling.items() if pieces[str(token)].encode() != data}
    return Tokens(pieces=pieces, raw=raw)


def _prefilled(system: str, answer: ImportedAnswer) -> Prefilled:
    known = {name: value for name, value in answer.settings.items() if value is not None}
    if known.get("budget", 0) > MAX_BUDGET:  # other programs take larger ones; the rounds say which
        del known["budget"]
    count = answer.prompt_tokens or 0
    if count > MAX_PLACES:
        raise too_large(f"has a prompt of {count:,} tokens")
    if answer.output_ids:
        first = answer.output_ids[0]
    else:
        first = answer.rounds[0].root_id if answer.rounds else UNKNOWN_ID
    try:
        settings = msgspec.convert(known, DecodeSettings)
    except msgspec.ValidationError as error:
        raise damaged(f"has a setting of the wrong type: {error}") from error
    return Prefilled(
        prompt_ids=list(answer.prompt_ids) or [UNKNOWN_ID] * count,
        prompt_text="",
        messages=list(answer.messages),
        thinking=settings.thinking,
        settings=settings,
        stop_ids=[],
        seconds=answer.seconds_to_first,
        first_id=first,
        source=Source(system=system, name=answer.name, settings=sorted(known)),
    )


def _round(index: int, imported: ImportedRound, position: int, t: float) -> Round:
    tree_known = imported.ids is not None or imported.mode == "ar"
    ids = list(imported.ids or ())
    if len(ids) > MAX_NODES:
        raise too_large(f"has a tree of {len(ids):,} nodes")
    for before, node in pairwise((-1, *imported.accepted)):
        if not 0 <= node < len(ids) or imported.parents[node] != before:
            raise damaged(f"accepts nodes that are no path in round {index + 1}")
    committed = imported.committed
    if committed is None:
        path = [ids[node] for node in imported.accepted]
        committed = path if imported.bonus_id is None else [*path, imported.bonus_id]
    return Round(
        t=t,
        index=index,
        mode=imported.mode,
        position=position,
        root_id=imported.root_id,
        nodes=Nodes(
            ids=ids,
            parents=list(imported.parents),
            depths=_depths(imported.parents),
            logprobs=list(imported.logprobs),
            ranks=list(imported.ranks),
        ),
        target=TargetRows(ids=_choices(ids, imported), logprobs=[], gaps=[]),
        accepted=list(imported.accepted),
        bonus_id=imported.bonus_id,
        miss=None,
        committed_ids=list(committed),
        acceptance_length=len(committed),
        ms=StageTimes(total=imported.ms or 0.0),
        budget=imported.budget,
        tree_known=tree_known,
    )


def _depths(parents: Sequence[int]) -> list[int]:
    """The root's children are 1. A parent that does not come before its child is left to the check."""
    depths: list[int] = []
    for node, parent in enumerate(parents):
        depths.append(1 + (depths[parent] if 0 <= parent < node else 0))
    return depths


def _choices(ids: Sequence[int], imported: ImportedRound) -> list[int]:
    """The target's choices, root first: on the accepted path each was the next node, at its end the bonus
    token; what it would have chosen elsewhere no walk has asked."""
    choices = [UNKNOWN_ID] * (len(ids) + 1)
    row = 0
    for node in imported.accepted:
        choices[row] = ids[node]
        row = node + 1
    if imported.bonus_id is not None:
        choices[row] = imported.bonus_id
    return choices


def totals_of(lengths: Sequence[int], *, drafted: int | None = None, accepted: int | None = None) -> Totals:
    """The totals of rounds whose acceptance lengths are known."""
    counts = Counter(lengths)
    return Totals(
        rounds=len(lengths),
        mean=sum(lengths) / len(lengths) if lengths else 0.0,
        histogram=[counts[length] for length in range(max(lengths, default=-1) + 1)],
        drafted=drafted,
        accepted=accepted,
    )


def _finished(answer: ImportedAnswer, rounds: Sequence[Round], t: float) -> Finished:
    lengths = [round_.acceptance_length for round_ in rounds]
    totals = answer.totals or totals_of(
        lengths,
        drafted=sum(len(round_.nodes.ids) for round_ in rounds),
        accepted=sum(len(round_.accepted) for round_ in rounds),
    )
    tokens = len(answer.output_ids) or answer.tokens
    timed = bool(rounds) and all(round_.ms.total for round_ in rounds)
    total = sum(round_.ms.total for round_ in rounds) if timed else 0.0
    speed = answer.tokens_per_second or (1000 * sum(lengths) / total if total else 0.0)
    return Finished(
        t=t,
        reason=answer.reason,
        output_ids=list(answer.output_ids),
        text=answer.text,
        thinking_text=answer.thinking_text,
        rounds=totals.rounds,
        tokens=tokens if tokens is not None else 1 + sum(lengths),
        mean_acceptance_length=totals.mean,
        acceptance_histogram=list(totals.histogram),
        tokens_per_second=speed,
        ttft_s=answer.seconds_to_first,
        ms=msgspec.structs.replace(answer.stage_ms, total=total),
        drafted=totals.drafted or 0,
        accepted=totals.accepted or 0,
    )
