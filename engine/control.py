"""The reins of a run: cancel, pause, step and change settings from another thread."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

import msgspec

from engine.errors import EngineError
from engine.settings import MODES, DecodeSettings

LIVE_SETTINGS = frozenset({"budget", "auto_budget", "mode", "detail"})
"""Settings that can change between two rounds; the others hold for a whole run."""


class Control:
    """Thread-safe. The decode loop looks at it between rounds."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._cancelled = False
        self._paused = False
        self._steps = 0
        self._updates: dict[str, Any] = {}
        self._modes: Collection[str] = MODES

    def cancel(self) -> None:
        """End the run before its next round; it still reports ``Finished``."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def pause(self) -> None:
        with self._changed:
            self._paused = True
            self._steps = 0

    def resume(self) -> None:
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def step(self) -> None:
        """Let one more round pass, then pause."""
        with self._changed:
            self._paused = True
            self._steps += 1
            self._changed.notify_all()

    def update(self, /, **settings: Any) -> None:
        """Change live settings from the next round on.

        Raises:
            EngineError: ``bad_setting`` for a value out of range or a setting that is not live,
                ``no_drafter`` for a mode that the pair under way cannot decode in.
        """
        for name in settings.keys() - LIVE_SETTINGS:
            raise EngineError(
                "bad_setting",
                f"The setting {name} cannot change during a run.",
                "Set it before the next run; live are " + ", ".join(sorted(LIVE_SETTINGS)) + ".",
            )
        try:
            msgspec.convert(settings, DecodeSettings).check()
        except msgspec.ValidationError as error:
            raise EngineError("bad_setting", f"A live setting is invalid: {error}.") from error
        with self._changed:
            self._check_mode(settings)
            self._updates.update(settings)

    def restrict(self, modes: Collection[str]) -> None:
        """Refuse all other modes from now on; ``generate`` says what its pair can do.

        Raises:
            EngineError: ``no_drafter`` if one of the others was asked for already.
        """
        with self._changed:
            self._modes = modes
            self._check_mode(self._updates)

    @property
    def runs(self) -> bool:
        """Whether ``before_round`` would return at once and not end the run."""
        with self._changed:
            return not self._cancelled and (not self._paused or self._steps > 0)

    @property
    def cancelled(self) -> bool:
        with self._changed:
            return self._cancelled

    def before_round(self, settings: DecodeSettings) -> DecodeSettings | None:
        """Wait while paused; the settings for the next round, or None to end the run."""
        with self._changed:
            while self._paused and not self._steps and not self._cancelled:
                self._changed.wait()
            if self._cancelled:
                return None
            self._steps = max(0, self._steps - 1)
            return msgspec.structs.replace(settings, **self._updates)

    def _check_mode(self, settings: dict[str, Any]) -> None:
        mode = settings.get("mode")
        if mode is not None and mode not in self._modes:
            raise no_drafter(mode)


def no_drafter(mode: str) -> EngineError:
    """What to say where ``mode`` is asked for and there is a target alone."""
    return EngineError(
        "no_drafter",
        f"Mode {mode} needs a drafter and none is loaded.",
        "Name one with --drafter, or decode with --mode ar.",
    )
