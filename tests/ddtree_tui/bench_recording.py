"""What a long run costs, recorded and then opened in the app: python tests/ddtree_tui/bench_recording.py

The run is synthetic, of trees of 256 nodes over a vocabulary of 150,000 ids; it is recorded by the app's own
recorder in a process of its own, so that making it does not count as the app's memory.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

import msgspec
from make_recording import VOCABULARY as WORDS
from make_recording import Recording as Synthetic
from playing import options_for

from ddtree_tui.controller import Controller
from ddtree_tui.playback import Playback
from ddtree_tui.playground import PlaygroundApp
from ddtree_tui.recorder import Recorder
from ddtree_tui.runs_folder import paths_of
from engine.events import AnyEvent, Round, Tokens
from engine.recording import Recording
from engine.settings import DecodeSettings
from engine.trace import read_trace

VOCABULARY = 150_000
FIRST = len(WORDS)
"""The text is of the synthetic words, the trees of ids beyond them."""
MB = 1e6


@dataclass(frozen=True)
class Measured:
    """Bytes of the file, seconds to open it, milliseconds to read a round alone and to show one in the app,
    bytes of memory before and after."""

    rounds: int
    file_bytes: int
    open_s: float
    load_s: float
    read_ms: list[float]
    scrub_ms: list[float]
    memory_before: int
    memory_open: int
    memory_peak: int

    def table(self) -> str:
        rows = [
            ("rounds", f"{self.rounds:,}"),
            ("file", f"{self.file_bytes / MB:.1f} MB, {self.file_bytes / self.rounds:,.0f} bytes a round"),
            ("read the file", f"{self.open_s:.1f} s"),
            ("all rounds in the app", f"{self.load_s:.1f} s"),
            ("scrub to a round", _spread(self.scrub_ms)),
            ("read a round alone", _spread(self.read_ms)),
            ("memory of the app", f"{self.memory_open / MB:.0f} MB, at most {self.memory_peak / MB:.0f} MB"),
            ("of these before opening", f"{self.memory_before / MB:.0f} MB"),
        ]
        return "\n".join(f"{name:<24} {value}" for name, value in rows)


def long_run(rounds: int, budget: int, seed: int = 0) -> Iterator[AnyEvent]:
    """A run whose tokens are spread over a large vocabulary, as a real tokenizer's are."""
    synthetic = Synthetic(seed)
    rng = random.Random(seed)
    yield from synthetic.start()
    known: set[int] = set()
    settings = DecodeSettings(budget=budget)
    for event in synthetic.answer("A long run.", settings=settings, rounds=rounds):
        if not isinstance(event, Round):
            yield event
            continue
        nodes, target = event.nodes, event.target
        # The same token for the same rank at the same depth, another one elsewhere.
        listed = [
            FIRST + (depth * 104_729 + rank * 31_337 + event.index * 7_919) % VOCABULARY
            for depth, rank in zip(nodes.depths, nodes.ranks, strict=True)
        ]
        reach = (300, VOCABULARY)
        chosen = [FIRST + rng.randrange(reach[rng.random() < 0.5]) for _ in target.ids]
        spread = msgspec.structs.replace(
            event,
            nodes=msgspec.structs.replace(nodes, ids=listed, logprobs=[round(x, 4) for x in nodes.logprobs]),
            target=msgspec.structs.replace(
                target,
                ids=chosen,
                logprobs=[round(x, 4) for x in target.logprobs],
                gaps=[round(rng.expovariate(0.3), 4) for _ in target.ids],
            ),
        )
        if new := {*listed, *chosen} - known:
            known |= new
            yield Tokens(pieces={str(token_id): f" word{token_id}" for token_id in new})
        yield spread


def record(folder: Path, rounds: int, budget: int) -> None:
    """Record the run as the app does, no faster than the recorder."""
    recorder = Recorder(folder)
    slowest = 0.0
    for event in long_run(rounds, budget):
        start = time.perf_counter()
        recorder.take(event)
        slowest = max(slowest, time.perf_counter() - start)
        while recorder._queue.qsize() > 500:
            time.sleep(0.001)
    recorder.close()
    assert recorder.problems() == []
    print(f"slowest handing over of an event: {1000 * slowest:.2f} ms", file=sys.stderr)


async def measure(path: Path, looks: int, *, columns: int = 120, rows: int = 40) -> Measured:
    """Open a recording in the app, let all of it come, and go to rounds all over it."""
    rng = random.Random(0)
    before = _memory("VmRSS")
    start = time.perf_counter()
    trace = read_trace(path)
    open_s = time.perf_counter() - start
    controller = Controller(DecodeSettings(), playback=Playback(trace.events))
    app = PlaygroundApp(controller, options_for(DecodeSettings(), replay=path))
    scrubs = []
    async with app.run_test(size=(columns, rows)) as pilot:
        start = time.perf_counter()
        controller.play_all(time.monotonic())
        while controller.playback is not None and not controller.playback.over:
            await pilot.pause(0.01)
        load_s = time.perf_counter() - start
        count = len(controller.session.rounds)
        await pilot.pause(0.5)
        for _ in range(looks):
            await pilot.pause(0.1)  # paints of other scrubs do not hold this one up
            index = rng.randrange(count)
            start = time.perf_counter()
            controller.viewpoint.choose(index, count)
            app._dirty = True
            await app._paint_at_once()
            scrubs.append(1000 * (time.perf_counter() - start))
            heading = "".join(strip.text for strip in app.screen._compositor.render_strips())
            assert f"round {index + 1}" in heading
        memory_open = _memory("VmRSS")
    reads = []
    with Recording.open(path) as recording:
        for _ in range(looks):
            index = rng.randrange(recording.rounds)
            start = time.perf_counter()
            _, round_ = recording.round(index)
            reads.append(1000 * (time.perf_counter() - start))
            assert round_.index == index
    size = path.stat().st_size
    return Measured(count, size, open_s, load_s, reads, scrubs, before, memory_open, _memory("VmHWM"))


def _memory(name: str) -> int:
    """Of this process, in bytes: VmRSS now, VmHWM at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"no {name}")


def _spread(values: list[float]) -> str:
    return f"median {statistics.median(values):.1f} ms, at most {max(values):.1f} ms"


def main() -> None:
    """Record a run and measure it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--budget", type=int, default=256)
    parser.add_argument("--looks", type=int, default=100, help="rounds that are gone to")
    parser.add_argument("--record-into", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.record_into is not None:
        record(given.record_into, given.rounds, given.budget)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, f"--record-into={folder}"]
        subprocess.run([*command, f"--rounds={given.rounds}", f"--budget={given.budget}"], check=True)
        (path,) = paths_of(Path(folder))
        print(asyncio.run(measure(path, given.looks)).table())


if __name__ == "__main__":
    main()
