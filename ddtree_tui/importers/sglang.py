"""SGLang's answers with speculative fields: ``meta_info`` of its own route, and on OpenAI's
``sglext.spec_tokens_details`` (``return_spec_tokens_details``) or a choice's ``meta_info``.

They count over the whole answer: which round accepted how many is not told, so there are no rounds, only
their totals. Older versions have other names for the same fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ddtree_tui.importers.answer import Imported, ImportedAnswer, Totals
from ddtree_tui.importers.chat import (
    Choice,
    Request,
    Usage,
    reason_of,
    response_in,
    saved,
    text_of,
    thinking_of,
)
from ddtree_tui.importers.json_answers import of_type
from ddtree_tui.importers.refusal import refused

SYSTEM = "sglang"


class MetaInfo(msgspec.Struct):
    """The fields of ``meta_info`` and ``spec_tokens_details`` that matter, in their newer and older names."""

    spec_verify_ct: int | None = None
    spec_accept_length: float | None = None
    spec_num_correct_drafts: int | None = None
    spec_accepted_drafts: int | None = None
    spec_accept_token_num: int | None = None
    spec_num_proposed_drafts: int | None = None
    spec_proposed_drafts: int | None = None
    spec_draft_token_num: int | None = None
    spec_correct_drafts_histogram: list[int] | None = None
    spec_accept_histogram: list[int] | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    decode_throughput: float | None = None
    finish_reason: Any = None
    output_token_ids: list[int] | None = None

    @property
    def accepted(self) -> int | None:
        """Drafted tokens that were accepted."""
        return _first(self.spec_num_correct_drafts, self.spec_accepted_drafts, self.spec_accept_token_num)

    @property
    def drafted(self) -> int | None:
        """Drafted tokens."""
        return _first(self.spec_num_proposed_drafts, self.spec_proposed_drafts, self.spec_draft_token_num)


class Extension(msgspec.Struct):
    """``sglext`` of an answer."""

    spec_tokens_details: dict[str, Any] | None = None


class Response(msgspec.Struct):
    """An answer of any route, as far as it matters here."""

    meta_info: dict[str, Any] | None = None
    sglext: Extension | None = None
    choices: list[Choice] = []
    usage: Usage | None = None
    text: str | None = None
    output_ids: list[int] | None = None
    model: str = ""


def is_sglang(value: Any) -> bool:
    """Whether a JSON value is an answer of SGLang."""
    response = response_in(value)
    if not isinstance(response, Mapping):
        return False
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return (
        "meta_info" in response
        or "sglext" in response
        or (isinstance(first, Mapping) and bool(first.get("meta_info")))
    )


def read_sglang(values: Sequence[Any]) -> Imported:
    """Answers of SGLang.

    Raises:
        EngineError: ``import`` for what is none, or has no speculative fields.
    """
    answers, model = [], ""
    for number, value in enumerate(values, 1):
        response, request = saved(value, Response, number)
        answers.append(_answer(response, request, number))
        model = model or response.model
    return Imported(system=SYSTEM, answers=answers, target=model)


def _answer(response: Response, request: Request, number: int) -> ImportedAnswer:
    choice = response.choices[0] if response.choices else None
    fields: dict[str, Any] = {}
    for part in (
        response.meta_info,
        choice.meta_info if choice is not None else None,
        response.sglext.spec_tokens_details if response.sglext is not None else None,
    ):
        fields |= part or {}
    meta = of_type(fields, MetaInfo, number)
    if meta.spec_verify_ct is None and meta.spec_accept_length is None:
        raise refused(
            f"Answer {number} has no speculative fields.",
            "Start SGLang with speculative decoding; on the OpenAI route ask for return_spec_tokens_details.",
        )
    usage = response.usage or Usage()
    ids = response.output_ids or meta.output_token_ids or []
    tokens = _first(len(ids) or None, meta.completion_tokens, usage.completion_tokens)
    word = choice.finish_reason if choice is not None else _finish(meta.finish_reason)
    return ImportedAnswer(
        name=f"answer {number}",
        settings={"temperature": request.temperature, "max_new_tokens": request.max_tokens},
        messages=request.conversation(),
        prompt_tokens=_first(meta.prompt_tokens, usage.prompt_tokens),
        output_ids=ids,
        tokens=tokens,
        text=text_of(choice) or response.text or "",
        thinking_text=thinking_of(choice),
        reason=reason_of(word),
        totals=_totals(meta, tokens),
        tokens_per_second=meta.decode_throughput or 0.0,
    )


def _totals(meta: MetaInfo, tokens: int | None) -> Totals:
    rounds = meta.spec_verify_ct or 0
    mean = meta.spec_accept_length
    if mean is None:
        mean = (tokens or 0) / rounds if rounds else 0.0
    histogram = meta.spec_correct_drafts_histogram or meta.spec_accept_histogram
    return Totals(
        rounds=rounds,
        mean=mean,
        histogram=[0, *histogram] if histogram else [],  # of n drafts accepted came n + 1 tokens
        drafted=meta.drafted,
        accepted=meta.accepted,
    )


def _finish(reason: Any) -> str | None:
    found = reason.get("type") if isinstance(reason, Mapping) else reason
    return found if isinstance(found, str) else None


def _first(*counts: int | None) -> int | None:
    """The first that is known."""
    return next((count for count in counts if count is not None), None)
