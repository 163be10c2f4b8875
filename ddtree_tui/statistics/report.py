"""The numbers of a scope as plain values: what the screen draws, the tables print and ``--json`` writes."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from ddtree_tui.mode_name import mode_name
from ddtree_tui.statistics.calibration import Calibration
from ddtree_tui.statistics.collected import Collected
from ddtree_tui.statistics.hits import RANK_STARTS, HitCounts, Hits
from ddtree_tui.statistics.marginal import Marginal
from ddtree_tui.statistics.observation import EDGES
from ddtree_tui.statistics.stages import Stages
from ddtree_tui.statistics.ways import Way, Ways
from engine.events import Floor, Loaded, MemoryUse

LAST_NODES = 16
"""How many of the budget's last nodes are asked about first."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """What all parts of a report share."""


class AcceptancePart(_Part, frozen=True):
    """Tokens a round committed. ``last``: by the newest round; ``histogram[n]``: rounds of n tokens."""

    last: int | None
    mean: float
    histogram: list[int]


class SpeedPart(_Part, frozen=True):
    """Tokens per second inside rounds. ``now``: over the last second of them; ``history``: oldest first. None
    where no round says its time, as in imports."""

    now: float | None
    mean: float | None
    history: list[float]


class StagePart(_Part, frozen=True):
    """``ms``: per round, on average; ``share`` of the round."""

    name: str
    ms: float
    share: float


class FloorPart(_Part, frozen=True):
    """What reading the weights takes, per round on average, and its part of the round's time."""

    floor_ms: float
    round_ms: float
    share: float


class MemoryPart(_Part, frozen=True):
    """Bytes. ``loaded``: of both models, after loading; ``now`` and ``peak``: of the device or the engine's
    process (``of``), when last asked."""

    loaded: int
    of: str | None
    now: int | None
    peak: int | None


class WayPart(_Part, frozen=True):
    """One way of decoding; ``over_ar`` and ``over_chain``: its speed as a multiple of theirs, None where they
    were not seen, and like the speed where it is unknown."""

    name: str
    rounds: int
    tokens_per_second: float | None
    over_ar: float | None
    over_chain: float | None


class HitMap(_Part, frozen=True):
    """``tries[d - 1]``: how often the path came to depth d; ``taken[d - 1][r]``: how often the target's token
    there was in row r of ranks. ``first_choice``: share of all tries that the drafter's first choice won."""

    tries: list[int]
    taken: list[list[int]]
    first_choice: float | None


class HitsPart(_Part, frozen=True):
    """``rows``: names of the rows of ranks. ``spine_at_same_depths``: what ``spine.first_choice`` would be
    at the depths of the branches' tries."""

    rows: list[str]
    spine: HitMap
    branches: HitMap
    spine_at_same_depths: float | None


class BinPart(_Part, frozen=True):
    """Nodes of path probability ``low`` to ``high``: their mean probability, and the share accepted."""

    low: float
    high: float
    nodes: int
    probability: float | None
    accepted: float | None


class ExpectedPart(_Part, frozen=True):
    """Mean acceptance length as the drafter's probabilities have it, and as it came; bonus token included."""

    rounds: int
    expected: float
    realised: float


class SmallerPart(_Part, frozen=True):
    """The same rounds with at most ``budget`` nodes; ``change``: against what they had."""

    budget: int
    tokens_per_round: float
    change: float


class MarginalPart(_Part, frozen=True):
    """``curve[b]``: tokens a round with at most b nodes."""

    rounds: int
    budget: int
    tokens_per_round: float
    smaller: list[SmallerPart]
    curve: list[float]


class Report(_Part, frozen=True):
    """Everything about the rounds of a scope; parts that nothing is known about are None.

    ``tokens``: of the text, so with the one that each answer's prefill wrote. ``unweighed``: rounds of which
    the drafter's probabilities are unknown, as in imports."""

    scope: str
    rounds: int
    tokens: int
    acceptance: AcceptancePart
    speed: SpeedPart
    round_ms: float | None
    stages: list[StagePart]
    floor: FloorPart | None
    memory: MemoryPart | None
    ways: list[WayPart]
    expected: ExpectedPart | None
    hits: HitsPart | None
    calibration: list[BinPart]
    marginal: MarginalPart | None
    unweighed: int = 0


@dataclass(frozen=True)
class Surroundings:
    """What is known beside the rounds of the scope."""

    ways: Ways
    loaded: Loaded | None
    memory: MemoryUse | None


