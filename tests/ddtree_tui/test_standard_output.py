"""Commands whose output cannot be written, buffered as it is for everybody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from make_recording import conversation

from ddtree_tui import exit_codes
from engine.event_lines import encode_event

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = ("--help", "--version", "models", "config --path", "config --print", "stats RUN")
COMMANDS += ("stats RUN --json", "export RUN --jsonl", "export RUN --svg 1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "run.jsonl"
    path.write_bytes(b"".join(encode_event(event) + b"\n" for event in conversation(1, rounds=5)))
    return path


def ended(command, run, stdout):
    arguments = [str(run) if word == "RUN" else word for word in command.split()]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment["PYTHONPATH"] = str(ROOT)
    return subprocess.run(
        [sys.executable, "-m", "ddtree_tui", *arguments],
        env=environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_no_room_is_told(command, run):
    with Path("/dev/full").open("wb") as full:
        done = ended(command, run, full)
    assert done.returncode == exit_codes.TRACE_FAILED
    assert done.stderr.startswith(b"ddtree-tui: The output cannot be written: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_a_reader_that_went_away_ends_it_silently(command, run):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = ended(command, run, writer)
    finally:
        os.close(writer)
    assert done.returncode == exit_codes.BROKEN_PIPE
    assert done.stderr == b""
