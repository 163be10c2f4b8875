"""What another server is asked for, and what is left away where it refuses.

Every field is sent that the app's settings say, so that no default of the server's own, such as those from a
model's ``generation_config.json``, decides unnoticed. What only tells more of the answer goes without a word
where a server refuses it; what changes the answer, with a notice.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from ddtree_tui.served import SETTINGS
from engine.errors import EngineError
from engine.settings import DecodeSettings, Message

TELLING = ("return_token_ids", "return_spec_tokens_details", "logprobs", "continuous_usage_stats")
"""Fields that make the server tell more. vLLM has the first, SGLang the second."""
CHANGING = {"chat_template_kwargs": "thinking", "top_k": "top_k", "min_p": "min_p", "seed": "seed"}
"""Fields beyond the smallest common ones, and the settings that they carry."""
LENGTH = ("max_tokens", "max_completion_tokens")
"""The two names of one field: the second is tried where the first is refused, as OpenAI's newer models do.
Servers refuse it too where it does not fit into the context: then the context is limit enough."""
_REFUSED = ("status 400", "status 422")


def request_body(
    model: str,
    messages: Sequence[Message],
    settings: DecodeSettings,
    *,
    system: str,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """The body of a request for a streamed chat answer.

    Args:
        system: as in ``engine.events.Loaded``; only vLLM and SGLang are sent what they have beyond OpenAI's.
        without: fields to leave away, of ``TELLING``, ``CHANGING``, ``LENGTH`` and ``stream_options``.
    """
    options = {"include_usage": True, "continuous_usage_stats": True}
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message["role"], "content": message["content"]} for message in messages],
        "stream": True,
        "stream_options": {name: value for name, value in options.items() if name not in without},
        "temperature": settings.temperature,
        "logprobs": True,
        "chat_template_kwargs": {"enable_thinking": settings.thinking},
    }
    for name in LENGTH[:1] if LENGTH[0] not in without else LENGTH[1:]:
        body[name] = settings.max_new_tokens
    if settings.stop:
        body["stop"] = list(settings.stop)
    own = system in ("vllm", "sglang")
    if settings.temperature:
        body |= {"top_p": settings.top_p, "seed": settings.seed}
        if settings.top_k or own:
            body["top_k"] = settings.top_k or -1  # both take -1 as none
        if settings.min_p or own:
            body["min_p"] = settings.min_p
    if system == "vllm":
        body["return_token_ids"] = True
    if system == "sglang":
        body["return_spec_tokens_details"] = True
    return {name: value for name, value in body.items() if name not in without}


def known_settings(body: dict[str, Any]) -> frozenset[str]:
    """The settings that a body tells the server. With temperature 0 the filters mean nothing."""
    unsaid = {setting for field, setting in CHANGING.items() if field not in body}
    if not body["temperature"]:
        unsaid -= {"top_k", "min_p", "seed"}
    if not any(name in body for name in LENGTH):
        unsaid.add("max_new_tokens")
    return SETTINGS - unsaid


def to_leave_away(error: EngineError, body: dict[str, Any], without: Collection[str]) -> set[str]:
    """What to try without after a refusal: the field that the server names, else all that only tell more,
    else all that it may not know; nothing if there is nothing left, or the refusal is of another kind."""
    if error.kind != "remote_refused" or not error.detail.startswith(_REFUSED):
        return set()
    optional = (*TELLING, *CHANGING, "stream_options")
    there = {name for name in optional if name in body or name in body.get("stream_options", {})} - {*without}
    named = {name for name in there if re.search(rf"\b{name}\b", error.message)}
    if "continuous_usage_stats" in named:
        named.discard("stream_options")  # where it is
    if "enable_thinking" in error.message:
        named |= there & {"chat_template_kwargs"}
    if any(words in error.message for words in (*LENGTH, "context")):
        named |= {name for name in LENGTH if name in body}
    return named or there & {*TELLING} or there
