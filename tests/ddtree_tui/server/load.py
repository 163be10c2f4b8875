"""Many clients at once, of whom some hang up and some send rubbish: does everybody get what is theirs?

    python tests/ddtree_tui/server/load.py --seconds 120 --clients 64

starts a server with the demo pair and reports as JSON: how many were answered, refused and hung up, whether
every answer was the one that ``ar`` gives alone, whether requests from one address were decoded in the order
in which they came, how many answers went to each, and the memory of server and engine in the second quarter
and at the end. Exit code 0 if all is as it should be. With ``--kill`` the engine is killed half way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from served import Served, serving

PROMPTS = [f"What is {a} + {b}?" for a, b in ((12, 30), (7, 8), (105, 17), (9, 33), (250, 250), (61, 4))]
PROMPTS += ["Sort these numbers: 9, 4, 7, 1.", "Tell me a story about a fox.", "Write a haiku about rain."]
TOKENS = 24
ADDRESSES = 4
"""Of the loopback, from which the clients ask: so many lines in the queue."""
HANGS_UP, RUBBISH = 1 / 3, 1 / 10
MEMORY_TOLERANCE = 0.02
BODIES = (b"{", b"[]", b'{"model": "demo"}', b'{"model": "demo", "messages": 5}', b"\xff\xfe", b"")


@dataclass
class Tally:
    """What happened."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    served: Counter[str] = field(default_factory=Counter)


def body(prompt: str, **fields: Any) -> bytes:
    messages = [{"role": "user", "content": prompt}]
    return json.dumps({"model": "demo", "messages": messages, "max_tokens": TOKENS} | fields).encode()


async def exchange(port: int, data: bytes, address: str, *, frames: int | None = None) -> tuple[int, bytes]:
    """Send a request and read the answer; hang up after so many ``frames``. 0 is no answer at all."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Connection: close\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    try:
        seen = b""
        while part := await reader.read(65536):
            seen += part
            if frames is not None and seen.count(b"data: ") >= frames:
                break
        status = int(seen.split(maxsplit=2)[1]) if seen else 0
        return status, seen.partition(b"\r\n\r\n")[2]
    finally:
        writer.close()


def streamed_text(answer: bytes) -> tuple[str, bool]:
    """The text of a streamed answer, and whether it is complete."""
    datas = [line[6:] for line in answer.splitlines() if line.startswith(b"data: ")]
    chunks = [json.loads(data) for data in datas if data != b"[DONE]"]
    if any("error" in chunk for chunk in chunks):
        return "", False
    text = "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
    return text, bool(datas) and datas[-1] == b"[DONE]"


async def client(number: int, port: int, expected: dict[str, str], end: float, tally: Tally) -> None:
    dice = random.Random(number)
    address = f"127.0.0.{1 + number % ADDRESSES}"
    while time.monotonic() < end:
        prompt = dice.choice([*expected])
        began = time.monotonic()
        if number % 10 == 9:
            status, answer = await exchange(port, dice.choice(BODIES), address)
            tally.counts[f"rubbish {status}"] += 1
            await asyncio.sleep(0.05)
        elif number % 3 == 0:
            await exchange(port, body(prompt, stream=True), address, frames=dice.randint(1, 3))
            tally.counts["hung up"] += 1
        else:
            stream = dice.random() < 0.5
            status, answer = await exchange(port, body(prompt, stream=stream), address)
            if status == 200:
                if stream:
                    text, complete = streamed_text(answer)
                else:
                    text, complete = json.loads(answer)["choices"][0]["message"]["content"], True
                if complete and text != expected[prompt]:
                    tally.wrong.append(f"{prompt}: {text!r}")
                tally.counts["answered" if complete else "ended by an error"] += 1
                tally.seconds.append(time.monotonic() - began)
                tally.served[address] += complete
            else:
                tally.counts[f"status {status}"] += 1
                await asyncio.sleep(0.2)


def resident(pid: int) -> float:
    """MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def watch_memory(served: Served, seconds: float, samples: dict[str, list[float]]) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        samples["server"].append(resident(served.pid))
        try:
            samples["engine"].append(resident(served.engine_pid()))
        except (FileNotFoundError, ProcessLookupError):
            samples["engine"].append(0.0)
        await asyncio.sleep(0.5)


