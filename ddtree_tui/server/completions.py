"""``POST /v1/completions``."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from ddtree_tui.server.answering import Answering
from ddtree_tui.server.completion_request import CompletionRequest
from ddtree_tui.server.described import ANSWER_ERRORS, streamed_or
from ddtree_tui.server.responses import TextAnswer
from ddtree_tui.server.service import Service
from ddtree_tui.server.text_form import TextForm
from engine.commands import Generate
from engine.settings import Message


def completion_routes(service: Service) -> APIRouter:
    """The route, of ``service``."""
    router = APIRouter()

    @router.post(
        "/v1/completions",
        response_model=None,
        responses=streamed_or(TextAnswer, TextAnswer) | ANSWER_ERRORS,
        summary="Go on with a text, without a chat template",
    )
    async def complete(body: CompletionRequest, request: Request) -> Any:
        service.check_model(body.model)
        loaded = service.loaded()
        settings = body.settings(service.options, loaded.context_length, thinking=False)
        messages: list[Message] = [{"role": "user", "content": body.prompt}]
        answering = Answering(
            service,
            TextForm(body, service.options.name),
            Generate(messages=messages, settings=settings, plain=True, candidates=body.candidates),
            request,
            body,
            loaded,
        )
        return await answering.respond()

    return router
