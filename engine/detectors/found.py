"""Findings, with what the catalogue says of their cause. Imports no torch."""

from __future__ import annotations

import logging
from typing import Literal

from engine.causes import CAUSES, NOT_CHECKED
from engine.events import Finding

log = logging.getLogger(__name__)

PREFILL = "prefill"
"""Evidence ``stage`` of a finding that shows before the first round."""
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


def given_up(detector: object) -> Finding:
    """That a detector failed, while its exception is handled: the log says why, the finding says that what
    the detector looks for is not known."""
    name = type(detector).__name__
    log.exception("%s failed and looks no further at this answer", name)
    return Finding(
        cause=NOT_CHECKED,
        severity="warning",
        seen=f"The detector {name} failed and looked no further.",
        why="What it looks for may be there and is not named.",
        todo="Please report it with the log.",
        evidence={"detector": name},
    )
