"""What every route needs: the options, the engine, the numbers and the viewers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from ddtree_tui.server.engine_host import EngineHost, Status
from ddtree_tui.server.errors import ApiError
from ddtree_tui.server.metrics import Metrics
from ddtree_tui.server.options import ServeOptions
from ddtree_tui.server.watch import Watch
from engine.events import Loaded


@dataclass(frozen=True)
class Service:
    """One server. ``created``: seconds since 1970; ``started``: of ``time.monotonic``."""

    options: ServeOptions
    metrics: Metrics
    watch: Watch
    host: EngineHost
    created: float = field(default_factory=time.time)
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def build(cls, options: ServeOptions, engine_command: Sequence[str] | None = None) -> Service:
        """Put the parts together; call it in the event loop."""
        metrics, watch = Metrics(), Watch(options.limits.history_bytes)
        host = EngineHost(options, metrics, watch, engine_command)
        service = cls(options, metrics, watch, host)
        metrics.observe("ddtree_queue_waiting", "Requests that wait", lambda: len(host.queue))
        metrics.observe("ddtree_running", "Requests that decode", lambda: int(host.running is not None))
        metrics.observe("ddtree_viewers", "Who watches the events", lambda: watch.viewers)
        metrics.observe("ddtree_engine_restarts", "Of the engine", lambda: host.restarts)
        metrics.observe("ddtree_uptime_seconds", "Of the server", lambda: service.uptime)
        return service

    def clock(self, instant: float) -> float:
        """Seconds since 1970 of an instant of ``time.monotonic``; instants keep their distances."""
        return self.created + instant - self.started

    @property
    def uptime(self) -> float:
        """Seconds."""
        return time.monotonic() - self.started

    def check_open(self) -> None:
        """Raises:
        ApiError: 503 once the server was told to end.
        """
        if self.host.closing:
            raise ApiError(503, "The server is shutting down.", code="shutting_down")

    def loaded(self) -> Loaded:
        """What the engine holds.

        Raises:
            ApiError: 503 while there is no engine to ask.
        """
        self.check_open()
        host = self.host
        if host.status is not Status.OK or host.loaded is None:
            raise ApiError(
                503,
                f"The server is not ready ({host.status.value}): {host.reason}",
                code=f"engine_{host.status.value}",
                again=not host.given_up,
            )
        return host.loaded

    def check_model(self, name: str) -> None:
        """Raises:
        ApiError: 404 for a model that is not served.
        """
        if name != self.options.name:
            raise ApiError(
                404,
                f"The model {name[:100]!r} does not exist; this server has {self.options.name!r}.",
                code="model_not_found",
                param="model",
            )
