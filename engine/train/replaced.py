"""Files that are complete or not there at all, whenever the process is killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Where to write a file, beside ``path``; it takes that place at the end, unless something is raised."""
    half = path.with_suffix(".part")
    yield half
    half.replace(path)
