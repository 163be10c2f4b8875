"""Recorded runs: the events of a run, one JSON line each, in a file. Imports no torch.

``TraceWriter`` writes plain lines; what the app records by itself is in blocks (``engine.recording``). Both
are read here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from engine.blocks import is_gzip
from engine.errors import EngineError
from engine.event_lines import encode_event
from engine.events import AnyEvent, Failed, Loading, Tokens
from engine.packed import PackedEvents
from engine.recording import Recording, checked_event

MAX_LINE_BYTES = 64 * 2**20
"""Longer lines are not events: a round of 1024 nodes with all details has under a megabyte."""


class TraceWriter:
    """Appends events to a new file, each written through to the operating system as it comes.

    A recording begins with ``loaded``: the progress before it is not kept, nor is a failure to load, so
    that a file that held nothing else is gone again after ``close``.

    A write that fails (no room on the disk, most often) ends the recording, not the run: the file is
    cut back to its last whole event, ``write`` raises once, and later calls do nothing.

    Raises:
        EngineError: ``trace_write`` if the file cannot be made or exists already.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None
        self._size = 0
        self._made_file = not _is_device(path)
        try:
            # A device or pipe is written to as it is; a file is made, and never overwritten.
            new = os.O_CREAT | os.O_EXCL if self._made_file else 0
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | new, 0o666)
        except FileExistsError as error:
            if path.is_dir():
                message, hint = f"{path} is a folder, not a trace file.", "Name a new file."
            else:
                message = f"The trace file {path} exists already."
                hint = "Choose another name, or remove the file first."
            raise EngineError("trace_write", message, hint) from error
        except OSError as error:
            raise self._failure(error, "Choose a file in a folder that exists and can be written.") from error

    @property
    def recording(self) -> bool:
        """Whether events still reach the file."""
        return self._fd is not None

    def write(self, event: AnyEvent) -> None:
        """Append one event.

        Raises:
            EngineError: ``trace_write``, at most once; what was written before stays readable.
        """
        if self._fd is None or isinstance(event, Loading):
            return
        if isinstance(event, Failed) and self._size == 0:
            return
        line = encode_event(event) + b"\n"
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):  # devices and pipes have no length to cut
                os.ftruncate(self._fd, self._size)
            self.close()
            raise self._failure(
                error, f"The run goes on; the {self._size:,} bytes written before it stay readable."
            ) from error
        self._size += len(line)

    def close(self) -> None:
        """End the recording; harmless when it has ended."""
        if self._fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = None
            if self._size == 0 and self._made_file:
                self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _failure(self, error: OSError, hint: str) -> EngineError:
        reason = "there is no room left" if error.errno == errno.ENOSPC else (error.strerror or str(error))
        return EngineError(
            "trace_write", f"The trace cannot be written to {self.path}: {reason}.", hint, str(error)
        )


@dataclass(frozen=True)
class Trace:
    """A recorded run.

    Attributes:
        events: in the order they happened.
        notice: one sentence when something was left out, such as a last line cut short; else None.
    """

    events: PackedEvents
    notice: str | None = None


def read_trace(path: Path) -> Trace:
    """Read a recorded run, plain or in blocks.

    A last line without its line break that is no whole event, or a last block cut short, is what a killed
    run leaves: it is dropped with a notice. Events of unknown types are skipped.

    Raises:
        EngineError: ``trace_read`` if the file cannot be read, ``bad_trace`` if it is empty, damaged or holds
            a line that is no event, ``trace_version`` if another schema version wrote it.
    """
    if in_blocks(path):
        return _read_blocks(path)
    events = PackedEvents()
    unknown = 0
    notice: str | None = None
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if not line.strip():
                    continue
                try:
                    event = _decode_line(line, number, path)
                except EngineError as error:
                    cut_short = error.kind == "bad_trace" and not line.endswith(b"\n") and number > 1
                    if not cut_short or len(line) > MAX_LINE_BYTES:
                        raise
                    notice = f"The last line of {path.name} was cut short and is left out."
                    break
                if event is None:
                    unknown += 1
                else:
                    events.append(event)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not events:
        raise EngineError(
            "bad_trace",
            f"The trace file {path} holds no events.",
            "Record a run with: ddtree-tui generate PROMPT --trace FILE",
        )
    if unknown and notice is None:
        notice = f"{unknown} events of {path.name} are of a kind this version does not know."
    return Trace(events, notice)


