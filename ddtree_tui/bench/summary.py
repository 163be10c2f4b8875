"""What measurements add up to. Pure: measurements in, numbers out.

Every rate is a ratio of totals over prompts (all tokens / all rounds, all tokens / all seconds), never a mean
of per-prompt ratios, so that a long answer counts for what it took. Spreads are over prompts: for ratios a
95 % interval by resampling prompts (percentile bootstrap), for times the quartiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from ddtree_tui.bench.configuration import AR, CHAIN, Condition, Configuration
from ddtree_tui.bench.measurement import Measurement
from ddtree_tui.bench.verdict import Kind, Verdict, judge
from ddtree_tui.statistics.stages import floor_milliseconds
from engine.events import Floor, StageTimes

RESAMPLES = 1000
RESAMPLING_SEED = 0
INTERVAL = (2.5, 97.5)

Numbers = NDArray[np.float64]


class Rate(msgspec.Struct, frozen=True):
    """A ratio of totals, and the bounds of its 95 % interval; they are the value itself for one prompt."""

    value: float
    low: float
    high: float


class Quartiles(msgspec.Struct, frozen=True):
    """Of one value per prompt."""

    low: float
    median: float
    high: float


class Lossless(msgspec.Struct, frozen=True, kw_only=True):
    """How many texts were compared with ``ar``'s, and with what result."""

    compared: int
    same: int
    tie: int
    defect: int
    unjudged: int


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One way of decoding under one condition, over all its prompts of one source.

    Attributes:
        name: of the way, as in ``tree(64)``.
        prompts, tokens, rounds: what the numbers rest on; ``tokens`` counts those that rounds committed.
        acceptance: acceptance length, tokens / rounds.
        histogram: ``histogram[n]`` rounds committed n tokens.
        tokens_per_second: tokens / seconds within rounds.
        overall_tokens_per_second: tokens, the first included, / seconds from start to end of the answers.
        speed_vs_ar, speed_vs_chain: of the tokens per second, over the prompts that both answered.
        ttft_ms: milliseconds to the first token.
        ms: milliseconds a round, per stage.
        floor_ms: what reading the weights takes; None unless measured.
        round_over_floor: ``ms.total`` / ``floor_ms``.
        peak_bytes: the most over all prompts.
        drafted: draft nodes a round.
        lossless: None without ``ar`` to compare with.
    """

    name: str
    way: Configuration
    prompts: int
    tokens: int
    rounds: int
    acceptance: Rate
    histogram: list[int]
    tokens_per_second: Rate
    overall_tokens_per_second: Rate
    speed_vs_ar: Rate | None
    speed_vs_chain: Rate | None
    ttft_ms: Quartiles
    ms: StageTimes
    floor_ms: float | None
    round_over_floor: float | None
    peak_bytes: int | None
    drafted: float
    lossless: Lossless | None


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The ways side by side. ``source``: None for all ``sources`` together."""

    source: str | None
    sources: list[str]
    condition: Condition
    rows: list[Row]

    @property
    def label(self) -> str:
        """As a heading says it; empty for everything under the plain condition."""
        return ", ".join(part for part in (self.source, self.condition.label) if part)


class Divergence(msgspec.Struct, frozen=True, kw_only=True):
    """A text that is not ``ar``'s."""

    source: str
    number: int
    condition: Condition
    way: Configuration
    verdict: Verdict


def summarise(measurements: Sequence[Measurement], tie_gap: float, floor: Floor | None = None) -> list[Group]:
    """All groups: per condition every source and, if there are several, all of them together first."""
    groups = []
    sources = list(dict.fromkeys(one.source for one in measurements))
    for condition in sorted({one.condition for one in measurements}):
        for source in [None, *sources] if len(sources) > 1 else [None]:
            chosen = [
                one for one in measurements if one.condition == condition and source in (None, one.source)
            ]
            if chosen:
                groups.append(
                    Group(
                        source=source,
                        sources=list(dict.fromkeys(one.source for one in chosen)),
                        condition=condition,
                        rows=_rows(chosen, tie_gap, floor),
                    )
                )
    return groups


def divergences(measurements: Sequence[Measurement], tie_gap: float) -> list[Divergence]:
    """Every text that is not ``ar``'s."""
    found = []
    reference = {(one.prompt, one.condition): one for one in measurements if one.way == AR}
    for one in measurements:
        ar = reference.get((one.prompt, one.condition))
        if ar is None or one.way == AR:
            continue
        verdict = judge(one, ar, tie_gap)
        if verdict.kind != "same":
            found.append(
                Divergence(
                    source=one.source,
                    number=one.number,
                    condition=one.condition,
                    way=one.way,
                    verdict=verdict,
                )
            )
    return found


def _rows(measurements: Sequence[Measurement], tie_gap: float, floor: Floor | None) -> list[Row]:
    by_way: dict[Configuration, dict[str, Measurement]] = {}
    for one in measurements:
        by_way.setdefault(one.way, {})[one.prompt] = one
    return [row(by_way, way, tie_gap, floor) for way in sorted(by_way, key=_place)]


def _place(way: Configuration) -> tuple[int, bool, int]:
    return ("ar", "chain", "tree").index(way.mode), way.auto, way.budget


