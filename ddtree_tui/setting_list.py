"""The settings one can change in the app: from when on it holds, how they are turned and shown. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from ddtree_tui.config import Field, field
from engine.commands import SettingValue
from engine.control import LIVE_SETTINGS, no_drafter
from engine.errors import EngineError
from engine.events import Loaded
from engine.settings import MAX_BUDGET, MODES, DecodeSettings

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
STEPS: dict[str, tuple[float, ...]] = {
    "budget": tuple(2**n for n in range(MAX_BUDGET.bit_length())),
    "temperature": TEMPERATURES,
    "top_p": (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0),
    "top_k": (0, 1, 5, 10, 20, 50, 100, 200),
    "min_p": (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3),
    "max_new_tokens": tuple(2**n for n in range(4, 18)),
    "paints_per_second": (1, 2, 3, 5, 8, 10, 15),
}
"""What the arrow keys go through; any other value can be typed."""
UNSET = {
    "block_size": "the drafter's own",
    "drafter": "the preset's own",
    "context": "the target's own",
    "device_map": "one device",
    "tp": "one process",
    "quantize": "as they are",
    "threads": "by the pair's size",
    "paints_per_second": "by itself",
}
"""What holds where a setting that may be left out is."""


class Since(Enum):
    """From when on a change holds."""

    ROUND = "from the next round"
    RUN = "from the next run"
    LOAD = "after loading the models anew"
    NOW = "at once"


@dataclass(frozen=True)
class Setting:
    """One setting, and from when on a change of it holds."""

    field: Field
    since: Since

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def title(self) -> str:
        """Its name in words."""
        return self.name.replace("_", " ")

    @property
    def is_switch(self) -> bool:
        """Whether it is turned, not typed."""
        return bool(self.field.choices) or isinstance(self.field.default, bool)


@dataclass(frozen=True)
class Limits:
    """What the loaded pair allows. ``block_size``: the drafter's own, None where it is not known."""

    modes: tuple[str, ...] = MODES
    block_size: int | None = None

    @classmethod
    def of(cls, loaded: Loaded | None) -> Limits:
        """Of a pair; before one is loaded everything is allowed."""
        if loaded is None:
            return cls()
        return cls(MODES if loaded.drafter is not None else ("ar",), loaded.block_size)


def changed(settings: DecodeSettings, limits: Limits, changes: Mapping[str, SettingValue]) -> DecodeSettings:
    """The settings with some of them changed.

    Raises:
        EngineError: ``bad_setting``, ``no_drafter``.
    """
    try:
        made = msgspec.convert(msgspec.structs.asdict(settings) | dict(changes), DecodeSettings)
    except msgspec.ValidationError as error:
        raise EngineError("bad_setting", f"The setting will not do: {error}.") from error
    made.check()
    if "mode" in changes and made.mode not in limits.modes:
        raise no_drafter(made.mode)
    size, most = made.block_size, limits.block_size
    if "block_size" in changes and size is not None and most is not None and size > most:
        raise EngineError(
            "bad_setting",
            f"The block size cannot be {size}: the drafter was trained with {most}.",
            f"Choose a block size from 2 to {most}.",
        )
    return made


def _decode() -> tuple[Setting, ...]:
    made = [
        Setting(field("decode", name), Since.ROUND if name in LIVE_SETTINGS else Since.RUN)
        for name in DecodeSettings.__struct_fields__
    ]
    return tuple(sorted(made, key=lambda setting: setting.since is not Since.ROUND))


_LOAD = ("model", "drafter", "device", "dtype", "context")
_LOOKS = ("theme", "colour", "ascii", "paints_per_second")
SETTINGS: tuple[Setting, ...] = (
    *_decode(),
    *(Setting(field("models", name), Since.LOAD) for name in _LOAD),
    *(Setting(field("looks", name), Since.NOW) for name in _LOOKS),
)


def setting(name: str) -> Setting:
    """One setting, by name."""
    return next(setting for setting in SETTINGS if setting.name == name)


def turned(setting: Setting, value: Any, by: int, limits: Limits) -> Any:
    """``value`` turned ``by`` steps up or down; as it is where there are no steps."""
    name = setting.name
    if isinstance(setting.field.default, bool):
        return not value
    if choices := limits.modes if name == "mode" else setting.field.choices:
        return choices[(choices.index(value) + by) % len(choices)] if value in choices else choices[0]
    if name in STEPS:
        steps = STEPS[name]
        moved = _next_of(steps, steps[-1] if value is None else value, by)
        return moved if isinstance(setting.field.default, float) else int(moved)
    if name == "block_size":
        most = limits.block_size
        size = (value if value is not None else most or 2) + by
        return None if most is not None and size >= most else max(2, size)
    if name == "seed":
        return max(0, value + by)
    return value


def nudged(setting: Setting, value: Any, by: int, limits: Limits) -> Any:
    """A whole number, one more or less; other settings as ``turned``."""
    if isinstance(value, int) and not isinstance(value, bool) and setting.name in STEPS:
        return value + by
    return turned(setting, value, by, limits)


def about(setting: Setting, limits: Limits) -> str:
    """What it means, and its values where that does not name them or the pair has not all."""
    said, choices = setting.field.help, setting.field.choices
    if setting.name == "mode" and tuple(limits.modes) != choices:
        return f"{said} Without a drafter: {', '.join(limits.modes)}."
    return said if all(choice in said for choice in choices) else f"{said} ({', '.join(choices)})"


def shown(setting: Setting, value: Any, limits: Limits | None = None) -> str:
    """A value as it is shown."""
    if value is None:
        own = limits.block_size if limits and setting.name == "block_size" else None
        return UNSET[setting.name] + (f" ({own})" if own else "")
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return msgspec.json.encode(value).decode() if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def typed(setting: Setting, value: Any) -> str:
    """A value as one would type it; nothing stands for none."""
    if value is None or value == ():
        return ""
    if isinstance(value, tuple) and len(value) == 1 and not value[0].startswith("["):
        return str(value[0])
    return shown(setting, value)


def position(setting: Setting, value: Any) -> float | None:
    """Where on a slider from 0 to 1 the budget is, by its number of digits; None for other settings."""
    if setting.name != "budget":
        return None
    low, high = 1, MAX_BUDGET
    return math.log2(min(max(int(value), low), high)) / math.log2(high)


def _next_of(steps: tuple[float, ...], value: float, by: int) -> float:
    if by > 0:
        return next((step for step in steps if step > value), steps[-1])
    return next((step for step in reversed(steps) if step < value), steps[0])
