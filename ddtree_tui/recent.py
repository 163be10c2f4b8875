"""The pairs loaded lately, so that they can be picked again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ddtree_tui.state_folder import state_folder

MOST = 8


class RecentPair(msgspec.Struct, frozen=True):
    """Target and drafter, as they were named."""

    model: str
    drafter: str | None = None


def recent_file() -> Path:
    """In the platform's state folder."""
    return state_folder() / "recent.json"


def recent_pairs(path: Path) -> list[RecentPair]:
    """The newest first; none where the file is missing or no such list."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(path.read_bytes(), type=list[RecentPair])[:MOST]
    return []


def remember(path: Path, pair: RecentPair) -> None:
    """Put a pair first. Where nothing can be written, nothing is remembered."""
    pairs: Sequence[RecentPair] = [pair, *(other for other in recent_pairs(path) if other != pair)]
    written = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written.write_bytes(msgspec.json.encode(list(pairs[:MOST])))
        written.replace(path)
