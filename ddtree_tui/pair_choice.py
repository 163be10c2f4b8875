"""Which pair is loaded or being loaded, which was before, and what its lack of a drafter changes."""

from __future__ import annotations

from pathlib import Path

from ddtree_tui.recent import RecentPair, remember
from engine.events import Loaded
from engine.settings import LoadSettings, Mode


class PairChoice:
    """What was last asked to be loaded.

    Args:
        recent: the file in which pairs that worked are remembered.
    """

    def __init__(self, load: LoadSettings, recent: Path | None) -> None:
        self.load = load
        self._recent = recent
        self._before: LoadSettings | None = None
        self._mode_before: Mode | None = None

    @property
    def changed(self) -> bool:
        """Whether it is another one than the last that worked, to which one could go back."""
        return self._before is not None

    def take(self, load: LoadSettings) -> None:
        """Another one is to be loaded.

        Raises:
            EngineError: ``bad_setting``; nothing has changed then.
        """
        load.check()
        if self._before is None:
            self._before = self.load
        self.load = load

    def back(self) -> bool:
        """To the one before the last ``take``; False if there is none."""
        if self._before is None:
            return False
        self.load, self._before = self._before, None
        return True

    def loaded(self, event: Loaded, mode: Mode) -> Mode:
        """It works, and is remembered. The mode from now on: without a drafter there is ``ar`` alone; with
        one again, the mode that was before."""
        self._before = None
        if self._recent is not None:
            remember(self._recent, RecentPair(self.load.model, self.load.drafter))
        if event.drafter is None and mode != "ar":
            self._mode_before = mode
            return "ar"
        if event.drafter is not None and self._mode_before is not None:
            mode, self._mode_before = self._mode_before, None
        return mode
