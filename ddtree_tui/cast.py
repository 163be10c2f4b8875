"""A program on a terminal of its own, recorded as an asciinema cast (version 2 of the format)."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_PAUSE = 1.5
"""Seconds; longer ones, as while models load, are cut to this."""
SECONDS_TO_END = 15.0


@dataclass(frozen=True)
class Act:
    """Wait until the program has written ``text`` since the act before, and ``pause`` seconds; then press
    ``keys``, as a terminal sends them, ``each`` seconds apart."""

    keys: Sequence[str]
    text: str = ""
    pause: float = 0.0
    each: float = 0.04


def record_cast(
    command: Sequence[str],
    acts: Sequence[Act],
    *,
    columns: int,
    rows: int,
    title: str,
    seconds: float = 300.0,
) -> str:
    """Run the command, play the acts, wait for its end; the cast, a JSON line a piece of output.

    Raises:
        TimeoutError: if an act's text does not come, or the program does not end, within ``seconds``.
    """
    terminal, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"},
        )
    finally:
        os.close(theirs)
    output = _Output(terminal)
    try:
        for act in acts:
            output.wait_for(act.text, seconds)
            output.listen(act.pause)
            for key in act.keys:
                os.write(terminal, key.encode())
                output.listen(act.each)
        output.listen_to_the_end(SECONDS_TO_END)
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError("the program does not end") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(terminal)
    head = {"version": 2, "width": columns, "height": rows, "title": title, "env": {"TERM": "xterm-256color"}}
    lines = [json.dumps(head), *(json.dumps(piece, ensure_ascii=False) for piece in output.pieces)]
    return "\n".join(lines) + "\n"


class _Output:
    """What a program writes, with the seconds since its first output, long pauses cut."""

    def __init__(self, terminal: int) -> None:
        self.pieces: list[tuple[float, str, str]] = []
        self._terminal = terminal
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._new = ""
        self._now = 0.0
        self._last: float | None = None
        self._over = False

    def wait_for(self, text: str, seconds: float) -> None:
        """Listen until ``text`` has come since the last call."""
        end = time.monotonic() + seconds
        while text not in self._new:
            if self._over or time.monotonic() > end:
                raise TimeoutError(f"{text!r} was not shown")
            self._read(0.05)
        self._new = ""

    def listen(self, seconds: float) -> None:
        """Take what comes in the next seconds."""
        end = time.monotonic() + seconds
        while not self._over and (left := end - time.monotonic()) > 0:
            self._read(left)

    def listen_to_the_end(self, seconds: float) -> None:
        """Take what comes until the program has closed its terminal."""
        end = time.monotonic() + seconds
        while not self._over:
            if time.monotonic() > end:
                raise TimeoutError("the program does not end")
            self._read(0.05)

    def _read(self, seconds: float) -> None:
        if not select.select([self._terminal], [], [], seconds)[0]:
            return
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # how Linux says that nobody is left who writes
            data = b""
        self._over = not data
        now = time.monotonic()
        if self._last is not None:
            self._now += min(now - self._last, LONGEST_PAUSE)
        self._last = now
        if text := self._decoder.decode(data, final=self._over):
            self._new += text
            self.pieces.append((round(self._now, 3), "o", text))
