"""What the server adds to a round, against the engine's process read as ``ddtree-tui generate`` reads it.

    python tests/ddtree_tui/server/overhead.py --pairs 20

asks both in turn for the same answer, streamed, and compares the time from the first token to the end. The
engines are two processes of the same kind, and one rests while the other decodes.
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
from typing import Any

from served import Served, serving

from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.vocabulary import SeenVocabulary, begins_in_thinking
from engine.commands import Generate, Load
from engine.events import AnyEvent, Finished, Loaded, Prefilled, Round, Tokens
from engine.settings import DecodeSettings, LoadSettings
from engine.text_stream import TextStream

PROMPT = "Tell me a story about a fox and a lantern."


def ask_server(served: Served, tokens: int, mode: str) -> tuple[float, int]:
    """Seconds from the first token to the end, and how many rounds."""
    body = {
        "model": "demo",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": True,
        "max_tokens": tokens,
        "mode": mode,
    }
    first = last = 0.0
    rounds = 0
    for chunk in served.stream("/v1/chat/completions", body):
        last = time.perf_counter()
        if chunk != "[DONE]":
            if chunk["choices"][0]["delta"].get("content"):
                first = first or last
            if chunk.get("ddtree"):
                rounds = chunk["ddtree"]["decode_rounds"]
    return last - first, rounds


class Headless:
    """The engine's process with a reader that writes the text, as the command without the app has it."""

    def __init__(self, log: Path) -> None:
        self._events: queue.SimpleQueue[AnyEvent] = queue.SimpleQueue()
        self.engine = EngineProcess(self._events.put, log)
        self.engine.start()
        self.engine.send(Load(settings=LoadSettings()))
        while not isinstance(self._events.get(), Loaded):
            pass

    def ask(self, tokens: int, mode: Any) -> tuple[float, int]:
        settings = DecodeSettings(max_new_tokens=tokens, mode=mode)
        self.engine.send(Generate(messages=[{"role": "user", "content": PROMPT}], settings=settings))
        vocabulary = SeenVocabulary()
        stream = TextStream(vocabulary)
        first = 0.0
        while True:
            match self._events.get():
                case Tokens() as event:
                    vocabulary.add(event)
                case Prefilled() as event:
                    first = time.perf_counter()
                    stream = TextStream(vocabulary, in_thinking=begins_in_thinking(event))
                    stream.push(event.first_id)
                case Round() as event:
                    for token_id in event.committed_ids:
                        stream.push(token_id)
                case Finished() as event:
                    return time.perf_counter() - first, event.rounds


def cpu_seconds(pid: int) -> float:
    """Of a process, its children not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(served: Served, headless: Headless, pairs: int, tokens: int, mode: str) -> dict[str, Any]:
    """Milliseconds a round of both, their ratio, and what the server's process computes for a round."""
    ours, theirs, ratios = [], [], []
    rounds_served = 0
    used = 0.0
    for _ in range(pairs + 1):
        seconds, rounds = headless.ask(tokens, mode)
        theirs.append(1000 * seconds / rounds)
        before = cpu_seconds(served.pid)
        seconds, rounds = ask_server(served, tokens, mode)
        used += cpu_seconds(served.pid) - before
        rounds_served += rounds
        ours.append(1000 * seconds / rounds)
        ratios.append(ours[-1] / theirs[-1])
    return {
        "mode": mode,
        "rounds": rounds,
        "headless_ms": round(statistics.median(theirs[1:]), 3),
        "server_ms": round(statistics.median(ours[1:]), 3),
        "ratio": round(statistics.median(ratios[1:]), 4),
        "ratio_of_fastest": round(min(ours[1:]) / min(theirs[1:]), 4),
        "server_cpu_ms": round(1000 * used / rounds_served, 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=160)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "log") as served:
        served.wait_for("ok")
        headless = Headless(Path(folder) / "headless")
        try:
            for mode in ("tree", "ar"):
                print(json.dumps(measure(served, headless, given.pairs, given.tokens, mode)), flush=True)
        finally:
            headless.engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
