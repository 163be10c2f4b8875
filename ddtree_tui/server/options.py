"""What ``ddtree-tui serve`` is told on the command line. Imports nothing heavy."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings

KEY_VARIABLE = "DDTREE_API_KEY"
MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """What one client may take from the others.

    Attributes:
        queue: requests that may wait while one decodes.
        request_seconds: from the arrival of a request to the end of its answer, waiting included.
        idle_seconds: without a sign of life: of the engine, or of a client that reads or sends.
        body_bytes: of a request.
        grace_seconds: for the answer under way when the server is told to end.
        history_bytes: of events kept of past requests.
        prefix_bytes: of main memory, for what the models remember of conversations other than the last one.
    """

    queue: int = 64
    request_seconds: float = 600.0
    idle_seconds: float = 120.0
    body_bytes: int = 4 * MIB
    grace_seconds: float = 20.0
    history_bytes: int = 32 * MIB
    prefix_bytes: int = 256 * MIB

    def check(self) -> None:
        """Raises:
        EngineError: ``bad_setting`` for a limit that nothing could keep to.
        """
        for name, value, least in (
            ("queue's length", self.queue, 0),
            ("body's size", self.body_bytes, 1),
            ("history's size", self.history_bytes, 1),
            ("prefix cache's size", self.prefix_bytes, 0),
            ("request timeout", self.request_seconds, 0.1),
            ("idle timeout", self.idle_seconds, 0.1),
            ("shutdown grace", self.grace_seconds, 0.0),
        ):
            if not least <= value < 1e12:
                raise EngineError(
                    "bad_setting", f"The {name} cannot be {value:g}.", f"Choose at least {least:g}."
                )


@dataclass(frozen=True)
class ServeOptions:
    """How the server is to run.

    Attributes:
        load: which pair to load, and where.
        decode: what holds where a request says nothing.
        answer_tokens: most tokens of an answer whose request does not say; None is what fits the context.
        fixed_seed: whether ``decode.seed`` was given, so that it also holds for requests without one.
        host: address or name to listen at.
        port: 0 takes a free one.
        name: what clients call the model.
        api_keys: any of them opens the door; none leaves it open, on the loopback alone.
        log_prompts: whether prompts and answers may be in the log.
        debug, log_path: as in ``AppOptions``; the log is the engine's.
    """

    load: LoadSettings
    decode: DecodeSettings
    name: str
    log_path: Path
    answer_tokens: int | None = None
    fixed_seed: bool = False
    host: str = "127.0.0.1"
    port: int = 30000
    api_keys: tuple[str, ...] = ()
    log_prompts: bool = False
    debug: bool = False
    limits: Limits = field(default_factory=Limits)

    def check(self) -> None:
        """Raises:
        EngineError: ``bad_setting`` for a port that is none, ``usage`` for an empty key, or for none where
            others can reach the server.
        """
        if not 0 <= self.port <= 65535:
            raise EngineError(
                "bad_setting", f"The port cannot be {self.port}.", "Choose one from 1 to 65535, or 0 for any."
            )
        self.limits.check()
        if any(not key.isascii() or not key.strip() or key != key.strip() for key in self.api_keys):
            raise EngineError(
                "usage",
                "An API key is empty, or has spaces around it or characters beyond ASCII.",
                "Choose a long random one, for example from: openssl rand -hex 32",
            )
        if not self.api_keys and not is_loopback(self.host):
            raise EngineError(
                "usage",
                f"Without an API key the server does not listen on {self.host or 'all addresses'}: "
                "everybody who can reach it could use it and read along.",
                f"Set {KEY_VARIABLE} or --api-key, or keep to --host 127.0.0.1.",
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``. Names other than ``localhost`` may mean anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
