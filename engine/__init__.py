"""DDTree speculative decoding: ``from engine import load_pair, generate``.

Nothing heavy is imported until one of the names is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.control import Control as Control
    from engine.decode import generate as generate
    from engine.errors import EngineError as EngineError
    from engine.load import load_pair as load_pair
    from engine.settings import DecodeSettings as DecodeSettings

_HOMES = {
    "Control": "engine.control",
    "DecodeSettings": "engine.settings",
    "EngineError": "engine.errors",
    "generate": "engine.decode",
    "load_pair": "engine.load",
}

__all__ = ["Control", "DecodeSettings", "EngineError", "generate", "load_pair"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
