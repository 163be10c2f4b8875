"""``ddtree-tui serve``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator, Sequence

import uvicorn

from ddtree_tui.server.access_log import log_to_standard_error
from ddtree_tui.server.app import build_app
from ddtree_tui.server.options import ServeOptions
from ddtree_tui.server.service import Service
from engine.errors import EngineError

BACKLOG = 1024
log = logging.getLogger("ddtree_tui.server")


def run_serve(options: ServeOptions, engine_command: Sequence[str] | None = None) -> int:
    """Serve until told to end by SIGINT or SIGTERM; returns the exit code.

    Raises:
        EngineError: ``usage`` for options that go against each other or an address that cannot be used.
    """
    options.check()
    log_to_standard_error(debug=options.debug)
    with listening(options.host, options.port) as listener:
        return asyncio.run(_serve(options, listener, engine_command))


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket at that address.

    Raises:
        EngineError: ``usage`` if there can be none.
    """
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except (OSError, UnicodeError) as error:  # UnicodeError: DNS has no such names
        reason = (error.strerror or error) if isinstance(error, OSError) else "no host can have that name"
        raise EngineError(
            "usage",
            f"The server cannot listen at {host}:{port}: {reason}.",
            "Choose another --host or --port.",
        ) from error
    with contextlib.closing(listener):
        yield listener


async def _serve(options: ServeOptions, listener: socket.socket, engine_command: Sequence[str] | None) -> int:
    service = Service.build(options, engine_command)
    server = _Server(
        uvicorn.Config(
            build_app(service),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=5,
        )
    )
    loop = asyncio.get_running_loop()
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    host, port = listener.getsockname()[:2]
    log.info("listening", extra={"facts": {"host": host, "port": port, "model": options.name}})
    life = asyncio.ensure_future(service.host.live())
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    waiting = asyncio.ensure_future(told.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        told.clear()
        again = asyncio.ensure_future(told.wait())  # a second signal: no grace
        closing = asyncio.ensure_future(service.host.close(options.limits.grace_seconds))
        log.info("shutting down", extra={"facts": {"running": service.host.running is not None}})
        await asyncio.wait({closing, again}, return_when=asyncio.FIRST_COMPLETED)
        if not closing.done():
            closing.cancel()
            await service.host.close(0)
        again.cancel()
        server.should_exit = True
        await serving
    finally:
        waiting.cancel()
        life.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await life
        await service.host.end()
    log.info("ended")
    return 0


class _Server(uvicorn.Server):
    """Leaves the signals to us: the answer under way may end before the connections do."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