def report(collected: Collected, scope: str, around: Surroundings) -> Report:
    """Read the sums of a scope."""
    acceptance, speed, stages = collected.acceptance, collected.speed, collected.stages
    timed = bool(stages.rounds) or not acceptance.rounds
    return Report(
        scope=scope,
        rounds=acceptance.rounds,
        tokens=acceptance.written,
        acceptance=AcceptancePart(
            last=acceptance.last, mean=acceptance.mean, histogram=list(acceptance.histogram)
        ),
        speed=SpeedPart(
            now=speed.now if timed else None, mean=speed.mean if timed else None, history=speed.history()
        ),
        round_ms=stages.mean_ms("total") if timed else None,
        stages=_stages(stages),
        floor=_floor(stages, around.loaded.floor if around.loaded else None),
        memory=_memory(around.loaded, around.memory),
        ways=_ways(around.ways),
        expected=_expected(collected.calibration),
        hits=_hits(collected.hits),
        calibration=_bins(collected.calibration),
        marginal=_marginal(collected.marginal),
        unweighed=collected.unweighed,
    )


def _stages(stages: Stages) -> list[StagePart]:
    if not stages.divided:
        return []
    return [
        StagePart(name=name, ms=ms / stages.divided, share=ms / stages.divided_ms)
        for name, ms in stages.ms.items()
    ]


def _floor(stages: Stages, floor: Floor | None) -> FloorPart | None:
    if floor is None or floor.bytes_per_second <= 0 or not stages.total:
        return None
    least = stages.floor_ms(floor)
    return FloorPart(
        floor_ms=least / stages.rounds, round_ms=stages.total / stages.rounds, share=least / stages.total
    )


def _memory(loaded: Loaded | None, use: MemoryUse | None) -> MemoryPart | None:
    if loaded is None or not loaded.memory_bytes:
        return None
    return MemoryPart(
        loaded=loaded.memory_bytes,
        of=use.of if use else None,
        now=use.bytes if use else None,
        peak=use.peak_bytes if use else None,
    )


def _ways(ways: Ways) -> list[WayPart]:
    ar, chain = ways.tokens_per_second(("ar", 0)), ways.tokens_per_second(("chain", 0))

    def part(way: Way) -> WayPart:
        speed = ways.tokens_per_second(way) or None
        return WayPart(
            name=mode_name(*way),
            rounds=ways.rounds(way),
            tokens_per_second=speed,
            over_ar=speed / ar if ar and speed else None,
            over_chain=speed / chain if chain and speed else None,
        )

    return [part(way) for way in ways.seen()]


def _expected(calibration: Calibration) -> ExpectedPart | None:
    rounds = calibration.rounds
    if not rounds:
        return None
    return ExpectedPart(
        rounds=rounds,
        expected=1 + calibration.expected / rounds,
        realised=1 + calibration.realised / rounds,
    )


def _hits(hits: Hits) -> HitsPart | None:
    if not hits.spine.taken:
        return None
    return HitsPart(
        rows=rank_names(),
        spine=_hit_map(hits.spine),
        branches=_hit_map(hits.branches),
        spine_at_same_depths=hits.spine_at_same_depths(),
    )


def _hit_map(counts: HitCounts) -> HitMap:
    right, tries = counts.first_choices
    return HitMap(
        tries=[sum(row) for row in counts.taken],
        taken=[list(row) for row in counts.taken],
        first_choice=right / tries if tries else None,
    )


def rank_names() -> list[str]:
    """``#0`` is the drafter's first choice; rows of several ranks name the first and the last."""
    names = []
    for start, following in zip(RANK_STARTS, [*RANK_STARTS[1:], None], strict=True):
        if following is None:
            names.append(f"#{start}+")
        else:
            names.append(f"#{start}" if following == start + 1 else f"#{start}-{following - 1}")
    return names


def _bins(calibration: Calibration) -> list[BinPart]:
    if not calibration.rounds:
        return []
    edges = (0.0, *EDGES, 1.0)
    rows = zip(calibration.nodes, calibration.probability, calibration.accepted, strict=True)
    return [
        BinPart(
            low=edges[place],
            high=edges[place + 1],
            nodes=nodes,
            probability=probability / nodes if nodes else None,
            accepted=accepted / nodes if nodes else None,
        )
        for place, (nodes, probability, accepted) in enumerate(rows)
    ]


def _marginal(marginal: Marginal) -> MarginalPart | None:
    if not marginal.rounds:
        return None
    budget, now = marginal.budget, marginal.tokens_per_round(marginal.budget)
    smaller = [
        SmallerPart(budget=less, tokens_per_round=tokens, change=tokens - now)
        for less in smaller_budgets(budget)
        for tokens in (marginal.tokens_per_round(less),)
    ]
    return MarginalPart(
        rounds=marginal.rounds, budget=budget, tokens_per_round=now, smaller=smaller, curve=marginal.curve()
    )


def smaller_budgets(budget: int) -> list[int]:
    """Budgets to compare with, largest first: ``LAST_NODES`` less, then halves."""
    found = [budget - LAST_NODES] if budget > LAST_NODES else []
    half = budget // 2
    while half:
        if half not in found:
            found.append(half)
        half //= 2
    return sorted(found, reverse=True)
