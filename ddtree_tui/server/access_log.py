"""One line of JSON per request and per thing that happens, with no text of prompts or answers."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from ddtree_tui.server.metrics import Metrics

log = logging.getLogger("ddtree_tui.server")

ROUTES = (
    "/health",
    "/metrics",
    "/openapi.json",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/ddtree/events",
    "/v1/ddtree/requests",
    "/v1/models",
)
ASKED_OFTEN = ("/health", "/metrics")
"""By machines: in the log with ``--debug`` alone."""


class AccessLog:
    """ASGI middleware, the outermost. Handlers put what they know into ``scope["facts"]``."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500
        facts: dict[str, Any] = scope.setdefault("facts", {})

        async def noting(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            seconds = time.monotonic() - began
            route = next((route for route in ROUTES if scope["path"].startswith(route)), "other")
            outcome = facts.get("outcome", "ok" if status < 400 else "error")
            self._metrics.request(route, status, outcome, seconds)
            client = scope["client"][0] if scope.get("client") else None
            seen = {"method": scope["method"], "path": scope["path"], "status": status, "client": client}
            level = logging.DEBUG if route in ASKED_OFTEN and status < 400 else logging.INFO
            log.log(level, "request", extra={"facts": seen | {"ms": round(1000 * seconds, 1)} | facts})


class JsonLines(logging.Formatter):
    """Log records as JSON; ``facts`` of a record become fields."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_standard_error(*, debug: bool) -> None:
    """Have this server and uvicorn write such lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (
        ("ddtree_tui.server", logging.DEBUG if debug else logging.INFO),
        ("uvicorn", logging.INFO if debug else logging.WARNING),
    ):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
