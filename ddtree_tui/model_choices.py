"""What can be picked for target and drafter: presets, pairs loaded lately, or what is typed."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from ddtree_tui.recent import RecentPair, recent_file, recent_pairs
from ddtree_tui.screens.picker import Choice
from engine.presets import PRESETS
from engine.settings import LoadSettings

NONE = ""
"""Picked for a drafter: the preset's own, or none."""


@dataclass(frozen=True)
class ModelChoices:
    """Of the target or the drafter. ``pairs``: targets loaded lately -> the drafters they had."""

    of: str
    help: str
    all: tuple[Choice, ...]
    pairs: tuple[RecentPair, ...]

    def taken(self, text: str, load: LoadSettings) -> LoadSettings:
        """``load`` with what was picked. A target brings a drafter: the preset's, or the one it last had."""
        if self.of == "drafter":
            return replace(load, drafter=text or None)
        if not text or text == load.model:
            return load
        lately = next((pair.drafter for pair in self.pairs if pair.model == text), None)
        return replace(load, model=text, drafter=lately)


def choices_for(of: str) -> ModelChoices:
    """``of``: ``model`` or ``drafter``."""
    pairs = tuple(recent_pairs(recent_file()))
    lately = [pair for pair in pairs if pair.model not in PRESETS or pair.drafter]
    if of == "model":
        presets = tuple(Choice(name, name, preset.note) for name, preset in PRESETS.items())
        recent = tuple(
            Choice(pair.model, pair.model, f"loaded lately with drafter {pair.drafter or '(none)'}")
            for pair in lately
        )
        return ModelChoices(of, "A preset, or type a folder or hub id", (*recent, *presets), pairs)
    drafters = dict.fromkeys(pair.drafter for pair in lately if pair.drafter)
    recent = tuple(Choice(name, name, "loaded lately") for name in drafters)
    own = Choice(NONE, "the preset's own, or none", "without a drafter there is mode ar alone")
    help_ = "Type a folder or hub id; it has to be trained on the target"
    return ModelChoices(of, help_, (own, *recent), pairs)
