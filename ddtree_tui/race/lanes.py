"""Lanes of a race as one writes them: ``ar,chain,tree:64,tree:auto,tree:64+thinking``."""

from __future__ import annotations

import re

from msgspec.structs import replace

from ddtree_tui.budget import budget_text, read_budget
from ddtree_tui.mode_name import mode_name
from ddtree_tui.plural import counted
from engine.errors import EngineError
from engine.settings import MAX_LANES, DecodeSettings

PRESETS = {
    "modes": "ar,chain,tree",
    "budgets": "ar,tree:16,tree:64",
    "thinking": "tree-thinking,tree+thinking",
}
_LANE = re.compile(r"(?P<mode>ar|chain|tree)(?::(?P<budget>[^+-]+))?(?P<thinking>[+-]thinking)?")
_HOW = (
    "Write ar, chain, tree, tree:BUDGET or tree:auto, each with +thinking or -thinking behind it if you like."
)


def read_lanes(text: str, base: DecodeSettings) -> list[DecodeSettings]:
    """The settings of every lane; what a lane does not say is ``base``'s.

    Args:
        text: lanes parted by commas, or the name of a preset.

    Raises:
        EngineError: ``bad_setting``.
    """
    lanes = [_lane(part.strip(), base) for part in PRESETS.get(text.strip(), text).split(",")]
    if not 2 <= len(lanes) <= MAX_LANES:
        raise EngineError(
            "bad_setting",
            f"A race cannot have {counted(len(lanes), 'lane')}.",
            f"Name from 2 to {MAX_LANES}, as in: ar,chain,tree:64",
        )
    return lanes


def lane_name(settings: DecodeSettings) -> str:
    """As people read it: ``tree 64 thinking``, ``tree auto:256``."""
    name = mode_name(settings.mode, settings.budget)
    if settings.mode == "tree" and settings.auto_budget:
        name = f"tree {budget_text(settings.budget, auto=True)}"
    return f"{name} thinking" if settings.thinking else name


def _lane(text: str, base: DecodeSettings) -> DecodeSettings:
    found = _LANE.fullmatch(text)
    if found is None or (found["budget"] and found["mode"] != "tree"):
        raise EngineError("bad_setting", f"There is no lane {text!r}.", _HOW)
    lane = replace(base, mode=found["mode"])
    if found["budget"]:
        lane = replace(lane, **read_budget(found["budget"]))
    if found["thinking"]:
        lane = replace(lane, thinking=found["thinking"][0] == "+")
    lane.check()
    return lane
