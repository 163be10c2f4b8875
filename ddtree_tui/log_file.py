"""Where the details go: one log file per start, the oldest ones removed."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from pathlib import Path

from engine.errors import EngineError

KEPT_LOGS = 20


def new_log_path() -> Path:
    """The path of this start's log; its folder exists, the file is made by whoever writes first.

    The folder is the system's for logs, or a temporary one where that cannot be written.
    """
    import platformdirs

    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    folder = Path(platformdirs.user_log_dir("ddtree-tui", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(folder)
    except OSError:
        return Path(tempfile.gettempdir()) / f"ddtree-tui-{name}"
    _remove_oldest(folder)
    return folder / name


def checked_log_path(path: Path) -> Path:
    """``path``, if a log can be appended to it.

    Raises:
        EngineError: ``usage`` otherwise.
    """
    try:
        path.open("ab").close()
    except OSError as error:
        raise EngineError(
            "usage",
            f"The log cannot be written to {path}: {error.strerror or error}.",
            "Choose a file in a folder that exists and can be written.",
        ) from error
    return path


def _remove_oldest(folder: Path) -> None:
    for path in sorted(folder.glob("*.log"))[: -KEPT_LOGS + 1]:
        with contextlib.suppress(OSError):
            path.unlink()
