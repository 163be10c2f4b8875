"""Who may come in: those with a key; without keys whoever is on this machine, but no web page."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ddtree_tui.server.errors import ApiError
from ddtree_tui.server.options import is_loopback

OPEN_PATHS = ("/health",)
"""For load balancers, which have no key."""


class Auth:
    """ASGI middleware. Puts the number of the key into the scope as ``api_key``."""

    def __init__(self, app: ASGIApp, api_keys: Sequence[str]) -> None:
        self._app = app
        self._digests = [_digest(key) for key in api_keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS:
            headers = Headers(scope=scope)
            refused = self._check_key(headers, scope) if self._digests else self._check_place(headers)
            if refused is not None:
                await refused.response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check_key(self, headers: Headers, scope: Scope) -> ApiError | None:
        scheme, _, key = headers.get("authorization", "").partition(" ")
        given = _digest(key.strip() if scheme.lower() == "bearer" else "")
        # Digests have one length, and all of them are compared: the time tells nothing about a key.
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(matches):
            return ApiError(
                401,
                "This server needs an API key, as Authorization: Bearer KEY."
                if not key
                else "This API key is not one of the server's.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )
        scope["api_key"] = matches.index(True)
        return None

    def _check_place(self, headers: Headers) -> ApiError | None:
        """A page in a browser can reach the loopback by a name of its own, then its requests name that host;
        or by the loopback's, then they name the page's origin."""
        if not is_loopback(_host_of(headers.get("host", ""))):
            return ApiError(
                403,
                "Without an API key this server answers requests to the loopback alone "
                "(127.0.0.1, localhost).",
                code="host_not_allowed",
            )
        origin = headers.get("origin")
        if origin is not None and not is_loopback(_host_of(origin.partition("://")[2])):
            return ApiError(
                403, "Without an API key this server answers no web page.", code="origin_not_allowed"
            )
        return None


def _host_of(place: str) -> str:
    """Without user and port."""
    name = place.rpartition("@")[2]
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
