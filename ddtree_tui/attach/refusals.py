"""What a server refused, or what stands between it and us, as sentences for the user.

Kinds: ``remote_unreachable`` (nobody there), ``remote_key`` (not let in), ``remote_moved`` (elsewhere),
``remote_busy`` (later, maybe), ``remote_missing`` (there is no such thing), ``remote_refused`` (what was
asked for is wrong), ``remote_answer`` (what came is not what such a server says), ``remote_lost`` (the
connection broke).
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any

import msgspec

from ddtree_tui.attach.address import Address
from ddtree_tui.escape import escape
from ddtree_tui.server.options import KEY_VARIABLE
from engine.errors import EngineError

MOST_WORDS = 400
"""Characters of a server's own words that are shown."""
_BROKEN_OFF = (
    *(ConnectionResetError, ConnectionAbortedError, BrokenPipeError),
    *(http.client.RemoteDisconnected, http.client.IncompleteRead),
    *(ssl.SSLEOFError, ssl.SSLZeroReturnError),
)


def unreachable(address: Address, error: Exception) -> EngineError:
    """No connection came about, or no answer through it. Where it broke off it is ``lost``: something that
    listens was there."""
    if isinstance(error, _BROKEN_OFF):
        return lost(address, error)
    host, hint = str(address), "Check that the server runs and that the address is right."
    match error:
        case ssl.SSLCertVerificationError():
            reason = f"its certificate is not trusted: {error.verify_message or error.reason}"
            hint = "Check the host's name; a certificate authority of your own goes into SSL_CERT_FILE."
        case ssl.SSLError():
            reason = "it does not speak TLS, or not this kind"
            hint = f"If it has none, write http://{address.authority}{address.path}."
        case socket.gaierror():
            reason = f"there is no host {address.host!r}"
            hint = "Check the name."
        case ConnectionRefusedError():
            reason = "nothing listens there"
            hint = "Check the port, and that the server runs: ddtree-tui serve"
        case TimeoutError():
            reason = "it does not answer in time"
        case http.client.HTTPException():
            reason = "what answers there does not speak HTTP"
            if address.scheme == "http":
                hint = f"If it has TLS, write https://{address.authority}{address.path}."
        case OSError():
            reason = (error.strerror or str(error) or type(error).__name__).lower()
        case _:
            reason = str(error) or type(error).__name__
    return EngineError(
        "remote_unreachable", f"{host} cannot be reached: {escape(reason)}.", hint, repr(error)
    )


def lost(address: Address, error: Exception | None) -> EngineError:
    """The connection ended in the middle of an answer."""
    return EngineError(
        "remote_lost",
        f"The connection to {address} broke.",
        "Check the network, and that the server still runs.",
        repr(error),
    )


def not_understood(address: Address, what: str, detail: str = "") -> EngineError:
    """Something came that is not what a server of this kind says. ``what``: the rest of ``sent ...``."""
    return EngineError(
        "remote_answer",
        f"{address} sent {what}.",
        "Check that the address is that of a DDTree or OpenAI-compatible server.",
        escape(detail[:MOST_WORDS]),
    )


def refused(address: Address, status: int, headers: Mapping[str, str], body: bytes) -> EngineError:
    """An answer with a status other than success. ``headers``: names in lower case."""
    words, code = words_of(body)
    said = f": {words}" if words else "."
    detail = f"status {status} {code}".rstrip()
    if 300 <= status < 400:
        place = escape(headers.get("location", "")[:MOST_WORDS])
        return EngineError(
            "remote_moved",
            f"{address} sends its visitors elsewhere{': ' + place if place else '.'}",
            "Give that address instead, if you trust it; the key was not sent there.",
            detail,
        )
    if status == 401:
        hint = f"Give the right key with --api-key, or in {KEY_VARIABLE}."
        return EngineError("remote_key", f"{address} does not let you in{said}", hint, detail)
    if status == 403:
        hint = "Without a key it answers only whoever names it as 127.0.0.1 or localhost."
        return EngineError("remote_key", f"{address} does not let you in{said}", hint, detail)
    if status == 404:
        return EngineError("remote_missing", f"{address} knows nothing of it{said}", "", detail)
    if status == 429:
        return EngineError("remote_busy", f"{address} has too much to do{said}", _later(headers), detail)
    if status == 503:
        return EngineError("remote_busy", f"{address} cannot answer now{said}", _later(headers), detail)
    if status >= 500:
        hint = "Try again; if it happens again, look into the server's log."
        return EngineError("remote_refused", f"{address} failed (status {status}){said}", hint, detail)
    return EngineError("remote_refused", f"{address} refused (status {status}){said}", "", detail)


def _later(headers: Mapping[str, str]) -> str:
    wait = headers.get("retry-after", "")
    if re.fullmatch(r"\d{1,6}", wait):
        return f"Try again in {int(wait)} s."
    return "Try again later."


def words_of(body: bytes) -> tuple[str, str]:
    """What the server says about it and the code it has for it, from OpenAI's shape or FastAPI's."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return "", ""
    code = ""
    for name in ("error", "message", "detail"):
        if isinstance(found, dict) and name in found:
            code = found["code"] if isinstance(found.get("code"), str) else code
            found = found[name]
    return (escape(found[:MOST_WORDS]) if isinstance(found, str) else ""), escape(code[:MOST_WORDS])
