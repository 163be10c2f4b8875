"""What answers at an address: this program's server, or any that speaks OpenAI's interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ddtree_tui.attach.address import Address
from ddtree_tui.attach.client import Client
from ddtree_tui.escape import escape, fit
from engine.errors import EngineError

REQUESTS = "/v1/ddtree/requests"
MODELS = "/v1/models"
MOST_NAMED = 20
MOST_CELLS = 100
"""Of models in a sentence: how many, and how wide the name of each."""


@dataclass(frozen=True)
class Server:
    """What was found. ``models``: what it calls those that it serves; at least one."""

    kind: Literal["ddtree", "plain"]
    models: tuple[str, ...]


def probe(client: Client) -> Server:
    """Ask who is there.

    Raises:
        EngineError: ``remote_answer`` for something else than a server of language models; what else
            ``refusals`` names.
    """
    ours = _listed(client, REQUESTS) is not None
    models = _listed(client, MODELS)
    names = [entry.get("id") for entry in models or [] if isinstance(entry, dict)]
    known = tuple(name for name in names if isinstance(name, str))
    if not known:
        raise EngineError(
            "remote_answer",
            f"{client.address} is neither a DDTree server nor one with OpenAI's interface.",
            "Start one with: ddtree-tui serve",
        )
    return Server("ddtree" if ours else "plain", known)


def chosen(address: Address, models: Sequence[str], model: str | None) -> str:
    """The model that is to answer: the first, if none is named.

    Raises:
        EngineError: ``usage`` if the server does not have this one.
    """
    if model is None:
        return models[0]
    if model not in models:
        raise EngineError(
            "usage",
            f"{address} does not serve {model}.",
            f"It serves {named(models)}. Choose one with --model.",
        )
    return model


def named(models: Sequence[str]) -> str:
    """A server's models in a sentence: it may call them anything, and have any number."""
    names = [fit(escape(name[: MOST_CELLS + 1]), MOST_CELLS) for name in models[:MOST_NAMED]]
    more = f" and {len(models) - MOST_NAMED} more" if len(models) > MOST_NAMED else ""
    return ", ".join(names) + more


def _listed(client: Client, path: str) -> list[Any] | None:
    """The entries of OpenAI's kind of list; None where there is none."""
    try:
        found = client.get(path)
    except EngineError as error:
        if error.kind in ("remote_missing", "remote_refused", "remote_answer"):
            return None
        raise
    data = found.get("data") if isinstance(found, dict) and found.get("object") == "list" else None
    return data if isinstance(data, list) else None
