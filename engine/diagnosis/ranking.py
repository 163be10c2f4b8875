"""From findings and comparisons to causes: roots before what they bring about, and a verdict in one sentence.

Pure, and imports no torch: the doctor, the app and the tests rank the same way, over a run under way or a
recorded one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from engine.causes import CAUSES, NOT_CHECKED, Cause
from engine.detectors.found import PREFILL, found
from engine.events import AnyEvent, Checked, Divergence, Failed, Finding, Finished, Prefilled

Health = Literal["healthy", "garbled", "at_risk", "slow", "target", "unknown", "unchecked"]
"""``garbled``: text or prompt are not as they should be. ``at_risk``: what the text is made from is not as it
should be, and so far the text is the target's own all the same. ``slow``: the text is the target's own,
drafting is worth less than it could. ``target``: the target alone writes the same. ``unknown``: not healthy,
and no cause is found. ``unchecked``: nothing was seen, and nothing was compared with the target alone, or a
detector failed."""

SYMPTOMS = ("calibration", "degenerate-text")
"""What other causes bring about; roots only where there is no other."""
_SEVERITIES = ("defect", "warning", "note")
_CHANGES_TEXT = frozenset({"verify", "commit", "model"})
"""Areas whose causes make the text another than the target's own."""
_BEHIND_TEXT = frozenset(
    cause.name
    for cause in CAUSES.values()
    if cause.area in ("verify", "commit", "drafter") and cause.name != "stop-in-path"
)
"""Causes of which the text need not show anything: each token may be the target's own in spite of them."""
_BRINGS: dict[str, frozenset[str]] = {
    "naive-verify": frozenset({"conv-siblings", "state-during-verify", "wrong-leaf"}),
    "tree-order": frozenset({"path-not-closed", "rope-by-index", "conv-siblings"}),
    "path-not-closed": frozenset({"wrong-leaf", "drafter-rejected-rows"}),
    "stale-buffers": frozenset({"tree-order", "path-not-closed", "drafter-root-masked", "drafter-positions"}),
    "stop-in-path": frozenset({"drafter-rejected-rows"}),
    "other-drafter": frozenset({"tap-layers", "block-size"}),
    "vocabulary": frozenset({"mask-id"}),
}
"""Beside the symptoms: what a cause makes true as well, so that it is no second one."""


