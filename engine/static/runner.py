"""Enqueues rounds on the device and reads their records late.

On CUDA each stage of a bucket is one graph; the host launches a round, asks for its record by an
asynchronous copy to pinned memory, and launches the next before it reads that. Nothing has to be taken back:
stop ids and the token limit end the text on the device, so a round launched too many changes nothing. Only
stop strings, which the host alone can see, make it wait for every round.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from engine.detail import TopRows, top_rows
from engine.events import TOP_CANDIDATES, StageTimes
from engine.kernels.record import DRAFTER
from engine.merged import merge_all
from engine.room import BUCKETS, MAX_PENDING, SPARE_ROWS
from engine.rounds import not_finite
from engine.sampling import Sampler
from engine.session import Session
from engine.settings import DecodeSettings
from engine.static.cache import StaticCache
from engine.static.drafter import StaticDrafter
from engine.static.record import Record
from engine.static.result import StaticResult
from engine.static.round import Bucket, StaticRound
from engine.static.state import StaticState

STAGES = ("draft", "build", "verify", "walk", "commit")


def bucket_of(budget: int) -> int:
    """Places for draft nodes in a round of this budget, at most ``MAX_BUDGET``."""
    return next(places for places in BUCKETS if places >= budget)


@dataclass
class Flight:
    """A round on its way: where its record and the ids of the rows it verified will be, and the marks between
    its stages."""

    bucket: Bucket
    settings: DecodeSettings
    record: Tensor
    row_ids: Tensor
    marks: list[torch.cuda.Event] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    done: torch.cuda.Event | None = None
    drafter_top: TopRows | None = None
    target_top: TopRows | None = None


class StaticRunner:
    """Rounds over one session's caches.

    Args:
        session: its key and value buffers are used in place, with room made for the longest text.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        capacity = session.target.context_length + SPARE_ROWS
        target, drafter = session.target, session.drafter
        merge_all(target.model)
        size = drafter.config.block_size if drafter else 1
        width = len(target.tapped) * target.embedding.weight.shape[1]
        self.state = StaticState(target.device, size, width, target.dtype)
        self.cache = StaticCache(
            session.cache, self.state.length, capacity, target.delta_modules, target.windows
        )
        self.drafter: StaticDrafter | None = None
        if drafter and session.context:
            weight = target.embedding.weight
            self.drafter = StaticDrafter(drafter, session.context, weight, target.head, capacity)
        self._rounds: dict[Bucket, StaticRound] = {}
        self._graphs: dict[Bucket, list[torch.cuda.CUDAGraph | None]] = {}
        self._pool: Any = None
        self._undrafted = 0

    @torch.inference_mode()
    def enter(self, root_id: int, room: int, sampler: Sampler, stop_ids: list[int]) -> None:
        """Take over from the session, whose caches hold all of the text but ``root_id``.

        Args:
            room: most tokens that may be added to the text.
        """
        self.session.hand_over()
        self.cache.enter()
        state = self.state
        state.length.fill_(self.session.cache.length)
        state.root_id.fill_(root_id)
        state.remaining.fill_(room)
        state.done.fill_(False)
        state.feature_rows.zero_()
        state.set_sampler(sampler)
        state.set_stop_ids(stop_ids)
        self._undrafted = 0

    @torch.inference_mode()
    def leave(self, ids: list[int]) -> None:
        """Give the caches back to the session; ``ids``: all tokens they hold."""
        self.session.take_back(self.state.features[: int(self.state.feature_rows)].clone(), ids)
        self.cache.leave(self.session.cache, len(ids))

    @torch.inference_mode()
    def launch(
        self,
        settings: DecodeSettings,
        greedy: bool,
        revocable: bool = False,
        candidates: int = TOP_CANDIDATES,
    ) -> Flight:
        """Enqueue one round; only a revocable one can be cut. ``candidates``: as in ``decode_round``."""
        bucket = self._bucket(settings, greedy, revocable)
        self._settle_features(bucket)
        self.state.budget.fill_(settings.budget)
        stages = self._stages(bucket)
        flight = Flight(
            bucket, settings, self._empty_record(bucket), self._on_host(bucket.nodes + 1, torch.int64)
        )
        if self.state.device.type == "cuda":
            with torch.cuda.device(self.state.device):  # of streams and marks, whichever is the current one
                self._replay(bucket, stages, flight)
        else:
            flight.times.append(time.perf_counter())
            for stage in STAGES:
                getattr(stages, stage)()
                flight.times.append(time.perf_counter())
            flight.record.copy_(stages.record)
            flight.row_ids.copy_(stages.row_ids)
        if settings.detail:
            # Behind the round and before the next one, whose logits will be in the same places.
            if settings.mode != "ar":
                flight.drafter_top = top_rows(stages.draft_logits, candidates)
            flight.target_top = top_rows(stages.target_logits, candidates)
        return flight

    def wait(self, flight: Flight) -> StaticResult:
        """The result of a round, waiting for it if it must."""
        if flight.done is not None:
            flight.done.synchronize()
            ms = [a.elapsed_time(b) for a, b in zip(flight.marks, flight.marks[1:], strict=False)]
        else:
            ms = [1000 * (b - a) for a, b in zip(flight.times, flight.times[1:], strict=False)]
        bucket = flight.bucket
        size = self.state.block_size
        record = Record.unpack(flight.record.clone(), bucket.nodes, size, flight.settings.budget)
        if record.finite:
            raise not_finite("drafter" if record.finite == DRAFTER else "target")
        return StaticResult(
            record=record,
            mode=bucket.mode,
            candidates=flight.settings.budget if bucket.mode == "tree" else 1,
            kept=int(record.count),
            ms=StageTimes(**dict(zip(STAGES, ms, strict=True)), total=sum(ms)),
            drafter_top=flight.drafter_top,
            target_top=flight.target_top,
            row_ids=flight.row_ids,
        )

    @torch.inference_mode()
    def cut(self, result: StaticResult, kept: int) -> StaticResult:
        """Take back all but the first ``kept`` tokens of the round launched last, a revocable one."""
        path = result.record.path.int().to(self.state.device)
        self.cache.recommit(path, torch.tensor(kept, dtype=torch.int32, device=self.state.device))
        removed = result.kept - kept
        for number in (self.state.length, self.state.feature_rows):
            number.sub_(removed)
        return replace(result, kept=kept)

    def _bucket(self, settings: DecodeSettings, greedy: bool, revocable: bool) -> Bucket:
        size = self.state.block_size
        block = min(settings.block_size or size, size)
        nodes = {
            "ar": 0,
            "chain": block - 1,
            "tree": bucket_of(settings.budget),
        }[settings.mode]
        return Bucket(settings.mode, nodes, block, greedy, revocable)

    def _settle_features(self, bucket: Bucket) -> None:
        """Rounds of ``ar`` pile up features: hand them over before they are too many, or before a draft."""
        if self.drafter is None:
            self.state.feature_rows.zero_()
            return
        if bucket.mode == "ar":
            self._undrafted += 1
        # A round of a drafting mode before them may have left a whole block, the next one may add one.
        if self._undrafted >= MAX_PENDING - 2 * self.state.block_size or (
            bucket.mode != "ar" and self._undrafted
        ):
            self.drafter.hand_over(self.state, MAX_PENDING)
            self._undrafted = int(bucket.mode == "ar")

    def _stages(self, bucket: Bucket) -> StaticRound:
        if bucket not in self._rounds:
            self._rounds[bucket] = StaticRound(
                bucket, self.session.target, self.drafter, self.cache, self.state
            )
        return self._rounds[bucket]

    def _empty_record(self, bucket: Bucket) -> Tensor:
        return self._on_host(Record.length(bucket.nodes, self.state.block_size), torch.int32)

    def _on_host(self, length: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(length, dtype=dtype, pin_memory=self.state.device.type == "cuda")

    def _replay(self, bucket: Bucket, stages: StaticRound, flight: Flight) -> None:
        if bucket not in self._graphs:
            self._graphs[bucket] = self._capture(stages)
        flight.marks = [_event(timed=True) for _ in range(len(STAGES) + 1)]
        flight.marks[0].record()
        for graph, mark in zip(self._graphs[bucket], flight.marks[1:], strict=True):
            if graph is not None:
                graph.replay()
            mark.record()
        flight.record.copy_(stages.record, non_blocking=True)
        flight.row_ids.copy_(stages.row_ids, non_blocking=True)
        flight.done = _event(timed=False)
        flight.done.record()

    def _capture(self, stages: StaticRound) -> list[torch.cuda.CUDAGraph | None]:
        """One graph per stage, captured with the text marked as ended so that nothing is committed; None
        for a stage without work."""
        state = self.state
        changing = (state.done, state.feature_rows, state.features)
        kept = [tensor.clone() for tensor in changing]
        state.done.fill_(True)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                for stage in STAGES:
                    getattr(stages, stage)()
        torch.cuda.current_stream().wait_stream(side)
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        graphs: list[torch.cuda.CUDAGraph | None] = []
        for stage in STAGES:
            if stages.bucket.mode == "ar" and stage in ("draft", "build"):
                graphs.append(None)
                continue
            graph = torch.cuda.CUDAGraph()
            # Torch's own stream for captures is on the device of the first one.
            with torch.cuda.graph(graph, pool=self._pool, stream=side):
                getattr(stages, stage)()
            graphs.append(graph)
        for tensor, value in zip(changing, kept, strict=True):
            tensor.copy_(value)
        return graphs


def _event(*, timed: bool) -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=timed)  # type: ignore[no-untyped-call]
