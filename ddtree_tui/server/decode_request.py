"""What chat and text completions can both be asked for: OpenAI's fields, and this engine's own."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import Annotated, Any, Literal, Self

from msgspec.structs import replace
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from ddtree_tui.server.booleans import Boolean
from ddtree_tui.server.options import ServeOptions
from ddtree_tui.server.unsupported import IGNORED, Only, ignored_fields
from engine.events import TOP_CANDIDATES
from engine.settings import AUTO_BUDGET, MAX_BUDGET, DecodeSettings, Mode

MAX_STOPS = 16
MAX_TEMPERATURE = 100.0
_SEEDS = 2**63


def _stops(value: Any) -> Any:
    if value is None or isinstance(value, str):
        value = [] if value is None else [value]
    if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
        raise ValueError("is a string or a list of strings, none of them empty.")
    if len(value) > MAX_STOPS:
        raise ValueError(f"has {len(value)} strings; at most {MAX_STOPS} are possible.")
    return value


_STOP = {"type": "string", "minLength": 1}
_STOPS = {"type": "array", "items": _STOP, "maxItems": MAX_STOPS}
Stops = Annotated[
    list[str],
    BeforeValidator(_stops),
    WithJsonSchema({"anyOf": [_STOP, _STOPS, {"type": "null"}]}),
]


def _temperature(value: float | None) -> float | None:
    if value is not None and 0 < value < 1e-6:
        raise ValueError("is 0 (greedy) or at least 0.000001.")
    return value


AUTO = "auto"


def _tree_budget(value: Any) -> Any:
    if value is None or value == AUTO or (type(value) is int and 1 <= value <= MAX_BUDGET):
        return value
    raise ValueError(f'is a whole number from 1 to {MAX_BUDGET}, or "{AUTO}".')


_BUDGETS = [
    {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET},
    {"type": "string", "enum": [AUTO]},
    {"type": "null"},
]
TreeBudget = Annotated[
    int | Literal["auto"] | None, PlainValidator(_tree_budget), WithJsonSchema({"anyOf": _BUDGETS})
]


class StreamOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    include_usage: Boolean = None
    include_obfuscation: Annotated[Any, Only(False)] = None


class TemplateArguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    enable_thinking: Boolean = None


class DecodeRequest(BaseModel):
    """The common part. A field that is null counts as not said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: str = Field(description="the served model's name, as /v1/models has it")

    stream: Boolean = Field(None, description="answer as server-sent events")
    stream_options: StreamOptions | None = None

    max_tokens: int | None = Field(None, ge=1, le=_SEEDS - 1, description="most tokens of the answer")
    temperature: Annotated[float | None, AfterValidator(_temperature)] = Field(
        None, ge=0, le=MAX_TEMPERATURE, allow_inf_nan=False, description="0 is greedy"
    )
    top_p: float | None = Field(None, gt=0, le=1, allow_inf_nan=False)
    top_k: int | None = Field(None, ge=0, le=_SEEDS - 1, description="0 is off")
    min_p: float | None = Field(None, ge=0, lt=1, allow_inf_nan=False)
    seed: int | None = Field(
        None,
        ge=0,
        le=_SEEDS - 1,
        description="same seed, same text; else one is drawn, and told in ddtree",
    )
    stop: Stops = Field(default_factory=list, description="ends the answer before such a string")

    mode: Literal["ar", "chain", "tree"] | None = Field(None, description="the text is the same in all")
    tree_budget: TreeBudget = Field(
        None, description="most draft nodes a round, in mode tree; auto: chosen round by round for speed"
    )
    ddtree_trace: Boolean = Field(None, description="send the engine's events along")

    n: Annotated[Any, Only(1)] = None
    frequency_penalty: Annotated[Any, Only(0)] = None
    presence_penalty: Annotated[Any, Only(0)] = None
    repetition_penalty: Annotated[Any, Only(1)] = None
    logit_bias: Annotated[Any, Only({})] = None
    user: Annotated[str | None, IGNORED] = None

    @model_validator(mode="after")
    def _check_stream_options(self) -> Self:
        if self.stream_options is not None and not self.stream:
            raise ValueError("'stream_options' needs 'stream': true.")
        return self

    @property
    def streams(self) -> bool:
        return bool(self.stream)

    @property
    def includes_usage(self) -> bool:
        return self.stream_options is not None and bool(self.stream_options.include_usage)

    @property
    def traces(self) -> bool:
        return bool(self.ddtree_trace)

    @property
    @abstractmethod
    def alternatives(self) -> int | None:
        """How many candidates are told per token; None for no log-probabilities at all."""

    def warnings(self, mode: Mode) -> list[str]:
        """What the request asks for and does not get, a sentence each. ``mode``: as it is decoded."""
        found = [f"The parameter '{name}' has no effect on this server." for name in ignored_fields(self)]
        if self.tree_budget is not None and mode != "tree":
            found.append(f"The parameter 'tree_budget' has no effect in mode '{mode}'.")
        return found

    def settings(self, options: ServeOptions, context: int, **more: Any) -> DecodeSettings:
        """How to decode the answer: what is said here, before what ``serve`` was started with.

        Args:
            context: tokens that prompt and answer may have together.
            more: settings that only one kind of request has; None is not said.
        """
        said = {
            "mode": self.mode,
            **self._budget(options.decode),
            "temperature": None if self.temperature is None else float(self.temperature),
            "top_p": None if self.top_p is None else float(self.top_p),
            "top_k": self.top_k,
            "min_p": None if self.min_p is None else float(self.min_p),
            "seed": self.seed,
            "max_new_tokens": self.answer_tokens or options.answer_tokens or context,
            "stop": tuple(self.stop) or None,
            "detail": bool(self.alternatives),
            **more,
        }
        said = {name: value for name, value in said.items() if value is not None}
        settings = replace(options.decode, **said)
        if self.seed is None and not options.fixed_seed and settings.temperature > 0:
            settings = replace(settings, seed=random.randrange(2**31))
        return settings

    def _budget(self, served: DecodeSettings) -> dict[str, Any]:
        if self.tree_budget == AUTO:
            most = served.budget if served.auto_budget else AUTO_BUDGET
            return {"budget": most, "auto_budget": True}
        return {} if self.tree_budget is None else {"budget": self.tree_budget, "auto_budget": False}

    @property
    def answer_tokens(self) -> int | None:
        """Most tokens the request wants, if it says."""
        return self.max_tokens

    @property
    def answer_field(self) -> str:
        """The name of the parameter that says so."""
        return "max_tokens"

    @property
    def candidates(self) -> int:
        """How many the engine is to tell of, where it tells of any."""
        return max(TOP_CANDIDATES, self.alternatives or 0)
