"""``/v1/ddtree/...``: the engine's events, as they come and of requests gone by."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import APIRouter, Query, Response

from ddtree_tui.server.described import COMMON_ERRORS, EVENTS, errors, text_of
from ddtree_tui.server.errors import ApiError
from ddtree_tui.server.responses import WatchedList, WatchedRequest
from ddtree_tui.server.service import Service
from ddtree_tui.server.stream import KEEP_ALIVE, EventStream, frame
from ddtree_tui.server.watch import MAX_VIEWERS, Viewer, Watched

KEEP_ALIVE_SECONDS = 15.0
_LINES = "application/x-ndjson"


def watch_routes(service: Service) -> APIRouter:
    """The routes, of ``service``."""
    router = APIRouter()
    watch = service.watch

    @router.get(
        "/v1/ddtree/events",
        response_class=Response,
        responses=text_of(EVENTS) | COMMON_ERRORS | errors(404, 429, 503),
        summary="The engine's events as they come, or all of one request",
    )
    async def events(
        request: Annotated[str | None, Query(description="of this request alone, from its beginning")] = None,
        first: Annotated[int, Query(description="not before its event of this number", ge=0)] = 0,
    ) -> Response:
        service.check_open()  # who comes back at the end of a stream would keep the server from ending
        if request is not None:
            _find(request)
        if watch.viewers >= MAX_VIEWERS:
            raise ApiError(429, f"{MAX_VIEWERS} viewers watch already.", code="too_many_viewers")
        viewer = watch.join(request, first if request is not None else 0)
        patience = service.options.limits.idle_seconds
        return EventStream(_frames(viewer), patience, lambda: watch.leave(viewer))

    @router.get(
        "/v1/ddtree/requests",
        response_model=WatchedList,
        responses=COMMON_ERRORS,
        summary="Requests whose events are kept, newest first",
    )
    async def requests() -> WatchedList:
        return WatchedList(data=[WatchedRequest(**each.summary()) for each in watch.requests()])

    @router.get(
        "/v1/ddtree/requests/{request}/events",
        response_class=Response,
        responses=text_of(_LINES) | COMMON_ERRORS | errors(404),
        summary="The events of one request so far, as a trace that ddtree-tui replay reads",
    )
    async def request_events(request: str) -> Response:
        lines = [*([watch.loaded] if watch.loaded is not None else [])]
        lines += [line for _, line in _find(request).events]
        return Response(b"".join(line + b"\n" for line in lines), media_type=_LINES)

    def _find(name: str) -> Watched:
        watched = watch.find(name)
        if watched is None:
            raise ApiError(
                404,
                f"There are no events of a request {name!r} (any more).",
                code="not_found",
                param="request",
            )
        return watched

    async def _frames(viewer: Viewer) -> AsyncGenerator[bytes, None]:
        async for line in viewer.lines(KEEP_ALIVE_SECONDS):
            yield KEEP_ALIVE if line is None else frame(line)

    return router
