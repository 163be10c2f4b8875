"""``POST /v1/chat/completions``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from ddtree_tui.server.answering import Answering
from ddtree_tui.server.chat_form import ChatForm
from ddtree_tui.server.chat_request import ChatRequest
from ddtree_tui.server.described import ANSWER_ERRORS, streamed_or
from ddtree_tui.server.responses import ChatAnswer, ChatChunk
from ddtree_tui.server.service import Service
from engine.commands import Generate


def chat_routes(service: Service) -> APIRouter:
    """The route, of ``service``."""
    router = APIRouter()

    @router.post(
        "/v1/chat/completions",
        response_model=None,
        responses=streamed_or(ChatAnswer, ChatChunk) | ANSWER_ERRORS,
        summary="Answer a conversation",
    )
    async def chat(body: ChatRequest, request: Request) -> Any:
        service.check_model(body.model)
        loaded = service.loaded()
        more = {} if body.thinking is None else {"thinking": body.thinking}
        settings = body.settings(
            service.options, loaded.context_length, detail=bool(body.alternatives), **more
        )
        answering = Answering(
            service,
            ChatForm(body, service.options.name),
            Generate(messages=body.conversation(), settings=settings),
            request,
            loaded=loaded,
            limit=body.answer_tokens,
            alternatives=body.alternatives,
            usage=body.includes_usage,
            trace=body.traces,
            warnings=body.warnings(),
        )
        return await answering.respond(stream=body.streams)

    return router
