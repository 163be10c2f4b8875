"""Findings, with what the catalogue says of their cause. Imports no torch."""

from __future__ import annotations

from typing import Literal

from engine.causes import CAUSES
from engine.events import Finding

Evidence = str | int | float | bool | list[int | float | str] | None


def found(
    cause: str,
    seen: str,
    *,
    severity: Literal["note", "warning", "defect"] = "defect",
    round: int | None = None,  # noqa: A002
    **evidence: Evidence,
) -> Finding:
    """A finding of ``cause``; ``seen`` is a whole sentence, with the numbers."""
    known = CAUSES[cause]
    return Finding(
        cause=cause,
        severity=severity,
        round=round,
        seen=seen,
        why=known.why,
        todo=known.todo,
        evidence=evidence,
    )
