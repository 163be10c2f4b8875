"""Does watching slow the engine? python tests/ddtree_tui/bench_rate.py (with the repository on PYTHONPATH)

The demo pair answers the same prompts twice: with nobody but a reader that throws events away, and in the
app on a terminal of 120 x 40 with its recorder on. Both take turns. The rate is that between the first and
the last round of each answer, by the engine's own clock; wanted is 0.95 of the rate alone.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import queue
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.runs_folder import recorded_runs
from engine.commands import Generate, Load
from engine.events import AnyEvent, Failed, Finished, Loaded, Round
from engine.settings import DecodeSettings, LoadSettings
from engine.trace import read_trace

WANTED = 0.95
PROMPTS = (
    "Tell me a short story about a fox.",
    "Write a Python function that reverses a list.",
    "Tom has 12 apples and buys 8 more. How many apples does he have?",
    "Write a story about telling the truth",
)
NEW_CONVERSATION, ENTER, QUIT = b"\x0e", b"\r", b"\x11"
PATIENCE = 120.0


def rate(answers: Iterable[Iterable[AnyEvent]]) -> float:
    """Tokens per second of the rounds behind the first of each answer."""
    tokens, seconds = 0, 0.0
    for events in answers:
        rounds = [event for event in events if isinstance(event, Round)]
        if len(rounds) > 1:
            tokens += sum(round_.acceptance_length for round_ in rounds[1:])
            seconds += rounds[-1].t - rounds[0].t
    return tokens / seconds


def alone(settings: DecodeSettings, log: Path) -> float:
    """The rate without the app: an engine process whose events are only decoded."""
    inbox: queue.SimpleQueue[AnyEvent] = queue.SimpleQueue()
    answers: list[list[AnyEvent]] = []
    with EngineProcess(inbox.put, log) as engine:
        engine.send(Load(settings=LoadSettings()))
        while not isinstance(inbox.get(timeout=PATIENCE), Loaded):
            pass
        for prompt in PROMPTS:
            engine.send(Generate(messages=[{"role": "user", "content": prompt}], settings=settings))
            events: list[AnyEvent] = []
            while not (events and isinstance(events[-1], Finished | Failed)):
                events.append(inbox.get(timeout=PATIENCE))
            answers.append(events)
    return rate(answers)


def watched(settings: DecodeSettings, folder: Path) -> float:
    """The rate with the app on a terminal, from what it has recorded."""
    runs = folder / "ddtree-tui" / "runs"

    def ended() -> list[Path]:
        return [run.path for run in recorded_runs(runs) if run.ending in ("stop", "length")]

    with terminal(settings, folder) as keyboard:
        for number, prompt in enumerate(PROMPTS):
            os.write(keyboard, NEW_CONVERSATION)
            time.sleep(0.5)
            os.write(keyboard, prompt.encode() + ENTER)
            end = time.monotonic() + PATIENCE
            while len(ended()) <= number:
                assert time.monotonic() < end, f"the app has not answered {prompt!r}"
                time.sleep(0.5)
    return rate(read_trace(path).events for path in ended())


@contextlib.contextmanager
def terminal(settings: DecodeSettings, state: Path) -> Iterator[int]:
    """The app on a terminal that swallows what it paints, and is typed on through the descriptor."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    options = [f"--mode={settings.mode}", f"--budget={settings.budget}", "--thinking"]
    process = subprocess.Popen(
        [sys.executable, "-m", "ddtree_tui", *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"TERM": "xterm-256color", "XDG_STATE_HOME": str(state)},
    )
    os.close(theirs)
    over, seen = threading.Event(), bytearray()

    def swallow() -> None:
        while not over.is_set():
            if select.select([ours], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    seen.extend(os.read(ours, 2**16))

    reader = threading.Thread(target=swallow, daemon=True)
    reader.start()
    try:
        end = time.monotonic() + PATIENCE
        while b"ready" not in seen:
            assert time.monotonic() < end, "the app does not start"
            time.sleep(0.2)
        yield ours
        os.write(ours, QUIT)
        process.wait(20)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        over.set()
        reader.join()
        os.close(ours)


def main() -> int:
    """Print a line per turn and the medians; 1 if the app slows the engine by more than is wanted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--budget", type=int, default=64)
    options = parser.parse_args()
    settings = DecodeSettings(budget=options.budget, thinking=True)
    ratios, rates = [], []
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            pair = (alone(settings, Path(folder) / "log"), watched(settings, Path(folder)))
        rates.append(pair)
        ratios.append(pair[1] / pair[0])
        print(
            f"turn {turn + 1}: alone {pair[0]:.1f} tokens/s, watched {pair[1]:.1f}: {ratios[-1]:.3f}",
            flush=True,
        )
    medians = [statistics.median(column) for column in zip(*rates, strict=True)]
    ratio = statistics.median(ratios)
    print(f"medians: alone {medians[0]:.1f}, watched {medians[1]:.1f}; ratio {ratio:.3f}, wanted {WANTED}")
    return int(ratio < WANTED)


if __name__ == "__main__":
    sys.exit(main())
