"""What is measured so far: JSON lines beside the results, so that a run that was ended can go on."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from ddtree_tui.bench.measurement import Failure, Key, Measurement, key
from engine.errors import EngineError
from engine.events import Floor, Loaded, Noise
from engine.settings import DecodeSettings, LoadSettings

VERSION = 1


class Session(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of every start: what was measured on, and with which settings."""

    v: int = VERSION
    load: LoadSettings
    decode: DecodeSettings
    loaded: Loaded


class FloorLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="floor"):
    """The bandwidth as the last session measured it."""

    floor: Floor


class NoiseLine(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="noise"):
    """How much rounding changes leads, as the last session measured it."""

    noise: Noise


Line = Session | Measurement | Failure | FloorLine | NoiseLine
_DECODER = msgspec.json.Decoder(Line)


def work_path(out: Path) -> Path:
    """Where the work file of the results ``out`` lies."""
    return out.with_name(out.name + ".work.jsonl")


class WorkFile:
    """Lines read from and appended to a file; without a path they are kept in memory alone.

    A last line cut short, as a killed run leaves it, is cut off.

    Raises:
        EngineError: ``bench_file`` if the file cannot be written, is in use, or is something else.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.sessions: list[Session] = []
        self.results: dict[Key, Measurement | Failure] = {}
        self.floor: Floor | None = None
        self.noise: Noise | None = None
        self._fd: int | None = None
        if path is not None:
            try:
                self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._read(self._fd)
            except BlockingIOError as error:
                raise EngineError(
                    "bench_file",
                    f"Another benchmark is writing {path}.",
                    "Wait for it, or choose another --out.",
                ) from error
            except OSError as error:
                raise self._unwritable(error) from error

    @property
    def measurements(self) -> list[Measurement]:
        return [result for result in self.results.values() if isinstance(result, Measurement)]

    @property
    def failures(self) -> list[Failure]:
        return [result for result in self.results.values() if isinstance(result, Failure)]

    def begin(self, session: Session) -> None:
        """Add a session; it must be on the same device, with the same models and settings, as those before.

        Raises:
            EngineError: ``bench_file`` if it is not: numbers of both would not compare.
        """
        self.check(session.load, session.decode)
        if self.sessions:
            self._compare(_surroundings(self.sessions[0].loaded), _surroundings(session.loaded))
        self.add(session)

    def check(self, load: LoadSettings, decode: DecodeSettings) -> None:
        """What can be said before anything is loaded.

        Raises:
            EngineError: as ``begin``.
        """
        if self.sessions:
            first = self.sessions[0]
            self._compare(_settings(first.load, first.decode), _settings(load, decode))

    def _compare(self, before: dict[str, object], now: dict[str, object]) -> None:
        for name in now:
            if before.get(name) != now[name]:
                raise EngineError(
                    "bench_file",
                    f"{self.path} was begun with another {name} ({before.get(name)}, now {now[name]}).",
                    "Use the same again to go on, or choose another --out.",
                )

    def add(self, line: Line) -> None:
        """Take a line, written through to the operating system."""
        self._take(line)
        if self._fd is None:
            return
        rest = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def remove(self) -> None:
        """Everything is in the results: the file is not needed any more."""
        if self.path is not None:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if self.path is not None and not self.sessions:
                self.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, fd: int) -> None:
        whole = 0
        with os.fdopen(os.dup(fd), "rb") as file:
            file.seek(0)
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                try:
                    self._take(_DECODER.decode(line))
                except (msgspec.MsgspecError, RecursionError) as error:
                    raise EngineError(
                        "bench_file",
                        f"Line {number} of {self.path} is no part of a benchmark.",
                        "Remove the file to start anew, or choose another --out.",
                        str(error),
                    ) from error
        os.ftruncate(fd, whole)

    def _take(self, line: Line) -> None:
        match line:
            case Session():
                self.sessions.append(line)
            case FloorLine():
                self.floor = line.floor
            case NoiseLine():
                self.noise = line.noise
            case _:
                self.results[key(line)] = line

    def _unwritable(self, error: OSError) -> EngineError:
        return EngineError(
            "bench_file",
            f"{self.path} cannot be written: {error.strerror or error}.",
            "Choose an --out in a folder that exists, can be written and has room.",
        )


def _settings(load: LoadSettings, decode: DecodeSettings) -> dict[str, object]:
    """What must not change between sessions of what was asked for, by the name people know it under.

    Device and dtype are compared as the engine found them; the rest is what answers differ in anyway.
    """
    asked = {name: getattr(load, name) for name in load.__struct_fields__ if name not in ("device", "dtype")}
    varied = ("mode", "budget", "auto_budget", "thinking", "temperature")
    asked |= {name: getattr(decode, name) for name in decode.__struct_fields__ if name not in varied}
    return {name.replace("_", "-"): value for name, value in asked.items()}


def _surroundings(loaded: Loaded) -> dict[str, object]:
    """The same of what the engine found."""
    models = {"target": loaded.target, "drafter": loaded.drafter}
    return {
        **{name: None if model is None else f"{model.name} {model.dtype}" for name, model in models.items()},
        "device": loaded.device,
        **{f"version of {name}": version for name, version in loaded.versions.items()},
    }
