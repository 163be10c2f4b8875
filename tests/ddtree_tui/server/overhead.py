"""What the server adds to a round, against the engine's process read as ``ddtree-tui generate`` reads it.

    python tests/ddtree_tui/server/overhead.py --starts 4 --pairs 8

asks both in turn for the same answer, streamed, and compares the time from the first token to the end. The
engines are two processes of the same kind with as many threads each (``OMP_NUM_THREADS``, or 1), and one
rests while the other decodes. Of two such processes one may be a few percent faster as its memory happens to
lie, so that every start of both counts as one measurement: ``ratios`` are theirs, medians over the pairs, and
``ratio`` is the mean of these with its standard error. ``engine_ratio`` is the same by the engines' own
clocks, from event to event.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from served import Served, serving

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.commands import Generate, Load
from engine.events import AnyEvent, Finished, Loaded, Prefilled, Round, Tokens
from engine.settings import DecodeSettings, LoadSettings
from engine.text_stream import TextStream

PROMPT = "Tell me a story about a fox and a lantern."


class Took(NamedTuple):
    """Seconds from the first token to the end, by the client's clock and by the engine's, and how many rounds
    they were."""

    seconds: float
    in_engine: float
    rounds: int


def ask_server(served: Served, tokens: int, mode: str) -> Took:
    body = {
        "model": "demo",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
        "max_tokens": tokens,
        "mode": mode,
    }
    first = last = 0.0
    rounds, name = 0, ""
    for chunk in served.stream("/v1/chat/completions", body):
        last = time.perf_counter()
        if chunk != "[DONE]":
            if chunk["choices"][0]["delta"].get("content"):
                first, name = first or last, chunk["id"]
            if chunk.get("ddtree"):
                rounds = chunk["ddtree"]["decode_rounds"]
    events = [json.loads(line) for line in served.get(f"/v1/ddtree/requests/{name}/events")[1].splitlines()]
    times = {event["type"]: event["t"] for event in events if event["type"] in ("prefilled", "finished")}
    return Took(last - first, times["finished"] - times["prefilled"], rounds)


class Headless:
    """The engine's process with a reader that writes the text, as the command without the app has it."""

    def __init__(self, log: Path) -> None:
        self._events: queue.SimpleQueue[AnyEvent] = queue.SimpleQueue()
        self.engine = EngineProcess(self._events.put, log)
        self.engine.start()
        self.engine.send(Load(settings=LoadSettings()))
        while not isinstance(self._events.get(), Loaded):
            pass

    def ask(self, tokens: int, mode: Any) -> Took:
        settings = DecodeSettings(max_new_tokens=tokens, mode=mode)
        self.engine.send(Generate(messages=[{"role": "user", "content": PROMPT}], settings=settings))
        vocabulary = SeenVocabulary()
        stream = TextStream(vocabulary)
        first = began = 0.0
        while True:
            match self._events.get():
                case Tokens() as event:
                    vocabulary.add(event)
                case Prefilled() as event:
                    first, began = time.perf_counter(), event.t
                    stream = TextStream(vocabulary, in_thinking=begins_in_thinking(event))
                    stream.push(event.first_id)
                case Round() as event:
                    for token_id in event.committed_ids:
                        stream.push(token_id)
                case Finished() as event:
                    return Took(time.perf_counter() - first, event.t - began, event.rounds)


def cpu_seconds(pid: int) -> float:
    """Of a process, its children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Side:
    """What one of the two took, milliseconds a round."""

    def __init__(self) -> None:
        self.ms: list[float] = []
        self.engine_ms: list[float] = []

    def add(self, took: Took) -> None:
        self.ms.append(1000 * took.seconds / took.rounds)
        self.engine_ms.append(1000 * took.in_engine / took.rounds)


class Start(NamedTuple):
    """What one start of both engines found: medians over the pairs. ``used_ms``: what the server's process
    computes for a round."""

    headless_ms: float
    server_ms: float
    ratio: float
    engine_ratio: float
    used_ms: float


def measure(served: Served, headless: Headless, pairs: int, tokens: int, mode: str) -> Start:
    """Ask both in turn, now the one and now the other first."""
    server, alone = Side(), Side()
    rounds, used = 0, 0.0

    def ask_one() -> None:
        nonlocal rounds, used
        before = cpu_seconds(served.pid)
        took = ask_server(served, tokens, mode)
        used += cpu_seconds(served.pid) - before
        rounds += took.rounds
        server.add(took)

    headless.ask(tokens, mode)  # first answers make room in the caches
    ask_server(served, tokens, mode)
    for number in range(pairs):
        if number % 2:
            ask_one()
        alone.add(headless.ask(tokens, mode))
        if not number % 2:
            ask_one()

    def ratio(ours: list[float], theirs: list[float]) -> float:
        return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))

    return Start(
        headless_ms=statistics.median(alone.ms),
        server_ms=statistics.median(server.ms),
        ratio=ratio(server.ms, alone.ms),
        engine_ratio=ratio(server.engine_ms, alone.engine_ms),
        used_ms=1000 * used / rounds,
    )


def report(mode: str, starts: list[Start]) -> dict[str, Any]:
    def mean(values: list[float]) -> list[float]:
        """With its standard error, where there are several."""
        found = [statistics.fmean(values)]
        if len(values) > 1:
            found.append(statistics.stdev(values) / len(values) ** 0.5)
        return [round(value, 4) for value in found]

    return {
        "mode": mode,
        "headless_ms": round(statistics.median(start.headless_ms for start in starts), 3),
        "server_ms": round(statistics.median(start.server_ms for start in starts), 3),
        "ratio": mean([start.ratio for start in starts]),
        "engine_ratio": mean([start.engine_ratio for start in starts]),
        "ratios": [round(start.ratio, 4) for start in starts],
        "server_cpu_ms": round(statistics.median(start.used_ms for start in starts), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=160)
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # both engines', whoever starts them
    found: dict[str, list[Start]] = {"tree": [], "ar": []}
    for _ in range(given.starts):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as served:
            served.wait_for("ok")
            headless = Headless(Path(folder) / "headless")
            try:
                for mode, starts in found.items():
                    starts.append(measure(served, headless, given.pairs, given.tokens, mode))
            finally:
                headless.engine.stop()
    for mode, starts in found.items():
        print(json.dumps(report(mode, starts)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
