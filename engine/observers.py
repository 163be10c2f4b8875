"""Which observers look at an answer."""

from __future__ import annotations

from engine.detectors.commits import Commits
from engine.detectors.drafter_choice import DrafterChoice
from engine.detectors.drafter_input import DrafterInput
from engine.detectors.drafter_window import DrafterWindow
from engine.detectors.features import Features
from engine.detectors.live import FromEvents, Together
from engine.detectors.pair import PairCheck
from engine.detectors.passes import Passes
from engine.detectors.template import Template
from engine.observer import Observer
from engine.settings import DecodeSettings


def observers(settings: DecodeSettings) -> list[Observer]:
    """Those that look at an answer with these settings, in the order in which they are asked."""
    before = (PairCheck(), Template())
    inside = (DrafterInput(), DrafterWindow(), Features(), Passes(), Commits())
    found: list[Observer] = [Together([*before, *inside, FromEvents(), DrafterChoice()])]
    if settings.oracle == "full":
        from engine.oracle.oracle import FullOracle

        found.append(FullOracle())
    elif settings.oracle == "sample":
        from engine.oracle.sample import SampleOracle

        found.append(SampleOracle())
    return found
