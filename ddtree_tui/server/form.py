"""What chat and text answers have in common on the wire."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from ddtree_tui import __version__
from ddtree_tui.server.responses import ChatAnswer, TextAnswer
from ddtree_tui.server.transcript import Piece, Told

FINGERPRINT = f"ddtree-{__version__}"


class Form(ABC):
    """How one answer is written. Chunks are plain objects; ``responses`` says what is in them."""

    prefix: ClassVar[str]
    """Of its id."""
    kind: ClassVar[str]
    """Of a chunk."""
    question: ClassVar[str]
    """The parameter that holds the prompt."""

    def __init__(self, model: str) -> None:
        self.id = f"{self.prefix}-{uuid.uuid4().hex}"
        self.model = model
        self.created = int(time.time())

    def head(self) -> dict[str, Any]:
        """The fields that every part of the answer has."""
        return {
            "id": self.id,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
        }

    def streamed(self, *choices: dict[str, Any]) -> dict[str, Any]:
        """One chunk."""
        return {**self.head(), "object": self.kind, "choices": [*choices]}

    @abstractmethod
    def opening(self) -> dict[str, Any] | None:
        """What a stream begins with, if anything."""

    @abstractmethod
    def chunk(self, piece: Piece) -> dict[str, Any]:
        """Something new."""

    @abstractmethod
    def ending(self, reason: Literal["stop", "length"]) -> dict[str, Any]:
        """Why there is no more."""

    @abstractmethod
    def whole(
        self,
        thinking: str,
        text: str,
        told: Sequence[Told],
        reason: Literal["stop", "length"],
        closing: dict[str, Any],
    ) -> ChatAnswer | TextAnswer:
        """All of it at once. ``closing``: the fields of ``responses.Closing``."""
