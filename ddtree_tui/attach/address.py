"""Where a server is, as it is typed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from ddtree_tui.server.options import KEY_VARIABLE, is_loopback
from engine.errors import EngineError

PORTS = {"http": 80, "https": 443}
_HINT = "Write it like http://127.0.0.1:30000."


@dataclass(frozen=True)
class Address:
    """The part of a URL in front of ``/v1/...``. ``path`` begins with a slash or is empty."""

    scheme: str
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """Host and port, the port where it is not the scheme's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def secret(self) -> bool:
        """Whether nobody on the way reads along: it is encrypted, or stays on this machine."""
        return self.scheme == "https" or is_loopback(self.host)


def read_address(text: str) -> Address:
    """Read what was typed; without a scheme it is ``http``, and a ``/v1`` at its end is left away.

    Raises:
        EngineError: ``usage``.
    """
    typed = text.strip()
    if not typed.isascii() or not typed.isprintable() or " " in typed:
        raise EngineError("usage", f"{text!r} is not the address of a server.", _HINT)
    try:
        parts = urlsplit(typed if "://" in typed else f"http://{typed}")
        port = parts.port
    except ValueError as error:
        raise EngineError("usage", f"{typed!r} is not the address of a server: {error}.", _HINT) from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise EngineError("usage", f"{typed!r} is not the address of a server.", _HINT)
    if parts.username is not None:
        raise EngineError(
            "usage",
            "The address has a user or a password in it.",
            f"Give the key with --api-key or in {KEY_VARIABLE}.",
        )
    if parts.query or parts.fragment:
        raise EngineError("usage", f"{typed!r} has more behind the path than a server's address has.", _HINT)
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return Address(parts.scheme, parts.hostname, PORTS[parts.scheme] if port is None else port, path)
