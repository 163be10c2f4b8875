"""A film of the program on a terminal of its own."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest
from make_recording import conversation

from ddtree_tui.cast import LONGEST_PAUSE, Act, record_cast
from engine.event_lines import encode_event

ECHO = "import sys\nprint('ready é', flush=True)\nline = input()\nprint('got', line.upper())"


def film(
    program: str, *acts: Act, seconds: float = 60.0
) -> tuple[dict[str, object], list[tuple[float, str, str]]]:
    cast = record_cast(
        [sys.executable, "-c", program], acts, columns=70, rows=20, title="a test", seconds=seconds
    )
    head, *pieces = [json.loads(line) for line in cast.splitlines()]
    return head, pieces


def test_what_was_shown_is_in_it_with_its_times() -> None:
    head, pieces = film(ECHO, Act([*"abc\r"], "ready", pause=0.3, each=0.05))
    assert (head["version"], head["width"], head["height"], head["title"]) == (2, 70, 20, "a test")
    text = "".join(piece[2] for piece in pieces)
    assert "ready é" in text
    assert "got ABC" in text
    times = [piece[0] for piece in pieces]
    assert times == sorted(times)
    assert times[0] == 0
    assert 0.3 <= times[-1] < 5
    assert {piece[1] for piece in pieces} == {"o"}


def test_long_pauses_are_cut() -> None:
    start = time.monotonic()
    _, pieces = film("import time\nprint(1, flush=True)\ntime.sleep(2.5)\nprint(2)")
    assert time.monotonic() - start > 2.5
    assert pieces[-1][0] < LONGEST_PAUSE + 0.5


def test_what_does_not_come_is_no_film() -> None:
    with pytest.raises(TimeoutError, match="'never' was not shown"):
        film(ECHO, Act(["\r"], "never"), seconds=0.5)
    with pytest.raises(TimeoutError, match="was not shown"):
        film("print(1)", Act(["\r"], "never"))


def test_the_app_is_filmed_until_it_gives_the_terminal_back(tmp_path: Path) -> None:
    trace = tmp_path / "run.jsonl"
    trace.write_bytes(b"".join(encode_event(event) + b"\n" for event in conversation(0, rounds=5)))
    command = [sys.executable, "-m", "ddtree_tui", "replay", str(trace), "--log", str(tmp_path / "log")]
    acts = [Act(["a"], "recorded run", pause=0.3), Act(["\x11"], "all played", pause=0.3)]
    cast = record_cast(command, acts, columns=100, rows=30, title="x", seconds=60)
    text = "".join(json.loads(line)[2] for line in cast.splitlines()[1:])
    assert "★" in text
    assert text.rstrip().rfind("\x1b[?1049l") > text.rfind("★")
