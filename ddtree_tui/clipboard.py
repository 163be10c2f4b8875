"""Copying: by the terminal (OSC 52), and into a file, for terminals that do not take it."""

from __future__ import annotations

from pathlib import Path

from ddtree_tui.state_folder import state_folder


def copies_file() -> Path:
    """Where the newest copy is kept."""
    return state_folder() / "copied.txt"


def keep_copy(text: str, path: Path) -> bool:
    """Write the copy down, for its owner alone; whether that was possible."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600, exist_ok=True)
        path.write_bytes(text.encode(errors="replace"))
    except OSError:
        return False
    return True
