"""How text completions are written, whole and in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ddtree_tui.server.completion_request import CompletionRequest
from ddtree_tui.server.form import Form
from ddtree_tui.server.responses import TextAnswer, TextChoice, TextLogprobs
from ddtree_tui.server.transcript import Piece, Told


class TextForm(Form):
    """Of one answer. Text inside thinking tags is apart here too."""

    prefix = "cmpl"
    kind = "text_completion"
    question = "prompt"

    def __init__(self, request: CompletionRequest, model: str) -> None:
        super().__init__(model)
        self._alternatives = request.alternatives

    def opening(self) -> dict[str, Any] | None:
        return None

    def chunk(self, piece: Piece) -> dict[str, Any]:
        choice = TextChoice(
            text=piece.text,
            reasoning_content=piece.thinking or None,
            logprobs=self._logprobs(piece.told),
            finish_reason=None,
        )
        return self.streamed(choice.model_dump())

    def ending(self, reason: Literal["stop", "length"]) -> dict[str, Any]:
        return self.streamed(TextChoice(text="", finish_reason=reason).model_dump())

    def whole(
        self,
        thinking: str,
        text: str,
        told: Sequence[Told],
        reason: Literal["stop", "length"],
        closing: dict[str, Any],
    ) -> TextAnswer:
        choice = TextChoice(
            text=text,
            reasoning_content=thinking or None,
            logprobs=self._logprobs(told),
            finish_reason=reason,
        )
        return TextAnswer(**self.head(), choices=[choice], **closing)

    def _logprobs(self, told: Sequence[Told]) -> TextLogprobs | None:
        if self._alternatives is None:
            return None
        best = [{other.text: other.logprob for other in each.alternatives} for each in told]
        return TextLogprobs(
            tokens=[each.text for each in told],
            token_logprobs=[each.logprob for each in told],
            top_logprobs=best if self._alternatives else None,
            text_offset=[each.start for each in told],
        )
