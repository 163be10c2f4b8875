"""vLLM's answers with per-request speculative metrics (``--per-request-spec-decode-metrics``).

A ``detailed`` answer says of each verification step how many tokens were drafted and how many accepted; a
``summary`` one only of all steps together. vLLM verifies one chain a step. Which tokens were drafted and
rejected it does not say; which were accepted only where the answer has ``token_ids`` (``return_token_ids``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ddtree_tui.importers.answer import MAX_PLACES, Imported, ImportedAnswer, ImportedRound, Totals
from ddtree_tui.importers.chat import (
    Choice,
    Request,
    Usage,
    reason_of,
    response_in,
    saved,
    spelling_of,
    text_of,
    thinking_of,
)
from ddtree_tui.importers.refusal import damaged, refused, too_large
from engine.events import MAX_NODES, UNKNOWN_ID

SYSTEM = "vllm"


class Speculative(msgspec.Struct):
    """``metrics.speculative_decoding``."""

    num_spec_steps: int
    num_accepted_draft_tokens: int
    num_draft_tokens: int
    mean_acceptance_length: float | None = None
    acceptance_histogram: list[int] | None = None
    num_spec_tokens: int | None = None
    per_step_accepted: list[int] | None = None
    per_step_drafted: list[int] | None = None


class Metrics(msgspec.Struct):
    """``metrics`` of an answer."""

    speculative_decoding: Speculative | None = None
    time_to_first_token_ms: float | None = None
    tokens_per_second: float | None = None


class Response(msgspec.Struct):
    """An answer of either route, as far as it matters here."""

    choices: list[Choice] = []
    usage: Usage | None = None
    metrics: Metrics | None = None
    model: str = ""
    prompt_token_ids: list[int] | None = None


def is_vllm(value: Any) -> bool:
    """Whether a JSON value is an answer of vLLM with metrics."""
    response = response_in(value)
    metrics = response.get("metrics") if isinstance(response, Mapping) else None
    return isinstance(metrics, Mapping) and "speculative_decoding" in metrics


def read_vllm(values: Sequence[Any]) -> Imported:
    """Answers of vLLM.

    Raises:
        EngineError: ``import`` for what is none, or has no speculative metrics.
    """
    pairs = [saved(value, Response, number) for number, value in enumerate(values, 1)]
    specs = [response.metrics.speculative_decoding for response, _ in pairs if response.metrics is not None]
    sizes = {spec.num_spec_tokens for spec in specs if spec is not None}
    size = next(iter(sizes)) if len(sizes) == 1 else None
    return Imported(
        system=SYSTEM,
        answers=[_answer(response, request, number) for number, (response, request) in enumerate(pairs, 1)],
        target=pairs[0][0].model if pairs else "",
        block_size=size + 1 if size is not None and 0 < size <= MAX_NODES else None,
    )


def _answer(response: Response, request: Request, number: int) -> ImportedAnswer:
    metrics = response.metrics
    if metrics is None or (spec := metrics.speculative_decoding) is None:
        raise refused(
            f"Answer {number} has no metrics.speculative_decoding.",
            "Start vLLM with --per-request-spec-decode-metrics detailed, and ask for one choice (n = 1).",
        )
    choice = response.choices[0] if response.choices else None
    usage = response.usage or Usage()
    ids = (choice.token_ids if choice is not None else None) or []
    tokens = len(ids) or usage.completion_tokens
    return ImportedAnswer(
        name=f"answer {number}",
        rounds=_rounds(spec, ids, tokens, number),
        settings={"mode": "chain", "temperature": request.temperature, "max_new_tokens": request.max_tokens},
        messages=request.conversation(),
        prompt_ids=response.prompt_token_ids or [],
        prompt_tokens=usage.prompt_tokens,
        output_ids=ids,
        tokens=tokens,
        text=text_of(choice),
        thinking_text=thinking_of(choice),
        reason=reason_of(choice.finish_reason if choice is not None else None),
        totals=_totals(spec),
        seconds_to_first=(metrics.time_to_first_token_ms or 0.0) / 1000,
        tokens_per_second=metrics.tokens_per_second or 0.0,
        spelling=spelling_of(choice) if choice is not None else {},
    )


def _totals(spec: Speculative) -> Totals:
    mean = spec.mean_acceptance_length
    if mean is None:
        mean = 1 + spec.num_accepted_draft_tokens / spec.num_spec_steps if spec.num_spec_steps else 0.0
    return Totals(
        rounds=spec.num_spec_steps,
        mean=mean if spec.num_spec_steps else 0.0,
        histogram=[0, *spec.acceptance_histogram] if spec.acceptance_histogram else [],
        drafted=spec.num_draft_tokens,
        accepted=spec.num_accepted_draft_tokens,
    )


def _rounds(spec: Speculative, ids: Sequence[int], tokens: int | None, number: int) -> list[ImportedRound]:
    accepted, drafted = spec.per_step_accepted, spec.per_step_drafted
    if accepted is None or drafted is None:
        return []
    if len(accepted) != len(drafted) or not all(
        0 <= taken <= asked <= MAX_NODES for taken, asked in zip(accepted, drafted, strict=True)
    ):
        raise damaged(f"contradicts itself in answer {number}: a step accepted more than it drafted")
    if sum(drafted) > MAX_PLACES:
        raise too_large(f"drafted more than {MAX_PLACES:,} tokens")
    if tokens is None or not in_step(accepted, tokens):
        return [_round(taken, asked, taken + 1, [], UNKNOWN_ID) for taken, asked in _steps(accepted, drafted)]
    rounds, place = [], 1  # the first token is the prefill's
    for taken, asked in _steps(accepted, drafted):
        length = min(taken + 1, tokens - place)
        rounds.append(
            _round(taken, asked, length, ids[place : place + length], ids[place - 1] if ids else UNKNOWN_ID)
        )
        place += length
    return rounds


def _steps(accepted: Sequence[int], drafted: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(accepted, drafted, strict=True)


def in_step(accepted: Sequence[int], tokens: int) -> bool:
    """Whether the steps make up the answer, so that their tokens are known: the prefill's token, then each
    step's accepted tokens and one more, the last step maybe cut by the answer's end. Steps without a draft,
    as n-gram drafters have them, are not among those recorded, and then it does not fit."""
    if not accepted:
        return tokens <= 1
    whole = 1 + sum(accepted) + len(accepted)
    return whole - (accepted[-1] + 1) < tokens <= whole


def _round(taken: int, asked: int, length: int, ids: Sequence[int], root_id: int) -> ImportedRound:
    """A chain of ``asked`` nodes that added ``length`` tokens to the text; of those drafted and not accepted
    no id is known."""
    committed = list(ids) or [UNKNOWN_ID] * length
    path = committed[: min(taken, length)]
    return ImportedRound(
        mode="chain",
        root_id=root_id,
        accepted=range(len(path)),
        bonus_id=committed[taken] if length > taken else None,
        ids=[*path, *[UNKNOWN_ID] * (asked - len(path))],
        parents=range(-1, asked - 1),
        committed=committed,
    )
