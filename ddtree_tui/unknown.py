"""How numbers are told that an imported run may not know. A 0 where there is always some is no number."""

from __future__ import annotations

from collections.abc import Collection

from ddtree_tui.escape import escape
from ddtree_tui.mode_name import mode_name
from engine.events import Loaded, Prefilled, Round, Source, StageTimes
from engine.settings import DecodeSettings

UNKNOWN = "unknown"
UNKNOWN_MODEL = "unknown model"


def number_text(value: float, digits: int) -> str:
    """A time or a speed; ``unknown`` for 0."""
    return f"{value:.{digits}f}" if value else UNKNOWN


def speed_text(tokens_per_second: float) -> str:
    """How fast an answer was."""
    return f"{tokens_per_second:.0f} tokens/s" if tokens_per_second else f"speed {UNKNOWN}"


def time_text(ms: StageTimes) -> str:
    """How long a round took."""
    return f"{ms.total:.1f} ms" if ms.total else f"time {UNKNOWN}"


def position_text(round_: Round) -> str:
    """Where in the text its root stands."""
    return f"position {round_.position}" if round_.position >= 0 else f"position {UNKNOWN}"


def recorded_mode(settings: DecodeSettings, known: Collection[str]) -> str:
    """The mode and budget of a run, as far as they are known."""
    if "mode" not in known:
        return f"mode {UNKNOWN}"
    return mode_name(settings.mode, settings.budget if "budget" in known else 0)


def source_text(source: Source, loaded: Loaded | None) -> str:
    """Where an answer is from that this engine has not written."""
    how = "answered by" if loaded is not None and loaded.system else "imported from"
    return f"{how} {escape(source.system)}: {escape(source.name)}".removesuffix(": ")


def known_settings(prefilled: Prefilled | None) -> frozenset[str]:
    """The names of the settings that are known: all, but for imported answers."""
    if prefilled is None or prefilled.source is None:
        return frozenset(DecodeSettings.__struct_fields__)
    return frozenset(prefilled.source.settings)
