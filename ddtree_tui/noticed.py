"""Findings of detectors in a sentence. Pure; nothing here is escaped."""

from __future__ import annotations

from engine.causes import CAUSES
from engine.events import Finding

SIGN = "!"


def sentence(finding: Finding) -> str:
    """What stands behind the cause's name: the round it shows in first, counted from 1, and what is wrong."""
    where = "" if finding.round is None else f", round {finding.round + 1}"
    known = CAUSES.get(finding.cause)
    return f"{where}: {known.title if known else finding.seen.removesuffix('.')}"


def told(finding: Finding) -> str:
    """All of it in one line: how grave, what, where, what was seen and what to do."""
    seen = f" {finding.seen}" if finding.cause in CAUSES else ""
    return f"{finding.severity}: {finding.cause}{sentence(finding)}.{seen} {finding.todo}"
