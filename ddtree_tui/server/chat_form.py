"""How chat answers are written, whole and in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ddtree_tui.server.chat_request import ChatRequest
from ddtree_tui.server.form import Form
from ddtree_tui.server.responses import (
    ChatAnswer,
    ChatChoice,
    ChatLogprobs,
    ChatMessage,
    TokenLogprob,
    TopLogprob,
)
from ddtree_tui.server.transcript import Alternative, Piece, Told


class ChatForm(Form):
    """Of one answer."""

    prefix = "chatcmpl"
    kind = "chat.completion.chunk"
    question = "messages"

    def __init__(self, request: ChatRequest, model: str) -> None:
        super().__init__(model)
        self._request = request

    def opening(self) -> dict[str, Any] | None:
        return self._chunk({"role": "assistant", "content": ""})

    def chunk(self, piece: Piece) -> dict[str, Any]:
        delta: dict[str, Any] = {}
        if piece.thinking:
            delta["reasoning_content"] = piece.thinking
        if piece.text or not piece.thinking:
            delta["content"] = piece.text
        logprobs = _logprobs(piece.told).model_dump() if self._request.alternatives is not None else None
        return self._chunk(delta, logprobs)

    def ending(self, reason: Literal["stop", "length"]) -> dict[str, Any]:
        return self._chunk({}, None, reason)

    def whole(
        self,
        thinking: str,
        text: str,
        told: Sequence[Told],
        reason: Literal["stop", "length"],
        closing: dict[str, Any],
    ) -> ChatAnswer:
        choice = ChatChoice(
            message=ChatMessage(content=text, reasoning_content=thinking or None),
            logprobs=_logprobs(told) if self._request.alternatives is not None else None,
            finish_reason=reason,
        )
        return ChatAnswer(**self.head(), choices=[choice], **closing)

    def _chunk(
        self, delta: dict[str, Any], logprobs: dict[str, Any] | None = None, reason: str | None = None
    ) -> dict[str, Any]:
        return self.streamed({"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason})


def _logprobs(told: Sequence[Told]) -> ChatLogprobs:
    return ChatLogprobs(
        content=[
            TokenLogprob(
                token=each.text,
                logprob=each.logprob,
                bytes=[*each.data],
                top_logprobs=[_alternative(other) for other in each.alternatives],
            )
            for each in told
        ]
    )


def _alternative(other: Alternative) -> TopLogprob:
    return TopLogprob(token=other.text, logprob=other.logprob, bytes=[*other.data])
