"""A process that belongs to another: its pipes, its log, and its end with its owner."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import io
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from engine.event_lines import encode_event
from engine.events import AnyEvent

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PIPE_BYTES = 2**20
"""Room for a few rounds of the largest trees, so that a reader that paints does not stall decoding."""

_PR_SET_PDEATHSIG = 1

log = logging.getLogger("engine.worker")


class EventPipe:
    """Writes events to a file descriptor, one line each; without a reader the process ends."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        with contextlib.suppress(OSError, AttributeError):  # Linux only, and only for pipes
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def emit(self, event: AnyEvent) -> None:
        rest = memoryview(encode_event(event) + b"\n")
        with self._lock:
            while rest:
                try:
                    rest = rest[os.write(self._fd, rest) :]
                except OSError:
                    log.info("nobody reads the events any more: exiting")
                    os._exit(0)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when ``parent`` dies (Linux; elsewhere end of input must do)."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the kernel was asked
            os._exit(0)


class _Log(io.FileIO):
    """The log as libraries print to it: a full disk costs lines, never the answer under way."""

    def write(self, data: ReadableBuffer, /) -> int:
        with contextlib.suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def _log_stream(fd: int) -> io.TextIOWrapper:
    raw = _Log(fd, "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )


def take_over_streams(log_path: Path) -> tuple[int, int]:
    """Keep the pipes for commands and events to ourselves; returns their file descriptors.

    Afterwards descriptors 1 and 2 are the log and 0 is empty, so that no library, whatever it prints
    or reads, can touch either pipe.
    """
    commands_fd, events_fd = os.dup(0), os.dup(1)
    log_fd = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null_fd = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_fd, 0)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(log_fd)
    os.close(null_fd)
    sys.stdout, sys.stderr = _log_stream(1), _log_stream(2)
    return commands_fd, events_fd
