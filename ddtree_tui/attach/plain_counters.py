"""What other servers count, from their ``/metrics``, and what they counted while an answer was written.

vLLM (0.8 and later) counts drafts, their tokens and how many were accepted, in all and at each position:
``vllm/v1/spec_decode/metrics.py``, https://docs.vllm.ai/en/stable/usage/metrics/. It does so step by step, so
that an answer of another client counts while it is written. The counters are there only where it drafts.

SGLang (with ``--enable-metrics``) counts verifications where it is new enough, when a request ends; how many
tokens a verification gives is a gauge, a mean over its last steps:
``python/sglang/srt/observability/metrics_collector.py``, in older versions ``srt/metrics/collector.py``,
https://docs.sglang.io/references/production_metrics.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from prometheus_client.parser import text_string_to_metric_families

from ddtree_tui.importers.answer import Totals

GENERATED = ("vllm:generation_tokens", "sglang:generation_tokens")
REQUESTS = ("sglang:num_requests",)
DRAFTS = ("vllm:spec_decode_num_drafts", "sglang:spec_verify_calls")
DRAFTED = ("vllm:spec_decode_num_draft_tokens",)
ACCEPTED = ("vllm:spec_decode_num_accepted_tokens",)
ACCEPTED_AT = ("vllm:spec_decode_num_accepted_tokens_per_pos",)
ACCEPT_LENGTH = ("sglang:spec_accept_length",)
WATCHED = (*GENERATED, *REQUESTS, *DRAFTS, *DRAFTED, *ACCEPTED, *ACCEPTED_AT, *ACCEPT_LENGTH)
"""How all lines of ``/metrics`` begin that are read here."""


@dataclass(frozen=True)
class Counters:
    """Summed over labels, such as those of several engines; None for what the server does not count.

    Attributes:
        generated: tokens of all answers.
        requests: answers that have ended.
        drafts: rounds that verified a draft.
        drafted, accepted: tokens.
        accepted_at: how many were accepted at each position of a draft, counted from 0.
        accept_length: tokens per verification over the last steps; no counter.
    """

    generated: float | None = None
    requests: float | None = None
    drafts: float | None = None
    drafted: float | None = None
    accepted: float | None = None
    accepted_at: Mapping[int, float] = field(default_factory=dict)
    accept_length: float | None = None


@dataclass(frozen=True)
class Meanwhile:
    """What was counted while an answer was written. ``counted``: as in ``engine.events.Finished``."""

    totals: Totals
    counted: Literal["server", "shared"]


def read_counters(text: str) -> Counters | None:
    """The counters in the text of ``/metrics``; None if there is none of them, or it is no such text."""
    lines = (line for line in text.splitlines() if line.startswith(WATCHED))  # they are few of many
    sums: dict[str, float] = {}
    accepted_at: dict[int, float] = {}
    try:
        for family in text_string_to_metric_families("\n".join(lines) + "\n"):
            for sample in family.samples:
                name = sample.name.removesuffix("_total")
                if name in ACCEPTED_AT and (position := sample.labels.get("position", "")).isdecimal():
                    accepted_at[int(position)] = accepted_at.get(int(position), 0.0) + sample.value
                sums[name] = sums.get(name, 0.0) + sample.value
    except ValueError:
        return None

    def of(names: tuple[str, ...]) -> float | None:
        return next((sums[name] for name in names if name in sums), None)

    if not sums:
        return None
    return Counters(
        of(GENERATED), of(REQUESTS), of(DRAFTS), of(DRAFTED), of(ACCEPTED), accepted_at, of(ACCEPT_LENGTH)
    )


def caught_up(before: Counters, now: Counters, tokens: int) -> bool:
    """Whether an answer of so many tokens has been counted, as far as one can tell."""
    grown = _grown(before.generated, now.generated)
    return grown is None or grown >= tokens


def meanwhile(before: Counters, after: Counters, tokens: int | None) -> Meanwhile | None:
    """What the counters say of an answer of ``tokens`` between two looks at them.

    Its own numbers, if the server has generated exactly as many tokens; the mean of all that it did, if more;
    None where it has generated fewer, as when another server behind the same address has written the answer,
    where the counters have begun anew, or where nothing was drafted.
    """
    grown = _grown(before.generated, after.generated)
    drafts = _grown(before.drafts, after.drafts)
    if tokens is not None and grown is not None and grown < tokens:
        return None
    alone = tokens is not None and tokens > 1 and grown == tokens
    if not drafts:
        length = after.accept_length if before.drafts is None else None
        return _estimate(length, tokens) if length else None
    accepted = _grown(before.accepted, after.accepted)
    if accepted is not None:
        mean = 1 + accepted / drafts
    elif alone and tokens is not None:
        mean = (tokens - 1) / drafts
    else:
        ended = _grown(before.requests, after.requests)
        mean = (grown - ended) / drafts if grown is not None and ended is not None else 0.0
    if not alone:
        return _estimate(mean, tokens)
    drafted = _grown(before.drafted, after.drafted)
    totals = Totals(
        rounds=int(drafts),
        mean=mean,
        histogram=_histogram(drafts, before, after),
        drafted=None if drafted is None else int(drafted),
        accepted=None if accepted is None else int(accepted),
    )
    return Meanwhile(totals, "server")


def _estimate(mean: float, tokens: int | None) -> Meanwhile | None:
    """Rounds of an answer, if they were like those of all."""
    if not mean >= 1 or tokens is None:
        return None
    return Meanwhile(Totals(rounds=round((tokens - 1) / mean), mean=mean), "shared")


def _grown(before: float | None, after: float | None) -> float | None:
    """By how much; None where it is not known, or fell: another process counts now."""
    return after - before if before is not None and after is not None and after >= before else None


def _histogram(drafts: float, before: Counters, after: Counters) -> list[int]:
    """``histogram[n]``: rounds that gave n tokens. A_p of them accepted the token at position p, and so all
    before it: D - A_0 accepted none, A_(n-1) - A_n exactly n, and each gave one token more."""
    grown = [
        _grown(before.accepted_at.get(position, 0.0), after.accepted_at.get(position))
        for position in range(len(after.accepted_at))
    ]
    steps = [drafts, *(0.0 if value is None else value for value in grown), 0.0]
    counts = [int(more - fewer) for more, fewer in pairwise(steps)]
    return [0, *counts] if grown and None not in grown and min(counts) >= 0 else []
