"""What the command line hands to the app. Imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.settings import DecodeSettings, LoadSettings


@dataclass(frozen=True)
class AppOptions:
    """How the app is to start.

    Attributes:
        load: which pair to load, and where; unused with ``replay``.
        decode: the settings the first answer starts with; the app's knobs change copies of it.
        replay: a recorded run to show instead of loading a pair.
        trace: a file to record every event into, or None.
        prompt: sent as soon as the pair is ready, or None to wait for the user.
        debug: show tracebacks and raise the log's level.
        log_path: the file the engine's and the app's details go to; its folder exists.
    """

    load: LoadSettings
    decode: DecodeSettings
    replay: Path | None
    trace: Path | None
    prompt: str | None
    debug: bool
    log_path: Path
