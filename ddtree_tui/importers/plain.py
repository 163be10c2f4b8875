"""Our own plain JSON: (ids, parents, accepted) per round, and what else is known. The schema is in
``docs/importing.md``, and the structs here are that schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ddtree_tui.importers.answer import MAX_PLACES, Imported, ImportedAnswer, ImportedRound, Reason
from ddtree_tui.importers.json_answers import of_type
from ddtree_tui.importers.refusal import too_large, unfit
from engine.events import MAX_NODES, UNKNOWN_ID
from engine.settings import Message, Mode

SYSTEM = "json"


class PlainRound(msgspec.Struct, forbid_unknown_fields=True):
    """``bonus`` absent: unknown; null: the end of the text cut the path before it. ``root`` absent: the bonus
    token of the round before."""

    ids: list[int]
    parents: list[int]
    accepted: list[int]
    bonus: int | UnsetType | None = UNSET
    root: int | None = None
    logprobs: list[float] | None = None
    ranks: list[int] | None = None
    mode: Mode | None = None
    budget: int | None = None
    ms: float | None = None


class PlainAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """``first_id``: the token from the prefill; ``tokens``: how ids are spelled."""

    rounds: list[PlainRound]
    name: str = ""
    prompt: str | None = None
    messages: list[Message] | None = None
    prompt_ids: list[int] | None = None
    first_id: int | None = None
    text: str | None = None
    thinking_text: str | None = None
    tokens: dict[str, str] | None = None
    mode: Mode | None = None
    budget: int | None = None
    temperature: float | None = None
    thinking: bool | None = None
    finish: Reason | None = None
    model: str | None = None
    drafter: str | None = None
    block_size: int | None = None
    device: str | None = None


class _Several(msgspec.Struct, forbid_unknown_fields=True):
    answers: list[Any]


def read_plain(values: Sequence[Any]) -> Imported:
    """Answers in our schema: objects with ``rounds``, or all rounds of one answer.

    Raises:
        EngineError: ``import`` that names the field that does not fit.
    """
    if len(values) == 1 and isinstance(values[0], Mapping) and "answers" in values[0]:
        values = of_type(values[0], _Several, 1).answers
    if values and all(isinstance(value, Mapping) and "parents" in value for value in values):
        values = [{"rounds": values}]
    answers = [of_type(value, PlainAnswer, number) for number, value in enumerate(values, 1)]
    if not answers:
        raise unfit("holds no answers")
    first = answers[0]
    return Imported(
        system=SYSTEM,
        answers=[_answer(answer, number) for number, answer in enumerate(answers, 1)],
        target=first.model or "",
        drafter=first.drafter or "",
        block_size=first.block_size,
        device=first.device or "",
    )


def _answer(answer: PlainAnswer, number: int) -> ImportedAnswer:
    if sum(len(round_.ids) for round_ in answer.rounds) > MAX_PLACES:
        raise too_large(f"holds more than {MAX_PLACES:,} nodes")
    rounds: list[ImportedRound] = []
    for index, round_ in enumerate(answer.rounds, 1):
        before = rounds[-1].bonus_id if rounds else answer.first_id
        rounds.append(_round(round_, answer, before, f"round {index} of answer {number}"))
    output = _output(rounds)
    messages = answer.messages or ([{"role": "user", "content": answer.prompt}] if answer.prompt else [])
    modes = {round_.mode for round_ in rounds}
    return ImportedAnswer(
        name=answer.name or f"answer {number}",
        rounds=rounds,
        settings={
            "mode": next(iter(modes)) if len(modes) == 1 else None,
            "budget": answer.budget,
            "temperature": answer.temperature,
            "thinking": answer.thinking,
        },
        messages=messages,
        prompt_ids=answer.prompt_ids or [],
        output_ids=output,
        tokens=1 + sum(len(round_.committed or ()) for round_ in rounds),
        text=answer.text or "",
        thinking_text=answer.thinking_text or "",
        reason=answer.finish or "unknown",
        spelling=_spelling(answer.tokens or {}, number),
    )


def _round(round_: PlainRound, answer: PlainAnswer, before: int | None, where: str) -> ImportedRound:
    count = len(round_.ids)
    if count > MAX_NODES:
        raise too_large(f"has a tree of {count:,} nodes in {where}")
    _check_lengths(round_, count, where)
    if not all(0 <= node < count for node in round_.accepted):
        raise unfit(f"accepts a node that is not there in {where}")
    bonus = UNKNOWN_ID if isinstance(round_.bonus, UnsetType) else round_.bonus
    path = [round_.ids[node] for node in round_.accepted]
    root = round_.root if round_.root is not None else before
    return ImportedRound(
        mode=round_.mode or answer.mode or ("tree" if round_.ids else "ar"),
        root_id=UNKNOWN_ID if root is None else root,
        accepted=round_.accepted,
        bonus_id=bonus,
        ids=round_.ids,
        parents=round_.parents,
        logprobs=round_.logprobs or (),
        ranks=round_.ranks or (),
        committed=path if bonus is None else [*path, bonus],
        budget=round_.budget or answer.budget or 0,
        ms=round_.ms,
    )


def _check_lengths(round_: PlainRound, count: int, where: str) -> None:
    for name, values in (
        ("parents", round_.parents),
        ("logprobs", round_.logprobs),
        ("ranks", round_.ranks),
    ):
        if values is not None and len(values) != count:
            raise unfit(f"has {count} ids and {len(values)} {name} in {where}")


def _output(rounds: Sequence[ImportedRound]) -> list[int]:
    """The answer's ids, if all are known."""
    ids = (
        [rounds[0].root_id, *(token for round_ in rounds for token in round_.committed or ())]
        if rounds
        else []
    )
    return [] if UNKNOWN_ID in ids else ids


def _spelling(tokens: Mapping[str, str], number: int) -> dict[int, bytes]:
    if not all(key.isascii() and key.isdecimal() and len(key) <= 18 for key in tokens):
        raise unfit(f"has a key in the tokens of answer {number} that is no id")
    return {int(key): text.encode() for key, text in tokens.items()}
