"""The body of ``POST /v1/chat/completions``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from ddtree_tui.server.booleans import Boolean
from ddtree_tui.server.decode_request import DecodeRequest, TemplateArguments
from ddtree_tui.server.unsupported import IGNORED, Only
from engine.events import MAX_CANDIDATES
from engine.settings import Message, Mode


def _text(value: Any) -> Any:
    """The text of a content that may come in parts."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError("is a string or a list of parts of type text.")
    for part in value:
        if not isinstance(part, dict) or part.get("type") != "text":
            kind = part.get("type") if isinstance(part, dict) else None
            raise ValueError(f"has a part of type {kind!r}; this server reads parts of type 'text' alone.")
        if not isinstance(part.get("text"), str) or part.keys() - {"type", "text"}:
            raise ValueError("has a part of type 'text' that is not {'type': 'text', 'text': '...'}.")
    return "".join(part["text"] for part in value)


_PART = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
    "required": ["type", "text"],
    "additionalProperties": False,
}
_CONTENT = {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART}]}
Content = Annotated[str, BeforeValidator(_text), WithJsonSchema(_CONTENT)]


class Turn(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    content: Content
    name: Annotated[str | None, IGNORED] = None


class SystemTurn(Turn):
    role: Literal["system", "developer"]


class UserTurn(Turn):
    role: Literal["user"]


class AssistantTurn(Turn):
    """As an answer comes back in the next request, with the fields of OpenAI's that are empty here."""

    role: Literal["assistant"]
    reasoning_content: str | None = None
    refusal: Annotated[Any, Only()] = None
    annotations: Annotated[Any, Only([])] = None
    audio: Annotated[Any, Only()] = None
    function_call: Annotated[Any, Only()] = None
    tool_calls: Annotated[Any, Only([])] = None


class ChatRequest(DecodeRequest):
    """A conversation to be answered."""

    messages: Annotated[
        list[Annotated[SystemTurn | UserTurn | AssistantTurn, Field(discriminator="role")]],
        Field(min_length=1),
    ]
    max_completion_tokens: int | None = Field(None, ge=1, le=2**63 - 1)
    enable_thinking: Boolean = Field(None, description="have the model think before it answers")
    chat_template_kwargs: TemplateArguments | None = None
    logprobs: Boolean = Field(None, description="tell the log-probability of every token of the answer")
    top_logprobs: int | None = Field(None, ge=0, le=MAX_CANDIDATES, description="and the best alternatives'")

    tools: Annotated[Any, Only([])] = None
    tool_choice: Annotated[Any, Only("none", "auto")] = None
    functions: Annotated[Any, Only([])] = None
    function_call: Annotated[Any, Only("none", "auto")] = None
    response_format: Annotated[Any, Only({"type": "text"})] = None
    modalities: Annotated[Any, Only(["text"])] = None
    audio: Annotated[Any, Only()] = None
    prediction: Annotated[Any, Only()] = None
    reasoning_effort: Annotated[Any, Only()] = None
    verbosity: Annotated[Any, Only()] = None
    web_search_options: Annotated[Any, Only()] = None
    parallel_tool_calls: Annotated[bool | None, IGNORED] = None
    service_tier: Annotated[str | None, IGNORED] = None
    store: Annotated[bool | None, IGNORED] = None
    metadata: Annotated[dict[str, Any] | None, IGNORED] = None
    safety_identifier: Annotated[str | None, IGNORED] = None
    prompt_cache_key: Annotated[str | None, IGNORED] = None
    prompt_cache_retention: Annotated[str | None, IGNORED] = None

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.top_logprobs and not self.logprobs:
            raise ValueError("'top_logprobs' needs 'logprobs': true.")
        limits = {self.max_tokens, self.max_completion_tokens} - {None}
        if len(limits) > 1:
            raise ValueError("'max_tokens' and 'max_completion_tokens' contradict each other.")
        if len(self._thinking_said()) > 1:
            raise ValueError("'enable_thinking' contradicts 'chat_template_kwargs.enable_thinking'.")
        return self

    @property
    def thinking(self) -> bool | None:
        """Whether the model is to think, if the request says."""
        return next(iter(self._thinking_said()), None)

    def _thinking_said(self) -> set[bool]:
        nested = self.chat_template_kwargs.enable_thinking if self.chat_template_kwargs else None
        return {said for said in (self.enable_thinking, nested) if said is not None}

    @property
    def answer_tokens(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def answer_field(self) -> str:
        return "max_completion_tokens" if self.max_completion_tokens else "max_tokens"

    @property
    def alternatives(self) -> int | None:
        return (self.top_logprobs or 0) if self.logprobs else None

    def conversation(self) -> list[Message]:
        """The messages as the engine takes them."""
        return [_message(turn) for turn in self.messages]

    def warnings(self, mode: Mode) -> list[str]:
        named = any(turn.name is not None for turn in self.messages)
        unread = "The names in 'messages' are not read: chat templates have no place for them."
        return super().warnings(mode) + ([unread] if named else [])


def _message(turn: SystemTurn | UserTurn | AssistantTurn) -> Message:
    message: Message = {"role": "system" if turn.role == "developer" else turn.role, "content": turn.content}
    if isinstance(turn, AssistantTurn) and turn.reasoning_content is not None:
        message["reasoning_content"] = turn.reasoning_content
    return message