def row(
    by_way: Mapping[Configuration, Mapping[str, Measurement]],
    way: Configuration,
    tie_gap: float = 0.0,
    floor: Floor | None = None,
) -> Row:
    """The numbers of ``way``; ``by_way`` maps each way to its answers by prompt."""
    answers = by_way[way]
    ones = list(answers.values())
    tokens, rounds = _per_prompt(ones, "committed"), _per_prompt(ones, "rounds")
    ms = mean_ms(ones)
    floor_ms = None if floor is None else floor_milliseconds(floor, drafted=way != AR)
    peaks = [one.peak_bytes for one in ones if one.peak_bytes is not None]
    return Row(
        name=way.name,
        way=way,
        prompts=len(ones),
        tokens=int(tokens.sum()),
        rounds=int(rounds.sum()),
        acceptance=rate(tokens, rounds),
        histogram=histogram(ones),
        tokens_per_second=rate(tokens, _round_seconds(ones)),
        overall_tokens_per_second=rate(
            np.array([len(one.output_ids) for one in ones], float), _per_prompt(ones, "seconds")
        ),
        speed_vs_ar=speed_against(answers, by_way.get(AR)),
        speed_vs_chain=speed_against(answers, by_way.get(CHAIN)),
        ttft_ms=quartiles([1000 * one.ttft_s for one in ones]),
        ms=ms,
        floor_ms=floor_ms,
        round_over_floor=None if not floor_ms else ms.total / floor_ms,
        peak_bytes=max(peaks, default=None),
        drafted=_ratio(sum(one.drafted for one in ones), float(rounds.sum())),
        lossless=None if AR not in by_way else lossless(answers, by_way[AR], tie_gap),
    )


def rate(over: Numbers, under: Numbers) -> Rate:
    """Sum of ``over`` / sum of ``under``, both (prompts,), and its interval.

    One resample draws as many prompts as there are, with replacement; a prompt's two numbers stay together.
    """
    weights = _resamples(len(over))
    return Rate(_ratio(over.sum(), under.sum()), *_interval(weights @ over, weights @ under))


def speed_against(
    answers: Mapping[str, Measurement], others: Mapping[str, Measurement] | None
) -> Rate | None:
    """Tokens per second of ``answers`` / those of ``others``, on the prompts that both have.

    Each of the two is a ratio of totals; a resample draws the same prompts for both.
    """
    shared = [] if others is None else [prompt for prompt in answers if prompt in others]
    if others is None or not shared:
        return None
    ours, theirs = [answers[prompt] for prompt in shared], [others[prompt] for prompt in shared]
    tokens, other_tokens = _per_prompt(ours, "committed"), _per_prompt(theirs, "committed")
    seconds, other_seconds = _round_seconds(ours), _round_seconds(theirs)
    weights = _resamples(len(shared))
    value = _ratio(tokens.sum() * other_seconds.sum(), seconds.sum() * other_tokens.sum())
    over = (weights @ tokens) * (weights @ other_seconds)
    under = (weights @ seconds) * (weights @ other_tokens)
    return Rate(value, *_interval(over, under))


def quartiles(values: Sequence[float]) -> Quartiles:
    low, median, high = np.percentile(np.array(values, float), (25, 50, 75))
    return Quartiles(float(low), float(median), float(high))


def histogram(measurements: Sequence[Measurement]) -> list[int]:
    """Rounds by acceptance length, from 0."""
    lengths = [length for one in measurements for length in one.lengths]
    return [int(count) for count in np.bincount(np.array(lengths, int), minlength=1)]


def mean_ms(measurements: Sequence[Measurement]) -> StageTimes:
    """Milliseconds a round: all of a stage / all rounds."""
    rounds = sum(one.rounds for one in measurements)
    stages = StageTimes.__struct_fields__
    return StageTimes(
        **{stage: _ratio(sum(getattr(one.ms, stage) for one in measurements), rounds) for stage in stages}
    )


def lossless(
    answers: Mapping[str, Measurement], reference: Mapping[str, Measurement], tie_gap: float
) -> Lossless:
    kinds: list[Kind] = [
        judge(answer, reference[prompt], tie_gap).kind
        for prompt, answer in answers.items()
        if prompt in reference
    ]
    return Lossless(
        compared=len(kinds),
        same=kinds.count("same"),
        tie=kinds.count("tie"),
        defect=kinds.count("defect"),
        unjudged=kinds.count("unjudged"),
    )


def _resamples(prompts: int) -> Numbers:
    """How often each resample draws each prompt: (resamples, prompts)."""
    generator = np.random.default_rng(RESAMPLING_SEED)
    return generator.multinomial(prompts, np.full(prompts, 1 / prompts), size=RESAMPLES).astype(float)


def _interval(over: Numbers, under: Numbers) -> tuple[float, float]:
    known = under > 0
    if not known.any():
        return 0.0, 0.0
    low, high = np.percentile(over[known] / under[known], INTERVAL)
    return float(low), float(high)


def _ratio(over: float, under: float) -> float:
    """0 where nothing was measured."""
    return float(over / under) if under else 0.0


def _per_prompt(measurements: Sequence[Measurement], field: str) -> Numbers:
    return np.array([getattr(one, field) for one in measurements], float)


def _round_seconds(measurements: Sequence[Measurement]) -> Numbers:
    return np.array([one.ms.total / 1000 for one in measurements], float)
