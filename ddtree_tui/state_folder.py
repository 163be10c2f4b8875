"""The folder for what the app keeps from one start to the next."""

from __future__ import annotations

from pathlib import Path


def state_folder() -> Path:
    """Where the platform keeps what a program did: ``~/.local/state/ddtree-tui`` on Linux."""
    import platformdirs

    return Path(platformdirs.user_state_path("ddtree-tui", appauthor=False))
