"""What another program's server takes of our settings. Pure."""

from __future__ import annotations

from engine.events import Loaded
from engine.settings import DecodeSettings

SETTINGS = frozenset({"thinking", "temperature", "top_p", "top_k", "min_p", "seed", "max_new_tokens", "stop"})
"""Those of ``DecodeSettings`` that such a server is told; the others are its own to decide."""
_NAMES = {"vllm": "vLLM", "sglang": "SGLang"}


def name_of(system: str) -> str:
    """What a system (``engine.events.Loaded``) is called at the beginning of a sentence."""
    return _NAMES.get(system, "The server")


def known_of(loaded: Loaded | None) -> frozenset[str]:
    """The names of the settings that are known of answers to come: all, but for another program's server."""
    if loaded is None or not loaded.system:
        return frozenset(DecodeSettings.__struct_fields__)
    return SETTINGS | ({"mode"} if loaded.mode is not None else set())
