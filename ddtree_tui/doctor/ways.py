"""The ways in which a prompt is answered, so that answers can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from ddtree_tui.mode_name import mode_name
from engine.events import Loaded
from engine.faults.catalogue import FAULTS
from engine.settings import MODES, DecodeSettings

Role = Literal["subject", "beside", "healthy"]


@dataclass(frozen=True)
class Way:
    """One way to decode a prompt.

    Attributes:
        role: ``subject``: what is diagnosed; ``beside``: the same prompt in another mode or with thinking the
            other way; ``healthy``: the subject without what was made wrong on purpose.
    """

    role: Role
    settings: DecodeSettings

    @property
    def name(self) -> str:
        return way_name(self.settings) + (", healthy" if self.role == "healthy" else "")


def way_name(settings: DecodeSettings) -> str:
    """``tree 64, thinking off``; what is wrong on purpose is said."""
    name = f"{mode_name(settings.mode, settings.budget)}, thinking {'on' if settings.thinking else 'off'}"
    if settings.temperature:
        name += f", T={settings.temperature:g}"
    if settings.verify != "solve":
        name += f", verify {settings.verify}"
    return name + (f", with {' and '.join(settings.inject)}" if settings.inject else "")


def ways(subject: DecodeSettings, loaded: Loaded) -> Iterator[Way]:
    """The subject first, then the other modes, thinking the other way, and what is healthy for certain."""
    subject = replace(subject, oracle="full")
    yield Way("subject", subject)
    if wrong_on_purpose(subject):
        verify = "solve" if subject.verify == "naive" else subject.verify
        yield Way("healthy", replace(subject, verify=verify, inject=()))
    if loaded.drafter is not None:
        for mode in MODES:
            if mode != subject.mode:
                yield Way("beside", _as_far_as_it_goes(replace(subject, mode=mode), loaded))
    if loaded.thinking:
        other = replace(subject, thinking=not subject.thinking)
        yield Way("beside", _as_far_as_it_goes(other, loaded))


def plantable(name: str, settings: DecodeSettings, loaded: Loaded) -> bool:
    """Whether a fault can show in a run with these settings, as far as can be told without the pair."""
    fault = FAULTS.get(name)
    kinds = loaded.target.layer_kinds
    met = {
        "drafter": loaded.drafter is not None and settings.mode != "ar",
        "branches": loaded.drafter is not None and settings.mode == "tree",
        "hybrid": not kinds or "linear_attention" in kinds,
        "solve": settings.verify == "solve",
        "thinking": loaded.thinking,
        "thinking-off": not settings.thinking,
    }
    return fault is not None and all(met.get(need, True) for need in fault.needs)


def _as_far_as_it_goes(settings: DecodeSettings, loaded: Loaded) -> DecodeSettings:
    """Without the faults that have no place in that mode."""
    inject = tuple(name for name in settings.inject if plantable(name, settings, loaded))
    return replace(settings, inject=inject)


def wrong_on_purpose(settings: DecodeSettings) -> bool:
    """Whether these settings ask for a fault."""
    return settings.verify == "naive" or bool(settings.inject)
