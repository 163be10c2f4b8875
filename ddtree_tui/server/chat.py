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
        settings = body.settings(service.options, loaded.context_length, thinking=body.thinking)
        answering = Answering(
            service,
            ChatForm(body, service.options.name),
            Generate(messages=body.conversation(), settings=settings, candidates=body.candidates),
            request,
            body,
            loaded,
        )
        return await answering.respond()

    return router
