"""A prompt on its way to the server: what is sent, and what is left to the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ddtree_tui.attach.client import Client, Line
from ddtree_tui.attach.refusals import not_understood, words_of
from engine.commands import Generate
from engine.errors import EngineError
from engine.settings import AUTO_BUDGET, DecodeSettings

ASKED = frozenset(
    {
        *("mode", "budget", "auto_budget", "thinking", "temperature", "top_p", "top_k", "min_p", "seed"),
        *("max_new_tokens", "stop", "detail"),
    }
)
"""The settings that a request has; all others are the server's."""
PATH = "/v1/chat/completions"
_DONE = b"[DONE]"
_FULL = "context_length_exceeded"


class Sent:
    """One prompt under way. ``id``: what the server calls it, once it says so."""

    def __init__(self, command: Generate) -> None:
        self.command = command
        self.line = Line()
        self.id: str | None = None
        self.cancelled = False


def body(command: Generate, model: str, *, limited: bool = True) -> dict[str, Any]:
    """The request. ``limited``: with the most tokens of the answer; else it may fill the context."""
    settings = command.settings
    found: dict[str, Any] = {
        "model": model,
        "messages": command.messages,
        "stream": True,
        "mode": settings.mode,
        "enable_thinking": settings.thinking,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "top_k": settings.top_k,
        "min_p": settings.min_p,
        "seed": settings.seed,
        "stop": list(settings.stop),
    }
    if settings.mode == "tree":
        found["tree_budget"] = "auto" if settings.auto_budget else settings.budget
    if limited:
        found["max_tokens"] = settings.max_new_tokens
    if settings.detail:
        found |= {"logprobs": True, "top_logprobs": 1}  # what has the engine report candidates
    return found


def askable(settings: DecodeSettings) -> DecodeSettings:
    """The settings with everything that is the server's as by default."""
    kept = {name: value for name, value in msgspec.structs.asdict(settings).items() if name in ASKED}
    if settings.auto_budget:
        kept["budget"] = AUTO_BUDGET
    return DecodeSettings(**kept)


def chunks(client: Client, sent: Sent, model: str) -> Iterator[dict[str, Any]]:
    """Send it, and give what comes back piece by piece, to the end of the answer.

    An answer of so many tokens that it would not fit into the context is asked for again with as many as fit:
    so it is without a server.

    Raises:
        EngineError: as ``refusals`` names them.
    """
    try:
        yield from _chunks(client, sent, body(sent.command, model))
    except EngineError as error:
        if error.kind != "remote_refused" or _FULL not in error.detail or sent.id is not None:
            raise
        yield from _chunks(client, sent, body(sent.command, model, limited=False))


def _chunks(client: Client, sent: Sent, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with client.open("POST", PATH, request, timeout=None, line=sent.line) as reply:
        for data in reply.events():
            if data == _DONE:
                return
            try:
                chunk = msgspec.json.decode(data)
            except (msgspec.DecodeError, RecursionError) as error:
                raise not_understood(client.address, "something that is not JSON", str(error)) from error
            if not isinstance(chunk, dict):
                raise not_understood(client.address, "something that is no part of an answer", repr(chunk))
            if "error" in chunk:
                words, code = words_of(data)
                raise EngineError(
                    "remote_refused", words or "The server did not finish the answer.", "", code
                )
            yield chunk
