"""What answers look like. Optional parts are there or null, never missing, unless it is said."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ErrorBody(Answer):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorResponse(Answer):
    error: ErrorBody


class PromptDetails(Answer):
    cached_tokens: int = Field(description="tokens that were in the caches already")


class CompletionDetails(Answer):
    reasoning_tokens: int


class Usage(Answer):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class StageMilliseconds(Answer):
    draft: float
    build: float
    verify: float
    walk: float
    commit: float
    total: float


class DDTreeBlock(Answer):
    """How the answer was decoded."""

    mode: str
    block_size: int | None
    tree_budget: int | None = Field(description="null where the mode has none")
    auto_budget: bool = Field(description="it is the most that a round's own, chosen for speed, could be")
    decode_rounds: int
    mean_acceptance_length: float
    acceptance_histogram: list[int] = Field(description="n-th: rounds that committed n tokens")
    output_tokens: int
    tokens_per_second: float = Field(description="of the rounds alone")
    time_to_first_token_ms: float = Field(description="from the start in the engine")
    queue_ms: float
    ms: StageMilliseconds
    drafted: int
    accepted: int
    seed: int
    trace: list[dict[str, Any]] | None = Field(description="the engine's events, with ddtree_trace")


class SpeculativeDecoding(Answer):
    """vLLM's names. A step is a round with a draft; of a tree, all its nodes count as draft tokens."""

    mean_acceptance_length: float
    draft_acceptance_rate: float
    acceptance_histogram: list[int] = Field(description="n-th: steps that accepted n draft tokens")
    num_spec_steps: int
    num_accepted_draft_tokens: int
    num_draft_tokens: int
    num_spec_tokens: int = Field(description="most tokens a step can accept")
    per_step_accepted: list[int]
    per_step_drafted: list[int]


class RequestMetrics(Answer):
    speculative_decoding: SpeculativeDecoding | None = Field(description="null without drafting")


class Closing(Answer):
    """What only the end of an answer tells."""

    usage: Usage | None
    ddtree: DDTreeBlock | None = None
    metrics: RequestMetrics | None = None
    warnings: list[str] | None = None


class TopLogprob(Answer):
    token: str
    logprob: float
    bytes: list[int]


class TokenLogprob(TopLogprob):
    top_logprobs: list[TopLogprob]


class ChatLogprobs(Answer):
    content: list[TokenLogprob]
    refusal: None = None


class ChatMessage(Answer):
    role: Literal["assistant"] = "assistant"
    content: str
    reasoning_content: str | None
    refusal: None = None


class ChatChoice(Answer):
    index: int = 0
    message: ChatMessage
    logprobs: ChatLogprobs | None
    finish_reason: Literal["stop", "length"]


class ChatAnswer(Closing):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChoice]


class ChatDelta(Answer):
    """Fields that say nothing are missing."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None


class ChatChunkChoice(Answer):
    index: int = 0
    delta: ChatDelta
    logprobs: ChatLogprobs | None = None
    finish_reason: Literal["stop", "length"] | None = None


class ChatChunk(Closing):
    """One event of a streamed answer. ``ddtree``, ``metrics`` and ``warnings`` are in the last one alone."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChatChunkChoice]
    ddtree_events: list[dict[str, Any]] | None = None


class TextLogprobs(Answer):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]] | None
    text_offset: list[int]


class TextChoice(Answer):
    index: int = 0
    text: str
    reasoning_content: str | None = None
    logprobs: TextLogprobs | None = None
    finish_reason: Literal["stop", "length"] | None


class TextAnswer(Closing):
    """Of text completions, whole or streamed."""

    id: str
    object: Literal["text_completion"] = "text_completion"
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChoice]
    ddtree_events: list[dict[str, Any]] | None = None


class ModelCard(Answer):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    max_model_len: int | None


class ModelList(Answer):
    object: Literal["list"] = "list"
    data: list[ModelCard]


class Health(Answer):
    status: Literal["starting", "ok", "failed"]
    reason: str | None
    block_size: int | None
    max_draft_len: int | None
    model: str
    drafter: str | None
    device: str | None
    uptime_seconds: float
    engine_restarts: int


class WatchedRequest(Answer):
    id: str
    object: Literal["ddtree.request"] = "ddtree.request"
    kind: Literal["chat", "completion"]
    created: int
    state: Literal["running", "stop", "length", "cancelled", "failed"]
    prompt_tokens: int
    output_tokens: int
    rounds: int
    events: int
    events_kept: int = Field(description="fewer where there were too many to keep")
    settings: dict[str, Any]


class WatchedList(Answer):
    object: Literal["list"] = "list"
    data: list[WatchedRequest]
