"""Plays back what ``record_server`` has recorded, or what a server's documentation says it answers."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from canned import Canned, canned, http

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client
from ddtree_tui.attach.plain_link import PlainLink
from engine.commands import Generate
from engine.events import AnyEvent, Failed, Finished, Loaded
from engine.settings import DecodeSettings

FOLDER = Path(__file__).parent / "recorded"
PATIENCE = 60.0


def recording(name: str) -> dict[str, Any]:
    """A recorded file."""
    found: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return found


def chunks(recorded: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """A recorded stream, event by event, without its end."""
    lines = recorded["answers"][kind]["chat"]["body"].splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]


def events(*values: Any, done: bool = True) -> bytes:
    """A stream of chunks, or of what is in their place."""
    frames = [b"data: " + json.dumps(value).encode() + b"\n\n" for value in values]
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(
        [*frames, b"data: [DONE]\n\n"] if done else frames
    )


def in_turn(*answers: bytes) -> Callable[[socket.socket], None]:
    """One answer after the other, the last one again and again."""
    left = list(answers)

    def answer(connection: socket.socket) -> None:
        connection.sendall(left.pop(0) if len(left) > 1 else left[0])

    return answer


def answers_of(recorded: dict[str, Any], kind: str) -> dict[str, Any]:
    """What ``canned`` says in the recorded server's place."""

    def told(answer: dict[str, Any], content: str = "application/json") -> bytes:
        return http(answer["status"], answer["body"].encode(), Content_Type=content)

    answer = recorded["answers"][kind]
    # Counters are looked at with the server, in front of the answer, and behind it.
    before, after = (told(counters, "text/plain") for counters in answer["metrics"])
    return {path: told(found) for path, found in recorded["get"].items()} | {
        "/metrics": in_turn(before, before, after),
        "/v1/chat/completions": told(answer["chat"], "text/event-stream"),
    }


@contextlib.contextmanager
def attached(answers: dict[str, Any], model: str | None = None) -> Iterator[tuple[PlainLink, Canned, Loaded]]:
    """A link to a server that says ``answers``, and what it said of itself."""
    with canned(answers) as server:
        link = PlainLink(Client(read_address(server.url)), model=model)
        link.start()
        try:
            loaded = heard(link, Loaded)[-1]
            assert isinstance(loaded, Loaded)
            yield link, server, loaded
        finally:
            link.stop()


def heard(link: PlainLink, *kinds: type[AnyEvent]) -> list[AnyEvent]:
    """Events up to the first of these kinds, or a failure."""
    found: list[AnyEvent] = []
    until = time.monotonic() + PATIENCE
    while not any(isinstance(event, (*kinds, Failed)) for event in found):
        assert time.monotonic() < until, found
        found += link.drain()
        time.sleep(0.002)
    return found


def ask(link: PlainLink, prompt: str = "Hello", **settings: Any) -> list[AnyEvent]:
    """All events of an answer."""
    messages: Sequence[Any] = [{"role": "user", "content": prompt}]
    link.send(Generate(messages=[*messages], settings=DecodeSettings(**settings)))
    return heard(link, Finished)


def sent(server: Canned) -> list[dict[str, Any]]:
    """The bodies of the requests for answers."""
    asked = [text.partition("\r\n\r\n") for text in server.asked if text.startswith("POST")]
    return [json.loads(body) for _, _, body in asked]
