"""The routes and what stands in front of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ddtree_tui import __version__
from ddtree_tui.server.access_log import AccessLog
from ddtree_tui.server.auth import Auth
from ddtree_tui.server.body_limit import BodyLimit
from ddtree_tui.server.chat import chat_routes
from ddtree_tui.server.completions import completion_routes
from ddtree_tui.server.errors import add_error_handlers
from ddtree_tui.server.health import health_routes
from ddtree_tui.server.service import Service
from ddtree_tui.server.watching import watch_routes


def build_app(service: Service) -> FastAPI:
    """The server's application."""
    app = FastAPI(
        title="DDTree playground",
        summary="OpenAI's interface over speculative decoding with draft trees",
        version=__version__,
        docs_url=None,  # it would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    add_error_handlers(app)
    for routes in (chat_routes, completion_routes, health_routes, watch_routes):
        app.include_router(routes(service))
    limits = service.options.limits
    app.add_middleware(BodyLimit, limit=limits.body_bytes, patience=limits.idle_seconds)
    app.add_middleware(Auth, api_keys=service.options.api_keys)
    app.add_middleware(AccessLog, metrics=service.metrics)  # the last one added is the first one met
    _describe(app, keys=bool(service.options.api_keys))
    return app


def _describe(app: FastAPI, *, keys: bool) -> None:
    """The schema without FastAPI's own answer to what is not valid, and with the key where there is one."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
            for path, methods in schema["paths"].items():
                for operation in methods.values():
                    operation["responses"].pop("422", None)
                    if keys and path != "/health":
                        operation["security"] = [{"key": []}]
            for name in ("HTTPValidationError", "ValidationError"):
                schema["components"]["schemas"].pop(name, None)
            schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
