"""What the commands that end by themselves put on standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator

from engine.errors import EngineError


def put(text: str) -> None:
    """Write text through to whoever reads it.

    Raises:
        EngineError: ``output`` if it cannot be written.
        BrokenPipeError: if the reader went away.
    """
    with _told():
        sys.stdout.write(text)
        sys.stdout.flush()


def put_bytes(pieces: Iterable[bytes]) -> None:
    """Write bytes, as ``put`` does text."""
    with _told():
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        take_no_more()
        if isinstance(error, BrokenPipeError):
            raise
        raise EngineError(
            "output",
            f"The output cannot be written: {error.strerror or error}.",
            "Make room there, or write it elsewhere.",
        ) from error


def take_no_more() -> None:
    """What is left in the buffers would fail again, loudly, when the program ends."""
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
