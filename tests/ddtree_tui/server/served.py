"""A server as its users start it: a process, its port, its log."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

START = """
import signal, sys
signal.alarm(900)  # whatever becomes of the tests
from ddtree_tui import cli
sys.exit(cli.main(["serve", *sys.argv[1:]]))
"""
SCRIPTED = """
import signal, sys
signal.alarm(900)
from ddtree_tui import cli, engine_process
engine_process.worker_command = lambda log, **options: [sys.executable, sys.argv[1], sys.argv[2], str(log)]
sys.exit(cli.main(["serve", *sys.argv[3:]]))
"""
ECHO_WORKER = Path(__file__).with_name("echo_worker.py")


class Served:
    """A server that runs. ``log``: where its lines go."""

    def __init__(self, port: int, log: Path, key: str | None = None, pid: int = 0) -> None:
        self.port, self.log, self.key, self.pid = port, log, key, pid
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        return self.fetch(urllib.request.Request(self.url + path, headers=self._headers(headers)))

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | self._headers(headers)
        status, answer = self.fetch(urllib.request.Request(self.url + path, data, headers))
        return status, json.loads(answer)

    def chat(self, content: str = "What is 12 + 30?", **fields: Any) -> tuple[int, Any]:
        messages = [{"role": "user", "content": content}]
        return self.post("/v1/chat/completions", {"model": "demo", "messages": messages} | fields)

    def stream(self, path: str, body: Any) -> Iterator[Any]:
        """The data of each event, read as JSON; the last is ``[DONE]`` where all went well."""
        headers = {"Content-Type": "application/json"} | self._headers({})
        return self._data(urllib.request.Request(self.url + path, json.dumps(body).encode(), headers))

    def events(self, query: str = "") -> Iterator[Any]:
        """What a viewer is sent."""
        path = "/v1/ddtree/events" + query
        return self._data(urllib.request.Request(self.url + path, headers=self._headers({})))

    @staticmethod
    def _data(request: urllib.request.Request) -> Iterator[Any]:
        with urllib.request.urlopen(request, timeout=60) as answer:
            for line in answer:
                if line.startswith(b"data: "):
                    data = line.removeprefix(b"data: ").strip()
                    yield data.decode() if data == b"[DONE]" else json.loads(data)

    def health(self) -> Any:
        return json.loads(self.get("/health")[1])

    def wait_for(self, status: str, seconds: float = 90) -> Any:
        deadline = time.monotonic() + seconds
        while (found := self.health())["status"] != status:
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def lines(self) -> list[Any]:
        """The log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def engine_pid(self) -> int:
        return next(line["pid"] for line in reversed(self.lines()) if line["event"] == "engine loaded")

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return ({"Authorization": f"Bearer {self.key}"} if self.key else {}) | headers

    @staticmethod
    def fetch(request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


def start(log: Path, *options: str, scenario: str | None = None) -> subprocess.Popen[bytes]:
    """Start a server on a free port; with ``scenario``, on a scripted engine."""
    begin = [sys.executable, "-c", *((SCRIPTED, str(ECHO_WORKER), scenario) if scenario else (START,))]
    with log.open("wb") as errors:
        return subprocess.Popen(
            [*begin, "--port", "0", "--log", f"{log}.engine", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={"OMP_NUM_THREADS": "1"} | os.environ,
        )


def port_of(process: subprocess.Popen[bytes], log: Path) -> int:
    """Wait until it listens."""
    deadline = time.monotonic() + 60
    while True:
        for line in log.read_text().splitlines():
            if line.startswith("{") and json.loads(line)["event"] == "listening":
                return int(json.loads(line)["port"])
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def serving(
    log: Path, *options: str, scenario: str | None = None, key: str | None = None
) -> Iterator[Served]:
    """A server that ends with the block."""
    process = start(log, *options, scenario=scenario)
    try:
        yield Served(port_of(process, log), log, key, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
