"""``/health``, ``/metrics`` and ``/v1/models``: what there is, and how it is."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from ddtree_tui.server.described import COMMON_ERRORS, errors, text_of
from ddtree_tui.server.engine_host import Status
from ddtree_tui.server.responses import Health, ModelCard, ModelList
from ddtree_tui.server.service import Service


def health_routes(service: Service) -> APIRouter:
    """The routes, of ``service``."""
    router = APIRouter()
    options = service.options

    @router.get(
        "/health",
        response_model=Health,
        responses={503: {"model": Health, "description": "Not ready yet, or not at all"}},
        summary="Whether answers can be expected; needs no key",
    )
    async def health() -> JSONResponse:
        found = _health(service)
        return JSONResponse(found.model_dump(), 200 if found.status == "ok" else 503)

    @router.get(
        "/metrics",
        response_class=Response,
        responses=text_of("text/plain") | COMMON_ERRORS,
        summary="Numbers in Prometheus' text format",
    )
    async def metrics() -> Response:
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    @router.get("/v1/models", response_model=ModelList, responses=COMMON_ERRORS, summary="What is served")
    async def models() -> ModelList:
        return ModelList(data=[_card(service)])

    @router.get(
        "/v1/models/{name:path}",
        response_model=ModelCard,
        responses=COMMON_ERRORS | errors(404),
        summary="One model",
    )
    async def model(name: str) -> ModelCard:
        service.check_model(name)
        return _card(service)

    def _card(service: Service) -> ModelCard:
        loaded = service.host.loaded
        return ModelCard(
            id=options.name,
            created=int(service.created),
            owned_by="ddtree",
            max_model_len=loaded.context_length if loaded else None,
        )

    return router


def _health(service: Service) -> Health:
    host = service.host
    loaded = host.loaded
    ok = host.status is Status.OK and not host.closing
    return Health(
        status=host.status.value if not host.closing else "failed",
        reason=None if ok else "The server is shutting down." if host.closing else host.reason,
        block_size=loaded.block_size if loaded else None,
        max_draft_len=loaded.block_size - 1 if loaded and loaded.block_size else None,
        model=service.options.name,
        drafter=loaded.drafter.name if loaded and loaded.drafter else None,
        device=loaded.device if loaded else None,
        uptime_seconds=round(service.uptime, 3),
        engine_restarts=host.restarts,
    )
