"""Answers as events tell them, and their texts against one another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ddtree_tui.bench.verdict import TIE_GAPS
from ddtree_tui.doctor.ways import Way, way_name
from ddtree_tui.race.apart import apart
from engine.detectors.from_events import findings
from engine.diagnosis.ranking import Seen, seen_answers
from engine.divergence import Divergence, choices, first_divergence
from engine.events import AnyEvent, Finding, Finished, Loaded, Prefilled, Round, Tokens


@dataclass(frozen=True)
class Answer:
    """One answer, to one of the prompts.

    Attributes:
        prompt: number of the prompt, from 0.
        events: all of it.
        parts: where its text leaves the one of ``ar`` to the same prompt ids; None if it does not.
        tie: a numerical tie explains that.
        has_rival: there is such a text, and it could be compared.
    """

    prompt: int
    way: Way
    seen: Seen
    events: tuple[AnyEvent, ...] = field(repr=False)
    parts: Divergence | None = None
    tie: bool = False
    has_rival: bool = False

    @property
    def prefilled(self) -> Prefilled | None:
        return next((event for event in self.events if isinstance(event, Prefilled)), None)

    @property
    def finished(self) -> Finished | None:
        return self.seen.finished

    @property
    def rounds(self) -> list[Round]:
        return [event for event in self.events if isinstance(event, Round)]

    @property
    def ids(self) -> list[int]:
        """Its tokens, as far as it came."""
        if self.finished is not None:
            return self.finished.output_ids
        first = [self.prefilled.first_id] if self.prefilled is not None else []
        return [*first, *(token_id for one in self.rounds for token_id in one.committed_ids)]


def answer_of(prompt: int, way: Way, events: Iterable[AnyEvent]) -> Answer:
    """One answer from all its events, with the findings of detectors that need no more than these."""
    events = tuple(events)
    (seen, *_) = [*seen_answers(events, way.name), Seen(way.name)]
    return Answer(prompt, way, replace(seen, findings=with_findings(seen.findings, events)), events)


def recorded(events: Iterable[AnyEvent]) -> list[Answer]:
    """The answers of a recorded run."""
    answers: list[Answer] = []
    spelled: list[AnyEvent] = []
    before: list[AnyEvent] = []
    current: list[AnyEvent] = []
    for event in apart(events):
        if isinstance(event, Tokens):
            spelled.append(event)
        if isinstance(event, Loaded):
            continue
        if isinstance(event, Prefilled) and any(isinstance(one, Prefilled) for one in current):
            answers.append(_recorded(len(answers), [*before, *current]))
            before, current = list(spelled), []
        current.append(event)
    if any(isinstance(one, Prefilled) for one in current):
        answers.append(_recorded(len(answers), [*before, *current]))
    return answers


def _recorded(number: int, events: Sequence[AnyEvent]) -> Answer:
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    answer = answer_of(number, Way("subject", prefilled.settings), events)
    name = f"recorded answer {number + 1}: {written_by(prefilled)}"
    return replace(answer, seen=replace(answer.seen, name=name))


def written_by(prefilled: Prefilled) -> str:
    """In which way it was decoded; of an answer of another program, by which one."""
    source = prefilled.source
    return way_name(prefilled.settings) if source is None else f"{source.system}, {source.name}".rstrip(", ")


def with_findings(known: Iterable[Finding], events: Sequence[AnyEvent]) -> tuple[Finding, ...]:
    """What was found while the answer was decoded, and what its events tell besides."""
    known = tuple(known)
    causes = {finding.cause for finding in known}
    return (*known, *(finding for finding in findings(events) if finding.cause not in causes))


def compared(answers: Sequence[Answer], dtype: str) -> list[Answer]:
    """The answers, each with where its text leaves that of ``ar`` to the same prompt ids.

    In dtypes in which sums round differently in other shapes, a near tie may go either way, and behind it the
    texts are different ones; a drawn token does not tell how near it was.
    """
    return [_compared(answer, answers, dtype) for answer in answers]


def _compared(answer: Answer, answers: Sequence[Answer], dtype: str) -> Answer:
    prefilled = answer.prefilled
    rival = next((other for other in answers if _is_reference(other, answer)), None)
    if rival is None or prefilled is None or answer.way.role == "healthy":
        return answer
    prompt, theirs = choices([rival.prefilled, *rival.rounds])
    _, ours = choices([prefilled, *answer.rounds])
    where = first_divergence(prompt, theirs, ours)
    if where is None:
        return replace(answer, has_rival=True)
    noise = max(TIE_GAPS.get(dtype, 0.0), *(_noise(one) for one in (answer, rival)))
    if noise and answer.way.settings.temperature > 0:
        return answer
    tie = where.verdict(noise) == "tie"
    differs = (
        ""
        if tie
        else f"the text leaves that of {rival.seen.name} at position {where.position}"
        + ("" if where.round is None else f", round {where.round + 1}")
    )
    return replace(answer, seen=replace(answer.seen, differs=differs), parts=where, tie=tie, has_rival=True)


def _is_reference(other: Answer, answer: Answer) -> bool:
    mine, its = answer.prefilled, other.prefilled
    return (
        other is not answer
        and mine is not None
        and its is not None
        and mine.source is None  # of an import nobody knows how near a tie was
        and its.source is None
        and its.settings.mode == "ar"
        and its.prompt_ids == mine.prompt_ids
        and other.finished is not None
        and other.finished.reason != "cancelled"
    )


def _noise(answer: Answer) -> float:
    return answer.seen.checked.noise if answer.seen.checked is not None else 0.0
