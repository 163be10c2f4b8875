"""What is known of another server with OpenAI's interface before it is asked anything.

``/v1/models`` has each model's id, and of vLLM and SGLang its context (``max_model_len``) and who serves it
(``owned_by``). vLLM says its version at ``/version``; whether it drafts, and how many tokens at most, its
counters at ``/metrics``. SGLang says its arguments at ``/server_info``, or where it is
older at ``/get_server_info``: https://docs.sglang.io/advanced_features/server_arguments.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ddtree_tui.attach.client import Client
from ddtree_tui.attach.plain_counters import Counters, read_counters
from ddtree_tui.attach.probe import chosen
from engine.errors import EngineError
from engine.events import MAX_NODES, Loaded, ModelInfo
from engine.settings import Mode


@dataclass(frozen=True)
class PlainServer:
    """What was found out. What is None or empty is unknown.

    Attributes:
        system: as in ``engine.events.Loaded``.
        models: all that it serves.
        mode, budget: how it decodes; the budget counts a tree's nodes.
        drafted: most tokens of a draft chain.
        counters: as they stood; None where it has none of those known here.
    """

    system: str
    model: str
    models: tuple[str, ...]
    version: str = ""
    context: int = 0
    mode: Mode | None = None
    budget: int = 0
    drafted: int = 0
    drafter: str = ""
    counters: Counters | None = None

    def loaded(self, seconds: float) -> Loaded:
        """The event that begins everything. ``seconds``: that it took to find out."""
        return Loaded(
            target=_model(self.model),
            drafter=_model(self.drafter) if self.drafter else None,
            device="",
            versions={self.system: self.version} if self.version else {},
            block_size=self.drafted + 1 if 0 < self.drafted <= MAX_NODES else None,
            mask_token_id=None,
            target_layer_ids=[],
            memory_bytes=0,
            seconds=seconds,
            context_length=self.context,
            vocab_size=0,
            system=self.system,
            mode=self.mode,
        )


def look_at(client: Client, model: str | None) -> PlainServer:
    """Ask the server for itself.

    Args:
        model: one of those it serves; None takes the first.

    Raises:
        EngineError: ``remote_answer`` if it names no model, ``usage`` if not this one; as ``refusals``.
    """
    listed = client.get("/v1/models")
    entries = listed.get("data") if isinstance(listed, dict) else None
    models = {
        entry["id"]: entry
        for entry in (entries if isinstance(entries, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    }
    if not models:
        raise EngineError("remote_answer", f"{client.address} serves no model.", "Check the server.")
    entry = models[chosen(client.address, tuple(models), model)]
    counters = read_counters(_text(client, "/metrics"))
    info = _object(client, "/server_info") or _object(client, "/get_server_info")
    system = _system(entry, info)
    found = _of_sglang(info) if system == "sglang" else _of_vllm(client, counters) if system == "vllm" else {}
    return PlainServer(
        system=system,
        model=entry["id"],
        models=tuple(models),
        context=_count(entry.get("max_model_len")),
        counters=counters,
        **found,
    )


def _system(entry: dict[str, Any], info: dict[str, Any]) -> str:
    owner = entry.get("owned_by")
    if owner in ("vllm", "sglang"):
        return str(owner)
    return "sglang" if "speculative_algorithm" in info else "openai"


def _of_vllm(client: Client, counters: Counters | None) -> dict[str, Any]:
    """It verifies chains; the counters of drafting are there if it drafts."""
    found: dict[str, Any] = {"version": _word(_object(client, "/version").get("version"))}
    if counters is not None and counters.generated is not None:
        found["mode"] = "chain" if counters.drafts is not None else "ar"
        found["drafted"] = len(counters.accepted_at)
    return found


def _of_sglang(info: dict[str, Any]) -> dict[str, Any]:
    """With ``speculative_eagle_topk`` above 1 it verifies trees, else chains; it verifies
    ``speculative_num_draft_tokens`` at once, the root among them."""
    found: dict[str, Any] = {"version": _word(info.get("version"))}
    if "speculative_algorithm" not in info:
        return found
    if not info["speculative_algorithm"]:
        return found | {"mode": "ar"}
    nodes = _count(info.get("speculative_num_draft_tokens")) - 1
    found["drafter"] = _word(info.get("speculative_draft_model_path"))
    if _count(info.get("speculative_eagle_topk")) > 1:
        return found | {"mode": "tree", "budget": max(0, nodes)}
    return found | {"mode": "chain", "drafted": max(0, nodes)}


def _text(client: Client, path: str) -> str:
    """What is at ``path``; nothing where it is not told, for whatever reason."""
    try:
        return client.text(path)
    except EngineError:
        return ""


def _object(client: Client, path: str) -> dict[str, Any]:
    try:
        found = client.get(path)
    except EngineError:
        return {}
    return found if isinstance(found, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9 else 0


def _word(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _model(name: str) -> ModelInfo:
    return ModelInfo(name=name, path=name, architecture="", parameters=0, dtype="")