def in_order(served: Served) -> bool:
    """Whether requests that were decoded were so in the order in which they came, those of one address among
    each other: the log has both times."""
    turns: dict[str, list[tuple[float, float]]] = {}
    for line in served.lines():
        if line.get("path") == "/v1/chat/completions" and "queue_ms" in line:
            started = line["received"] + line["queue_ms"] / 1000
            turns.setdefault(line["client"], []).append((started, line["received"]))
    received = [[came for _, came in sorted(of_one)] for of_one in turns.values()]
    return all(of_one == sorted(of_one) for of_one in received)


def quarters(sampled: tuple[str, list[float]]) -> tuple[str, tuple[float, float]]:
    """The middle of the second quarter of some samples, and of the last."""
    name, values = sampled
    quarter = max(1, len(values) // 4)
    return name, (
        statistics.median(values[quarter : 2 * quarter] or values),
        statistics.median(values[-quarter:]),
    )


async def run(
    served: Served, seconds: float, clients: int, *, prompts: list[str] = PROMPTS, kill: bool = False
) -> dict[str, Any]:
    """Load a server that is ready; the report."""
    expected = {
        prompt: served.chat(prompt, max_tokens=TOKENS, mode="ar")[1]["choices"][0]["message"]["content"]
        for prompt in prompts
    }
    tally, samples = Tally(), {"server": [], "engine": []}
    end = time.monotonic() + seconds
    tasks = [asyncio.create_task(client(n, served.port, expected, end, tally)) for n in range(clients)]
    memory = asyncio.create_task(watch_memory(served, seconds, samples))
    if kill:
        await asyncio.sleep(seconds / 2)
        os.kill(served.engine_pid(), signal.SIGKILL)
    await asyncio.wait_for(asyncio.gather(*tasks), seconds + 120)
    await memory
    growth = {name: last / first - 1 for name, (first, last) in map(quarters, samples.items())}
    health = served.health()
    ok = health["status"] == "ok" and served.chat("What is 12 + 30?")[0] == 200
    return {
        "counts": dict(sorted(tally.counts.items())),
        "wrong": tally.wrong,
        "in_order": in_order(served),
        "answered_by_address": dict(sorted(tally.served.items())),
        "seconds": {
            "median": statistics.median(tally.seconds) if tally.seconds else None,
            "most": max(tally.seconds, default=None),
        },
        "memory_mib": {
            name: [round(v[0], 1), round(max(v), 1), round(v[-1], 1)] for name, v in samples.items()
        },
        "memory_growth": {name: round(value, 4) for name, value in growth.items()},
        "restarts": health["engine_restarts"],
        "serves_on": ok,
    }


def failures(report: dict[str, Any], *, kill: bool = False) -> list[str]:
    """What is not as it should be."""
    found = []
    if report["wrong"]:
        found.append(f"{len(report['wrong'])} wrong answers")
    if not report["in_order"]:
        found.append("the order of the queue was not kept")
    if not report["serves_on"]:
        found.append("it does not serve any more")
    counts = report["counts"]
    if not counts.get("answered"):
        found.append("nobody was answered")
    rubbish = {name for name in counts if name.startswith("rubbish")} - {"rubbish 400"}
    if rubbish:
        found.append(f"rubbish was answered otherwise than by 400: {rubbish}")
    others = {name for name in counts if name.startswith("status") or name == "ended by an error"}
    if not kill and others - {"status 429"}:
        found.append(f"unexpected: {others}")
    growth = report["memory_growth"]
    if not kill and max(growth.values()) > MEMORY_TOLERANCE:
        found.append(f"memory grew: {growth}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--kill", action="store_true", help="the engine, half way")
    parser.add_argument(
        "--scripted", action="store_true", help="an engine that takes no time: far more requests"
    )
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "log", "--history", "1", scenario="ok" if given.scripted else None) as served,
    ):
        served.wait_for("ok")
        report = asyncio.run(run(served, given.seconds, given.clients, kill=given.kill))
    print(json.dumps(report, indent=1))
    for failure in failures(report, kill=given.kill):
        print(f"FAILED: {failure}", file=sys.stderr)
    return bool(failures(report, kill=given.kill))


if __name__ == "__main__":
    sys.exit(main())
