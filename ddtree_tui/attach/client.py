"""Talking HTTP to one server: JSON both ways, and streams that another thread can cut.

The standard library's client, used so that the key goes to this server alone: it follows no redirects and
asks no proxy. Everything that comes is bounded.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, Self

import msgspec

from ddtree_tui import __version__
from ddtree_tui.attach.address import Address
from ddtree_tui.attach.refusals import lost, not_understood, refused, unreachable

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
"""How long an answer in JSON may let one wait for its next bytes."""
MOST_JSON = 16 * 2**20
MOST_LINE = 16 * 2**20
"""Bytes of a line of a stream: a round of 1024 nodes with all details has about 200 kB."""
_MOST_REFUSAL = 2**16
_AT_ONCE = 2**16
_BROKEN = (OSError, http.client.HTTPException, ValueError)
"""ValueError: a connection that another thread has just closed."""


class Client:
    """Everything goes to ``address``. Usable from several threads: each request has its own connection.

    Args:
        key: sent as ``Authorization: Bearer``; None for servers without.
        context: for TLS; None checks certificates against the system's authorities.
    """

    def __init__(
        self, address: Address, key: str | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        self.address = address
        self._key = key
        self._context = context

    def get(self, path: str) -> Any:
        """The JSON at ``path``, which begins with a slash.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        with self.open("GET", path) as reply:
            return reply.json()

    def post(self, path: str, body: Any) -> Any:
        """The JSON that comes back for a JSON ``body``.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        with self.open("POST", path, body) as reply:
            return reply.json()

    def text(self, path: str) -> str:
        """The text at ``path``, such as metrics.

        Raises:
            EngineError: as ``refusals`` names them.
        """
        with self.open("GET", path) as reply:
            return reply.body().decode("utf-8", "replace")

    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        timeout: float | None = ANSWER_SECONDS,
        line: Line | None = None,
        also: Collection[int] = (),
    ) -> Reply:
        """Ask, and have what comes read piece by piece; close it, or use it as a context manager.

        Args:
            timeout: seconds that may pass without a byte, before the answer begins too; None waits for ever.
            line: what another thread may cut while this one waits.
            also: statuses beside success with which an answer is no refusal.

        Raises:
            EngineError: as ``refusals`` names them; ``remote_lost`` if ``line`` was cut meanwhile.
        """
        line = line or Line()
        connection = self._connection()
        try:
            connection.connect()
            line.hold(connection.sock)
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            connection.sock.settimeout(timeout)
            connection.request(
                method,
                self.address.path + path,
                None if body is None else msgspec.json.encode(body),
                self._headers(json=body is not None),
            )
            answer = connection.getresponse()
        except _BROKEN as error:
            connection.close()
            raise lost(self.address, error) if line.cut else unreachable(self.address, error) from error
        reply = Reply(self.address, answer, connection, line)
        if not 200 <= answer.status < 300 and answer.status not in also:
            with reply:
                raise refused(self.address, answer.status, reply.headers, reply.beginning(_MOST_REFUSAL))
        return reply

    def _connection(self) -> http.client.HTTPConnection:
        address = self.address
        if address.scheme == "http":
            return http.client.HTTPConnection(address.host, address.port, CONNECT_SECONDS)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(
            address.host, address.port, timeout=CONNECT_SECONDS, context=context
        )

    def _headers(self, *, json: bool) -> dict[str, str]:
        headers = {"User-Agent": f"ddtree-tui/{__version__}", "Connection": "close"}
        if json:
            headers["Content-Type"] = "application/json"
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        return headers


class Line:
    """A connection that another thread than its reader's may cut at any time, also before there is one."""

    def __init__(self) -> None:
        self.cut = False
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def hold(self, connected: socket.socket) -> None:
        """This is the connection.

        Raises:
            ConnectionAbortedError: if it was cut before.
        """
        with self._lock:
            if self.cut:
                raise ConnectionAbortedError("cut")
            self._socket = connected

    def release(self) -> None:
        """The connection is closed; its number may soon be somebody else's."""
        with self._lock:
            self._socket = None

    def hang_up(self) -> None:
        """Cut it: whoever reads gets ``remote_lost``. Idempotent."""
        with self._lock:
            self.cut = True
            if self._socket is not None:
                with contextlib.suppress(OSError):
                    # Not SSLSocket's own, which would pull the TLS state from under the reader.
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class Reply:
    """What comes back. ``headers``: names in lower case."""

    def __init__(
        self,
        address: Address,
        answer: http.client.HTTPResponse,
        connection: http.client.HTTPConnection,
        line: Line,
    ) -> None:
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in answer.getheaders()}
        self._address = address
        self._answer = answer
        self._connection = connection
        self._line = line

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. Idempotent, and for the thread that reads."""
        self._line.release()
        self._answer.close()
        self._connection.close()

    def beginning(self, most: int) -> bytes:
        """The first ``most`` bytes; fewer where the connection breaks."""
        with contextlib.suppress(*_BROKEN):
            return self._answer.read(most)
        return b""

    def body(self, most: int = MOST_JSON) -> bytes:
        """All of it.

        Raises:
            EngineError: ``remote_lost``; ``remote_answer`` if it is larger.
        """
        found = bytearray()
        for piece in self._pieces():
            found += piece
            if len(found) > most:
                raise not_understood(self._address, f"more than {most // 2**20} MiB")
        return bytes(found)

    def json(self, most: int = MOST_JSON) -> Any:
        """All of it, read as JSON.

        Raises:
            EngineError: ``remote_lost``, ``remote_answer``.
        """
        body = self.body(most)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise not_understood(
                self._address, "something that is not JSON", f"{error}: {body[:200]!r}"
            ) from error

    def lines(self, most: int = MOST_LINE) -> Iterator[bytes]:
        """Line by line, as they come, without their ends; what is left where the stream ends is none.

        Raises:
            EngineError: ``remote_lost``; ``remote_answer`` for a line of more than ``most`` bytes.
        """
        rest = bytearray()
        for piece in self._pieces():
            first, *others = piece.split(b"\n")
            rest += first
            for other in others:
                yield bytes(rest).removesuffix(b"\r")
                rest = bytearray(other)
            if len(rest) > most:
                raise not_understood(self._address, f"a line of more than {most // 2**20} MiB")

    def events(self, most: int = MOST_LINE) -> Iterator[bytes]:
        """The data of each server-sent event, as they come. Names, ids and comments are left out.

        Raises:
            EngineError: as ``lines``.
        """
        data: list[bytes] = []
        size = 0
        for line in self.lines(most):
            if not line and data:
                yield b"\n".join(data)
                data, size = [], 0
            elif line == b"data" or line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                size += len(line)
                if size > most:
                    raise not_understood(self._address, f"an event of more than {most // 2**20} MiB")

    def _pieces(self) -> Iterator[bytes]:
        while True:
            try:
                piece = self._answer.read1(_AT_ONCE)
            except _BROKEN as error:
                raise lost(self._address, error) from error
            if not piece:
                if self._line.cut or self._answer.length:  # with a length that was told: it is not all
                    raise lost(self._address, None)
                return
            yield piece
