"""What went wrong, as a dialog tells it: the cause, and what can be done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.events import Failed

RESTART_HELPS = frozenset({"out_of_memory", "internal", "rank_lost"})
"""Failures of a run after which a new engine may do better than the one that is there."""


@dataclass(frozen=True)
class Problem:
    """Something to tell in a dialog.

    ``restart``: starting the engine again may help; ``wait``: so may waiting; ``back``: there are models that
    were loaded before.
    """

    title: str
    message: str
    hint: str = ""
    log_path: Path | None = None
    restart: bool = False
    wait: bool = False
    back: bool = False


def failure(event: Failed, log_path: Path | None, *, broken: bool, back: bool) -> Problem:
    """A run or the loading has failed. ``broken``: no models are loaded now."""
    if event.error == "engine_died":
        title = "The engine has stopped"
    elif broken:
        title = "The models could not be loaded"
    else:
        title = "Out of memory" if event.error == "out_of_memory" else "The run has failed"
    restart = broken or event.error in RESTART_HELPS
    return Problem(title, event.message, event.hint, log_path, restart=restart, back=broken and back)


def silence(seconds: float, log_path: Path | None) -> Problem:
    """The engine has reported nothing for so long."""
    return Problem(
        "The engine does not answer",
        f"It should be decoding, and has reported nothing for {seconds:g} seconds.",
        "Wait if the prompt is very long or the device is busy; else restart it. The text so far stays.",
        log_path,
        restart=True,
        wait=True,
    )