@dataclass(frozen=True)
class Seen:
    """What is known of one answer.

    Attributes:
        name: what it is called in reports, as ``tree(64), thinking off``.
        differs: in words, where its text is not the one that mode ``ar`` writes and no tie explains it.
    """

    name: str
    findings: tuple[Finding, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    checked: Checked | None = None
    finished: Finished | None = None
    failed: Failed | None = None
    differs: str = ""

    @property
    def wrong(self) -> bool:
        """Whether its text is not the target's own, or what the engine holds not what the text makes."""
        told = self.checked is not None and self.checked.verdict == "defect"
        return told or bool(self.differs) or any(one.verdict == "defect" for one in self.divergences)

    @property
    def text_is_right(self) -> bool:
        """Whether it was compared and every token is the target's own, whatever the engine holds."""
        return (
            self.checked is not None
            and self.compared
            and self.checked.defects == 0
            and not self.differs
            and all(one.verdict != "defect" for one in self.divergences)
        )

    @property
    def only_features(self) -> bool:
        """Whether nothing is wrong but what the drafter is given, which costs speed and no text."""
        layer = self.checked.layer if self.checked is not None else None
        return self.text_is_right and layer is not None and layer.what == "features"

    @property
    def compared(self) -> bool:
        return self.checked is not None and self.checked.verdict != "unchecked"

    @property
    def not_checked(self) -> tuple[Finding, ...]:
        """Of detectors that failed."""
        return tuple(finding for finding in self.findings if finding.cause == NOT_CHECKED)


def begins_answer(finding: Finding) -> bool:
    """Whether a finding behind the end of an answer is of the next one: what is found out about a pair or a
    prompt comes before the prefill."""
    return finding.round is None and finding.cause not in SYMPTOMS


def seen_answers(events: Iterable[AnyEvent], name: str = "answer") -> list[Seen]:
    """The answers of a run; a failure before the first one is an answer too."""
    answers: list[Seen] = []
    current = Seen(name)
    begun = False
    for event in events:
        match event:
            case Prefilled():
                if current.finished is not None or current.failed is not None:
                    answers.append(current)
                    current = Seen(f"{name} {len(answers) + 1}")
                begun = True
            case Finding():
                if current.finished is not None and begins_answer(event):
                    answers.append(current)
                    current, begun = Seen(f"{name} {len(answers) + 1}"), False
                current = replace(current, findings=(*current.findings, event))
            case Divergence():
                current = replace(current, divergences=(*current.divergences, event))
            case Checked():
                current = replace(current, checked=event)
            case Finished():
                current = replace(current, finished=event)
            case Failed():
                current = replace(current, failed=event)
    if begun or current.failed is not None or current.findings:
        answers.append(current)
    return answers


@dataclass(frozen=True)
class Ranked:
    """One cause that was found.

    Attributes:
        round: the first it shows in, over all answers; None where it does not depend on rounds.
        findings: (answer's name, finding), the gravest of each answer.
        follows: the cause that brings this one about; empty for a root.
    """

    cause: Cause
    severity: Literal["note", "warning", "defect"]
    round: int | None
    findings: tuple[tuple[str, Finding], ...]
    follows: str = ""

    @property
    def seen(self) -> str:
        """What was seen first."""
        return self.findings[0][1].seen

    @property
    def in_prefill(self) -> bool:
        """Whether it shows before the first round."""
        return self.findings[0][1].evidence.get("stage") == PREFILL


@dataclass(frozen=True)
class Diagnosis:
    """Attributes:
    verdict: one sentence.
    causes: roots first, by weight; then what follows from them; notes last.
    points_to: causes that the oracle's comparison of layers points to where none was found.
    """

    health: Health
    verdict: str
    causes: tuple[Ranked, ...] = ()
    points_to: tuple[str, ...] = ()
    answers: tuple[Seen, ...] = field(default=(), repr=False)

    @property
    def healthy(self) -> bool:
        return self.health == "healthy"

    @property
    def roots(self) -> tuple[Ranked, ...]:
        """Those that nothing else brings about and that matter."""
        return tuple(one for one in self.causes if not one.follows and one.severity != "note")


def diagnose(answers: Sequence[Seen], general: Iterable[Finding] = ()) -> Diagnosis:
    """The ranked causes of what was seen.

    Args:
        general: findings about the pair itself, of no answer.
    """
    causes = rank([("pair", finding) for finding in general] + _findings(answers))
    wrong = [answer for answer in answers if answer.wrong]
    other_text = [answer for answer in wrong if not answer.text_is_right]
    failed = next((answer.failed for answer in answers if answer.failed is not None), None)
    roots = [one for one in causes if not one.follows and one.severity != "note"]
    real = [one for one in roots if one.cause.name not in SYMPTOMS]
    areas = {one.cause.area for one in real}
    explained = bool(areas & _CHANGES_TEXT) or (
        "drafter" in areas and all(answer.only_features for answer in wrong)
    )
    points_to = _pointed_to(wrong)

    def told(health: Health, verdict: str) -> Diagnosis:
        return Diagnosis(
            health, verdict, tuple(causes), points_to if health == "unknown" else (), tuple(answers)
        )

    if real and (explained or not wrong):
        if all(one.cause.area == "drafter" or one.cause.name == "quantised-target" for one in real):
            if other_text:
                return told("garbled", _named("Garbled by", real, f"; {_where(other_text[0])}"))
            return told("slow", _named("Drafting spoilt by", real))
        affected = _affected(answers, real)
        if all(one.cause.name in _BEHIND_TEXT for one in real) and all(one.text_is_right for one in affected):
            return told("at_risk", _named("Text at risk from", real, _right_so_far(affected)))
        return told("garbled", _named("Garbled by", real))
    degenerate = [one for one in roots if one.cause.name == "degenerate-text"]
    if degenerate and not real and other_text:
        where = f", and the target alone writes something else: {_where(other_text[0])}"
        return told("garbled", _named("Garbled by", degenerate, where))
    if wrong:
        beside = f" Also found: {', '.join(one.cause.name for one in roots)}." if roots else ""
        hint = f" The layers point to {' or '.join(points_to)}." if points_to else ""
        return told("unknown", f"Not healthy, cause unknown: {_where(wrong[0])}.{hint}{beside}")
    if failed is not None:
        return told("unknown", f"Not healthy, cause unknown: the run failed. {failed.message}")
    if roots and all(one.compared for one in answers):
        if len(degenerate) == len(roots):
            return told(
                "target",
                f"The target's own doing: {roots[0].cause.title}, and the target alone writes the same.",
            )
        also = ", and the text degenerates as that of the target alone does" if degenerate else ""
        only = [one for one in roots if one not in degenerate]
        return told("slow", _named("Drafting spoilt by", only, f"; nothing is found that explains it{also}"))
    if roots:
        return told("unknown", f"Not healthy, cause unknown: {_sentence_end(roots[0])}.")
    return told(*_clean(answers))


def rank(findings: Sequence[tuple[str, Finding]]) -> list[Ranked]:
    """Causes of ``findings`` (answer's name, finding), roots first."""
    by_cause: dict[str, list[tuple[str, Finding]]] = {}
    for name, finding in findings:
        if finding.cause in CAUSES:  # a trace of a later version may know more
            by_cause.setdefault(finding.cause, []).append((name, finding))
    weighty = {
        name for name, kept in by_cause.items() if any(finding.severity != "note" for _, finding in kept)
    }
    ranked = [_ranked(name, kept, weighty) for name, kept in by_cause.items()]
    return sorted(ranked, key=_weight)


def _ranked(name: str, kept: list[tuple[str, Finding]], weighty: set[str]) -> Ranked:
    rounds = [finding.round for _, finding in kept if finding.round is not None]
    first: dict[str, Finding] = {}
    for answer, finding in sorted(kept, key=lambda one: _SEVERITIES.index(one[1].severity)):
        first.setdefault(answer, finding)
    return Ranked(
        cause=CAUSES[name],
        severity=next(iter(first.values())).severity,
        round=min(rounds, default=None),
        findings=tuple(first.items()),
        follows=next((other for other in CAUSES if other in weighty and brings(other, name)), ""),
    )


def brings(cause: str, other: str) -> bool:
    """Whether ``cause`` makes ``other`` true as well."""
    if cause == other:
        return False
    if other == "degenerate-text":
        return cause != "calibration" and CAUSES[cause].area != "drafter"
    if other == "calibration":
        return cause != "degenerate-text"
    return other in _BRINGS.get(cause, frozenset())


def _weight(one: Ranked) -> tuple[int, int, int, int, int]:
    """What garbles text before what slows, defects before warnings, what shows earlier first; between equals
    the catalogue's order, which follows a round from the drafter's inputs on."""
    areas = ("verify", "commit", "vocabulary", "model", "prompt", "drafter", "text")
    return (
        _SEVERITIES.index(one.severity) if one.severity == "note" else 0,
        bool(one.follows) or one.cause.name in SYMPTOMS,
        _SEVERITIES.index(one.severity),
        areas.index(one.cause.area),
        list(CAUSES).index(one.cause.name),
    )


def _findings(answers: Sequence[Seen]) -> list[tuple[str, Finding]]:
    collected = []
    for answer in answers:
        collected += [(answer.name, finding) for finding in answer.findings]
        failed = answer.failed
        if failed is not None and failed.error == "not_finite":
            collected.append((answer.name, found("not-finite", failed.message, round=None)))
    return collected


def _affected(answers: Sequence[Seen], causes: Sequence[Ranked]) -> list[Seen]:
    """Answers in which one of the causes was seen, or which are not what they should be."""
    names = {name for one in causes for name, _ in one.findings}
    return [answer for answer in answers if answer.wrong or answer.name in names]


def _right_so_far(answers: Sequence[Seen]) -> str:
    compared = sum(one.checked.compared for one in answers if one.checked is not None)
    return f"; so far the text is the target's own at all {compared} positions compared"


def _named(head: str, roots: Sequence[Ranked], end: str = "") -> str:
    names = [one.cause.name for one in roots]
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{head} {listed}: {'; '.join(_sentence_end(one) for one in roots)}{end}."


def _sentence_end(one: Ranked) -> str:
    if one.in_prefill:
        return f"{one.cause.title}, in the prefill already"
    when = "" if one.round is None else f", first in round {one.round + 1}"
    return f"{one.cause.title}{when}"


def _where(answer: Seen) -> str:
    """Where an answer's text, or what was computed for it, leaves the target's own."""
    checked = answer.checked
    layer = checked.layer if checked is not None else None
    first = checked.first if checked is not None else None
    first = first or next((one for one in answer.divergences if one.verdict == "defect"), None)
    if first is not None:
        when = "after the prompt" if first.round is None else f"in round {first.round + 1}"
        text = (
            f"the text leaves the target's own at position {first.position}, chosen {when}, where the target "
            f"alone prefers its token by {first.gap:.3g}"
        )
    elif answer.differs:
        text = answer.differs
    elif layer is None and checked is not None and checked.gap_round is not None:
        since = f"from round {checked.gap_round + 1} on"
        text = f"{since} the logits are not the target's own, though the tokens are"
    else:
        text = "the caches are not those of the text"
    if layer is not None:
        when = "after the prefill" if layer.round is None else f"after round {layer.round + 1}"
        kind = layer.kind.replace("_", " ")
        text += f"; first to leave its tolerance is the {layer.what} of layer {layer.layer} ({kind}) {when}"
    return text


def _pointed_to(wrong: Sequence[Seen]) -> tuple[str, ...]:
    """What the first layer that left its tolerance is known for."""
    for answer in wrong:
        layer = answer.checked.layer if answer.checked is not None else None
        if layer is None:
            continue
        if layer.what == "features":
            return ("tap-layers", "tap-norm")
        if layer.what == "keys":
            return ("rope-by-index", "path-not-closed")
        if layer.what == "values":
            return ("path-not-closed", "stale-buffers")
        if layer.what == "window":
            return ("conv-siblings", "wrong-leaf")
        if layer.what == "state":
            return (
                ("state-precision",)
                if layer.error < 0.02
                else ("wrong-leaf", "naive-verify", "state-during-verify")
            )
    return ()


def _clean(answers: Sequence[Seen]) -> tuple[Health, str]:
    """Nothing was found; whether that is worth anything."""
    if failed := [finding for answer in answers for finding in answer.not_checked]:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return "unchecked", f"Nothing wrong is seen, but not all was looked at{more}: {failed[0].seen}"
    compared = [answer for answer in answers if answer.compared]
    if not answers or len(compared) < len(answers):
        reason = next(
            (one.checked.reason for one in answers if one.checked is not None and one.checked.reason), ""
        )
        why = f" ({reason.rstrip('.')})" if reason else ""
        return (
            "unchecked",
            f"Nothing wrong is seen, but the text was not compared with the target alone{why}.",
        )
    checks = [answer.checked for answer in compared if answer.checked is not None]
    positions, ties = sum(one.compared for one in checks), sum(one.ties for one in checks)
    texts = "1 answer is" if len(compared) == 1 else f"{len(compared)} answers are"
    near = f", {ties} of them near ties" if ties else ""
    return "healthy", f"Healthy: {texts} the target's own at all {positions} positions compared{near}."
