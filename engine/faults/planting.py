"""Gives a run a pair with faults in it.

Faults are copies and subclasses of a pair's parts, made for one run: the pair itself, its caches and every
class stay as they are, so that healthy and faulty runs can alternate in one process.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from engine.errors import EngineError
from engine.faults import (
    commits,
    drafter,
    drafter_block,
    features,
    prompt,
    quantised,
    stale,
    text,
    verification,
    vocabulary,
)
from engine.faults.catalogue import FAULTS, Need
from engine.pair import Pair
from engine.rounds import Stages
from engine.settings import DecodeSettings, Message
from engine.static.state import MAX_STOP_IDS


class Planting:
    """The parts of a run that faults may change: a pair of copies with caches of its own.

    Attributes:
        pair: its target, drafter and codec are shallow copies, its session and caches are new; the weights
            are the original's and must not be written to.
        settings: of the run; a fault may replace them.
    """

    def __init__(self, pair: Pair, settings: DecodeSettings, *, on_device: bool = False) -> None:
        self.settings = settings
        self.pair = dataclasses.replace(
            pair,
            target=copy.copy(pair.target),
            drafter=copy.copy(pair.drafter),
            codec=copy.copy(pair.codec),
            on_device=on_device,
            stages=Stages(),
        )

    def vary(self, part: object, variant: type) -> None:
        """Make ``part``, one of this planting's own, an object of its class varied by ``variant``.

        ``variant`` overrides methods and reaches the class's own by ``super()``; several faults can vary one
        part.
        """
        own = type(part)
        varied = type(f"{variant.__name__}{own.__name__}", (variant, own), {})
        object.__setattr__(part, "__class__", varied)  # a pair is frozen


Plant = Callable[[Planting], None]

PLANTS: dict[str, Plant] = {
    **drafter_block.PLANTS,
    **features.PLANTS,
    **verification.PLANTS,
    **commits.PLANTS,
    **stale.PLANTS,
    **drafter.PLANTS,
    **quantised.PLANTS,
    **prompt.PLANTS,
    **vocabulary.PLANTS,  # behind the prompt's: a text is cut into tokens, and these have other ids
    **text.PLANTS,
}
"""How each fault of the catalogue is planted; several in this order."""


def plant(
    pair: Pair, settings: DecodeSettings, messages: Sequence[Message] = ()
) -> tuple[Pair, DecodeSettings]:
    """The pair and the settings of a run with the faults of ``settings.inject``.

    Args:
        messages: the conversation that the run answers.

    Raises:
        EngineError: ``bad_setting`` for a fault that cannot show in this run.
    """
    names = list(dict.fromkeys(settings.inject))
    for name in names:
        _check_needs(name, pair, settings, messages)
    planting = Planting(pair, settings, on_device=_on_device(names))
    for name in sorted(names, key=[*PLANTS].index):
        PLANTS[name](planting)
    return planting.pair, planting.settings


def _on_device(names: list[str]) -> bool:
    """Whether the run decodes in rounds on the device."""
    places = {FAULTS[name].rounds: name for name in names}
    if "device" in places and "host" in places:
        raise EngineError(
            "bad_setting",
            f"The faults {places['device']} and {places['host']} cannot be planted together: one shows in "
            "rounds on the device, the other in rounds on the host.",
            "Plant them one after the other.",
        )
    return "device" in places


def _check_needs(name: str, pair: Pair, settings: DecodeSettings, messages: Sequence[Message]) -> None:
    if name not in FAULTS:
        raise _refused(name, "there is no way to plant it", "Leave it away.")
    for need in FAULTS[name].needs:
        met, hint = _NEEDS[need]
        if not met(pair, settings, messages):
            raise _refused(name, f"it needs {_NAMES[need]}", hint)


def _refused(name: str, why: str, hint: str) -> EngineError:
    return EngineError("bad_setting", f"The fault {name} cannot be planted here: {why}.", hint)


_NAMES: dict[Need, str] = {
    "drafter": "a drafter at work",
    "branches": "trees",
    "hybrid": "a target with recurrent layers",
    "solve": "verification by a solve",
    "template": "a chat template",
    "thinking": "a chat template that knows thinking",
    "thinking-off": "thinking off",
    "system": "a system message",
    "device": "rounds on the device",
}
_NEEDS: dict[Need, tuple[Callable[[Pair, DecodeSettings, Sequence[Message]], Any], str]] = {
    "drafter": (
        lambda pair, settings, _: pair.drafter and settings.mode != "ar",
        "Use --mode tree or chain.",
    ),
    "branches": (lambda pair, settings, _: pair.drafter and settings.mode == "tree", "Use --mode tree."),
    "hybrid": (
        lambda pair, settings, _: "linear_attention" in pair.target.layer_kinds,
        "Choose a hybrid target, for example the demo.",
    ),
    "solve": (lambda pair, settings, _: settings.verify == "solve", "Use --verify solve."),
    "device": (
        lambda pair, settings, _: (
            settings.verify == "solve"
            and len(pair.codec.stop_ids) <= MAX_STOP_IDS
            and (pair.on_device or pair.target.device.type == "cpu")
        ),
        "Use --verify solve, and a target that fits on one device.",
    ),
    "thinking": (lambda pair, settings, _: pair.codec.supports_thinking, "Choose a target that can think."),
    "thinking-off": (lambda pair, settings, _: not settings.thinking, "Switch thinking off."),
    "system": (
        lambda pair, settings, messages: any(message["role"] == "system" for message in messages),
        "Give the conversation one.",
    ),
    "template": (lambda pair, settings, _: pair.codec.has_template, "Choose a target with a chat template."),
}