def check_trace(path: Path) -> None:
    """Raise what ``read_trace`` would raise for the start of the file, without reading on."""
    if in_blocks(path):
        with _reading(path), Recording.open(path) as recording:
            if recording.blocks:
                recording.events(recording.blocks[0])
        return
    try:
        with path.open("rb") as file:
            line = file.readline(MAX_LINE_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not line:
        raise EngineError(
            "bad_trace",
            f"The trace file {path} is empty.",
            "Record a run with: ddtree-tui generate PROMPT --trace FILE",
        )
    if line.strip():
        _decode_line(line, 1, path)


def in_blocks(path: Path) -> bool:
    """Whether the file is packed. A pipe is not looked into: what is read from it is gone.

    Raises:
        EngineError: ``trace_read`` if the file cannot be read.
    """
    if _is_device(path):
        return False
    with _reading(path), path.open("rb") as file:
        return is_gzip(file.read(2))


def _decode_line(line: bytes, number: int, path: Path) -> AnyEvent | None:
    if len(line) > MAX_LINE_BYTES:
        raise EngineError(
            "bad_trace",
            f"Line {number} of {path} is longer than any event.",
            "Check that the file was written by ddtree-tui --trace.",
        )
    try:
        return checked_event(line)
    except EngineError as error:
        if error.kind == "trace_version" and b'"v"' in line:
            raise EngineError(
                error.kind, f"{path}, line {number}: {error.message}", error.hint, error.detail
            ) from error
        if number == 1:
            message = f"{path} is not a DDTree trace: its first line is no event."
            hint = "Choose a file that ddtree-tui wrote with --trace or generate --json."
        else:
            message = f"Line {number} of {path} is broken."
            hint = f"Lines 1 to {number - 1} are intact: cut the file there to open them."
        raise EngineError("bad_trace", message, hint, error.detail) from error


def _read_blocks(path: Path) -> Trace:
    events = PackedEvents()
    seen: set[str] = set()
    with _reading(path), Recording.open(path) as recording:
        for block in recording.blocks:
            for event in recording.events(block):
                if not isinstance(event, Tokens):
                    events.append(event)
                elif new := _unseen(event, seen):
                    events.append(new)
        cut_short = recording.cut_short
    if not events:
        raise EngineError(
            "bad_trace",
            f"The recording {path} was cut short before its first events.",
            "Choose another one; nothing is left of this run.",
        )
    notice = f"The last rounds of {path.name} were cut short and are left out." if cut_short else None
    return Trace(events, notice)


def _unseen(event: Tokens, seen: set[str]) -> Tokens | None:
    """What an announcement adds to those before it; every block repeats the ids it uses."""
    new = {*event.pieces, *event.raw} - seen
    seen |= new
    if not new:
        return None
    return msgspec.structs.replace(
        event,
        pieces={key: piece for key, piece in event.pieces.items() if key in new},
        raw={key: data for key, data in event.raw.items() if key in new},
        special=[token_id for token_id in event.special if str(token_id) in new],
    )


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Names the file in whatever goes wrong."""
    try:
        yield
    except OSError as error:
        raise _unreadable(path, error) from error
    except EngineError as error:
        message = f"{path}: {error.message}"
        raise EngineError(error.kind, message, error.hint, error.detail) from error


def _is_device(path: Path) -> bool:
    """Whether something other than a regular file or folder stands there: a device, a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _unreadable(path: Path, error: OSError) -> EngineError:
    if isinstance(error, FileNotFoundError):
        message = f"There is no trace file {path}."
    elif isinstance(error, IsADirectoryError):
        message = f"{path} is a folder, not a trace file."
    else:
        message = f"The trace file {path} cannot be read: {error.strerror or error}."
    return EngineError("trace_read", message, "Check the path and its permissions.", str(error))
