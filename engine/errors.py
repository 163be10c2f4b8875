"""The one exception that crosses the engine's border."""

from __future__ import annotations


class EngineError(Exception):
    """Something the user can act on.

    Attributes:
        kind: stable identifier, snake case (``bad_setting``, ``model_not_found``, ...).
        message: one clear sentence saying what is wrong.
        hint: one sentence saying what to do next.
        detail: anything longer, for the log only.
    """

    def __init__(self, kind: str, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.detail = detail
