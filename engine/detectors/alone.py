"""Whether the target alone writes as badly: its text for the same prompt, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from engine.control import Control
from engine.decode import generate
from engine.detectors.text import Text
from engine.events import Finding, Prefilled, Round, Tokens
from engine.pair import Pair
from engine.settings import DecodeSettings, Message


def degenerates_alone(
    pair: Pair, messages: Sequence[Message], settings: DecodeSettings, control: Control | None = None
) -> Finding | None:
    """What degenerates in the target's own answer to ``messages``, without drafts and planted faults; None if
    nothing does. Decodes it in the pair's session, with the same seed and limits."""
    plain = msgspec.structs.replace(
        settings, mode="ar", verify="solve", inject=(), oracle="off", detail=False
    )
    text = Text()
    found: list[Finding] = []
    for event in generate(pair, messages, plain, control=control):
        if isinstance(event, Tokens | Prefilled | Round):
            found += text.take(event)
    found += text.end()
    return found[0] if found else None


def against_alone(finding: Finding, alone: Finding | None) -> Finding:
    """A ``degenerate-text`` finding, with what the target alone does in view: a defect of this run where that
    writes well, and no more than a note where it does the same."""
    if alone is None:
        seen = f"{finding.seen} The target alone does not do this."
        return _judged(finding, "defect", seen, alone=False)
    seen = f"{finding.seen} The target alone does so too: {alone.seen}"
    return _judged(finding, "note", seen, alone=True)


def _judged(finding: Finding, severity: Literal["note", "defect"], seen: str, *, alone: bool) -> Finding:
    evidence = {**finding.evidence, "target_alone_does_too": alone}
    return msgspec.structs.replace(finding, severity=severity, seen=seen, evidence=evidence)
