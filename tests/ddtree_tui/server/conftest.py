"""One server with the demo pair for all tests here, also where several processes run them."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from served import Served, port_of, start

sys.path.insert(0, str(Path(__file__).parents[1]))  # playing

OPTIONS = ("--max-new-tokens", "96", "--max-queue", "100", "--history", "4")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Ready to answer."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    book, log = folder / "server.json", folder / "server.log"
    with _entry(book) as entry:
        if not entry:
            process = start(log, *OPTIONS)
            entry |= {"pid": process.pid, "port": port_of(process, log), "users": 0}
        entry["users"] += 1
        served = Served(entry["port"], log, pid=entry["pid"])
    served.wait_for("ok")
    yield served
    with _entry(book) as entry:
        entry["users"] -= 1
        if not entry["users"]:
            os.kill(entry["pid"], signal.SIGTERM)
            _wait_for_end(entry["port"])


@contextmanager
def _entry(book: Path) -> Iterator[dict[str, Any]]:
    """What the file says, and will say; nobody else has it meanwhile."""
    with book.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        entry = json.loads(file.read() or "{}")
        yield entry
        file.truncate(0)
        file.write(json.dumps(entry))


def _wait_for_end(port: int) -> None:
    """Its process may be another worker's to reap; that it listens no more is for all to see."""
    deadline = time.monotonic() + 30
    with suppress(ConnectionRefusedError):
        while time.monotonic() < deadline:
            socket.create_connection(("127.0.0.1", port)).close()
            time.sleep(0.05)
        pytest.fail("the server did not end")
