"""A server that says what it was told to say, right or wrong, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Answer = bytes | Callable[[socket.socket], None]
"""What is sent, whole; or somebody who does the sending."""


class Canned:
    """``answers``: by the path without its query. ``asked``: the heads of all requests, and their bodies.
    ``context``: of a server with TLS."""

    def __init__(self, answers: Mapping[str, Answer], context: ssl.SSLContext | None = None) -> None:
        self.answers = dict(answers)
        self._context = context
        self.asked: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            asked = b""
            while not _whole(asked):
                piece = connection.recv(65536)
                if not piece or piece.startswith(b"\x16"):  # TLS where there is none
                    connection.sendall(http(400, b""))
                    return
                asked += piece
            text = asked.decode()
            self.asked.append(text)
            path = text.split(" ")[1].partition("?")[0]
            answer = self.answers.get(path, http(404, {"error": {"message": "Not found."}}))
            if callable(answer):
                answer(connection)
            else:
                connection.sendall(answer)

    def close(self) -> None:
        for each in (self._listener, *self.open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _whole(asked: bytes) -> bool:
    head, end, body = asked.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return bool(end) and len(body) >= int(length[1] if length else 0)


@contextlib.contextmanager
def canned(answers: Mapping[str, Answer], context: ssl.SSLContext | None = None) -> Iterator[Canned]:
    server = Canned(answers, context)
    try:
        yield server
    finally:
        server.close()


def http(status: int, body: Any, **headers: str) -> bytes:
    """A whole answer; ``body``: bytes, or what is written as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Told", f"Content-Length: {len(data)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def stream(*parts: bytes, whole: bool = True) -> bytes:
    """A stream in chunks; not ``whole``: it breaks off."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return head + chunks + (b"0\r\n\r\n" if whole else b"")


def listed(*names: str) -> bytes:
    """OpenAI's list of models."""
    return http(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
