"""Numbers for Prometheus: this server's own, and those of vLLM's that dashboards for drafting read."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from engine.events import AnyEvent, MemoryUse, Prefilled, Round

STATUSES = ("starting", "ok", "failed")
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 24, 32)
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
_STAGES = ("draft", "build", "verify", "walk", "commit")


disable_created_metrics()  # type: ignore[no-untyped-call]  # one more line for each number


class Metrics:
    """One server's. Counts in the event loop's thread alone."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "ddtree_requests", "Requests answered", ["route", "status", "outcome"], registry=registry
        )
        self._prompt_tokens = Counter("ddtree_prompt_tokens", "Tokens of prompts", registry=registry)
        self._cached_tokens = Counter(
            "ddtree_cached_prompt_tokens", "Tokens of prompts that were in the caches", registry=registry
        )
        self._tokens = Counter("ddtree_output_tokens", "Tokens of answers", registry=registry)
        self._rounds = Counter("ddtree_rounds", "Decode rounds", ["mode"], registry=registry)
        self._lengths = Histogram(
            "ddtree_acceptance_length",
            "Tokens a round committed",
            ["mode"],
            buckets=_LENGTHS,
            registry=registry,
        )
        self._stages = Counter(
            "ddtree_stage_seconds", "Time in stages of rounds", ["stage"], registry=registry
        )
        self._first = Histogram(
            "ddtree_time_to_first_token_seconds", "Prefill", buckets=_SECONDS, registry=registry
        )
        self._waited = Histogram(
            "ddtree_queue_seconds", "Time in the queue", buckets=_SECONDS, registry=registry
        )
        self._took = Histogram(
            "ddtree_request_seconds", "From arrival to end", ["route"], buckets=_SECONDS, registry=registry
        )
        self._status = Gauge("ddtree_status", "1 for what /health says", ["status"], registry=registry)
        self._memory = Gauge(
            "ddtree_engine_memory_bytes",
            "Of the engine: on the device or of its process",
            ["of"],
            registry=registry,
        )
        self._peak = Gauge(
            "ddtree_engine_memory_peak_bytes", "The most since the answer before", ["of"], registry=registry
        )
        self._drafts = Counter("vllm:spec_decode_num_drafts", "Rounds with a draft", registry=registry)
        self._drafted = Counter("vllm:spec_decode_num_draft_tokens", "Drafted nodes", registry=registry)
        self._accepted = Counter("vllm:spec_decode_num_accepted_tokens", "Accepted nodes", registry=registry)
        self._accepted_at = Counter(
            "vllm:spec_decode_num_accepted_tokens_per_pos",
            "Accepted nodes by depth, from 0",
            ["position"],
            registry=registry,
        )
        self.status("starting")

    def observe(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Have a number read whenever somebody asks."""
        self.registry.register(_Read(name, text, read))

    def event(self, event: AnyEvent) -> None:
        """Count what the engine did."""
        match event:
            case Prefilled():
                self._prompt_tokens.inc(len(event.prompt_ids))
                self._cached_tokens.inc(event.cached)
                self._tokens.inc()
                self._first.observe(event.seconds)
            case Round():
                self._round(event)

    def memory(self, event: MemoryUse) -> None:
        """What the engine holds."""
        self._memory.labels(event.of).set(event.bytes)
        self._peak.labels(event.of).set(event.peak_bytes)

    def status(self, status: str) -> None:
        """What ``/health`` says from now on."""
        for each in STATUSES:
            self._status.labels(each).set(each == status)

    def request(self, route: str, status: int, outcome: str, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, status, outcome).inc()
        self._took.labels(route).observe(seconds)

    def waited(self, seconds: float) -> None:
        """A request's turn came."""
        self._waited.observe(seconds)

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self.registry)

    def _round(self, event: Round) -> None:
        self._rounds.labels(event.mode).inc()
        self._lengths.labels(event.mode).observe(event.acceptance_length)
        self._tokens.inc(event.acceptance_length)
        for stage in _STAGES:
            self._stages.labels(stage).inc(getattr(event.ms, stage) / 1000)
        if event.mode == "ar":
            return
        self._drafts.inc()
        self._drafted.inc(len(event.nodes.ids))
        self._accepted.inc(len(event.accepted))
        for depth in range(len(event.accepted)):
            self._accepted_at.labels(depth).inc()


class _Read(Collector):
    def __init__(self, name: str, text: str, read: Callable[[], float]) -> None:
        self._name, self._text, self._read = name, text, read

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(self._name, self._text, self._read())
