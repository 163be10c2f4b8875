"""Writes the field guide: every cause in a recorded example of the demo pair.

``python -m ddtree_tui.doctor.field_guide --out docs/garbled-output.md``. Each fault is planted in answers to
a few prompts, with thinking off and on; shown is the one in which it changes most. What others bring about is
shown where the doctor saw it. Texts, trees and numbers are those of the runs; times are not shown, so that
the same weights give the same page.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ddtree_tui.doctor.answers import Answer, answer_of
from ddtree_tui.doctor.drawn_tree import drawn_tree
from ddtree_tui.doctor.faults_list import AREAS
from ddtree_tui.doctor.markdown import fenced, plain
from ddtree_tui.doctor.patient import Patient
from ddtree_tui.doctor.report import labels_of, make_report, numbers_of
from ddtree_tui.doctor.tables import evidence, layer_text, own_text
from ddtree_tui.doctor.trial import first_affected
from ddtree_tui.doctor.ways import Way, plantable, way_name
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.inbox import Inbox
from ddtree_tui.log_file import new_log_path
from engine.causes import CAUSES, Cause
from engine.diagnosis.ranking import Diagnosis, diagnose
from engine.divergence import first_difference
from engine.events import Loaded, Round
from engine.faults.catalogue import FAULTS
from engine.settings import DecodeSettings, LoadSettings, Message
from engine.train.progress import Progress

WAYS = (
    ("Tell me a short story about a fox.", False),
    ("Tell me a short story about a fox.", True),
    ("Tom has 12 apples and buys 8 more. How many apples does he have?", False),
)
"""Prompts, and whether they are answered with thinking."""
SYSTEM = "Answer in one sentence."
TOKENS = 160
TREE_LINES = 14
_TIME = re.compile(r"[\d.]+ m?s\b")
MOST_TEXT = 420
"""Characters of a text that is shown."""


INTRODUCTION = """\
# Garbled output: a field guide

Every cause that `ddtree-tui doctor` names, each with a recorded example: the fault was planted on purpose
(`--inject NAME`) in an answer of the demo pair, whose target is a small hybrid (Gated DeltaNet layers between
attention layers), beside the same prompt without it. Texts, trees and numbers are those of the runs;
`python -m ddtree_tui.doctor.field_guide --out docs/garbled-output.md` makes this page again.

In the trees, `●` is the root, `✓` accepted, `★` what the target wrote behind the path, `✗` rejected, `·` not
reached; the number behind a token is the drafter's probability. Rounds count from 1. Rows are what one pass
computes: row 0 is the root, row n + 1 is node n. The acceptance length is what a round adds to the text on
average.

The doctor says *garbled* where text or prompt are not as they should be, *text at risk* where what the text
is made from is not and every token is the target's own so far, *drafting spoilt* where the text is right and
slower than it could be.

To look at any of them yourself:

```sh
ddtree-tui --inject wrong-leaf --prompt "Tell me a short story about a fox."   # watch it in the app
ddtree-tui doctor --inject wrong-leaf                                         # have it diagnosed
```
"""


@dataclass(frozen=True)
class Example:
    """A sick answer beside the healthy one to the same prompt."""

    cause: str
    prompt: str
    sick: Answer
    healthy: Answer
    diagnosis: Diagnosis

    @property
    def named(self) -> bool:
        return self.cause in [one.cause.name for one in self.diagnosis.causes]

    @property
    def first(self) -> bool:
        return bool(self.diagnosis.causes) and self.diagnosis.causes[0].cause.name == self.cause

    @property
    def weight(self) -> tuple[bool, bool, bool, float]:
        """How much there is to see: named first, a tree to show, another text, acceptance lost."""
        return (
            self.first,
            self.round is not None,
            self.sick.ids != self.healthy.ids,
            acceptance(self.healthy) - acceptance(self.sick),
        )

    @property
    def round(self) -> Round | None:
        """The round to look at: the first that the cause shows in, else the first that differs."""
        number = next((one.round for one in self.diagnosis.causes if one.cause.name == self.cause), None)
        if number is None:
            number = first_affected(self.sick.events, self.healthy.events)
        rounds = self.sick.rounds
        return rounds[number] if number is not None and number < len(rounds) else None


def examples(patient: Patient, loaded: Loaded, progress: Progress) -> dict[str, Example]:
    """The best example of every cause that shows on this pair."""
    best: dict[str, Example] = {}
    for number, (prompt, thinking) in enumerate(WAYS):
        settings = DecodeSettings(thinking=thinking, max_new_tokens=TOKENS, oracle="full")
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": prompt},
        ]
        healthy = answer_of(0, Way("healthy", settings), patient.answer(messages, settings))
        names = [name for name in FAULTS if plantable(name, settings, loaded)]
        for place, name in enumerate(names, 1):
            sick_settings = msgspec.structs.replace(settings, inject=(name,))
            sick = answer_of(0, Way("subject", sick_settings), patient.answer(messages, sick_settings))
            diagnosis = diagnose([sick.seen])
            for cause in dict.fromkeys((name, *(one.cause.name for one in diagnosis.causes))):
                if cause != name and cause in FAULTS:
                    continue
                example = Example(cause, prompt, sick, healthy, diagnosis)
                if example.named and (cause not in best or example.weight > best[cause].weight):
                    best[cause] = example
            progress.update((number + place / len(names)) / len(WAYS), name)
    return best


def guide(found: dict[str, Example]) -> str:
    """The whole page."""
    return "\n".join(_lines(found)).rstrip() + "\n"


def _lines(found: dict[str, Example]) -> Iterator[str]:
    yield INTRODUCTION
    yield "| where | cause | |"
    yield "| --- | --- | --- |"
    for area, title in AREAS.items():
        for cause in CAUSES.values():
            if cause.area == area:
                yield f"| {title} | [`{cause.name}`](#{cause.name}) | {plain(cause.title)} |"
    for area, title in AREAS.items():
        yield ""
        yield f"## {title}"
        for cause in CAUSES.values():
            if cause.area == area:
                yield from _section(cause, found.get(cause.name))


def _section(cause: Cause, example: Example | None) -> Iterator[str]:
    yield ""
    yield f"### {cause.name}"
    yield ""
    yield f"{plain(cause.title[0].upper() + cause.title[1:])}. {plain(cause.why)}"
    yield ""
    yield f"**What to do.** {plain(cause.todo)}"
    yield ""
    if example is None:
        yield "The demo pair has no example of it."
        return
    yield from _example(cause, example)


def _example(cause: Cause, example: Example) -> Iterator[str]:
    sick, healthy = example.sick, example.healthy
    fault = FAULTS.get(cause.name)
    if fault is not None:
        yield f"**Planted:** {plain(fault.plants)}"
    else:
        planted = " and ".join(f"[`{name}`](#{name})" for name in sick.way.settings.inject)
        yield f"**Brought about by** {planted}, planted."
    way = way_name(msgspec.structs.replace(sick.way.settings, inject=()))
    yield f"Prompt: {plain(example.prompt)} ({way})"
    yield ""
    yield f"**The doctor:** {plain(example.diagnosis.verdict)}"
    yield ""
    report = make_report(
        example.diagnosis, load=LoadSettings(), loaded=None, lines=[], answers=[sick], with_text=True
    )
    for one in report.causes:
        if one.name == cause.name:
            yield f"Seen: {plain(_TIME.sub('some time', one.seen))}"
            numbers = "; ".join(f"{plain(name)} {plain(value)}" for name, value in evidence(one.evidence))
            if numbers:
                yield ""
                yield f"Numbers: {numbers}"
    yield ""
    yield "| | acceptance length | rounds | tokens | against the target alone |"
    yield "| --- | --- | --- | --- | --- |"
    for name, answer in (("with the fault", sick), ("healthy", healthy)):
        row = numbers_of(answer)
        mean = "-" if row.acceptance is None else f"{row.acceptance:.2f}"
        yield f"| {name} | {mean} | {row.rounds} | {row.tokens} | {plain(own_text(row))} |"
    if layer := layer_text(report.answers[0]):
        yield ""
        yield f"First to leave its tolerance: {plain(layer)}."
    yield ""
    yield from _texts(sick, healthy)
    round_ = example.round
    if round_ is not None and round_.nodes.ids and cause.area not in ("prompt", "vocabulary"):
        yield ""
        yield f"Round {round_.index + 1} of the sick run:"
        yield ""
        yield fenced(drawn_tree(round_, labels_of(sick), TREE_LINES))


def _texts(sick: Answer, healthy: Answer) -> Iterator[str]:
    if _prompt_text(sick) != _prompt_text(healthy):
        yield "The prompt, as the target read it, then as it should be:"
        yield ""
        yield fenced(_short(_prompt_text(sick)))
        yield ""
        yield fenced(_short(_prompt_text(healthy)))
        yield ""
    if sick.ids == healthy.ids:
        yield "The text is the same with the fault and without:"
        yield ""
        yield fenced(_short(_text(healthy)))
        return
    place = first_difference(sick.ids, healthy.ids) or 0
    yield f"The text with the fault, then the healthy one; they part at token {place + 1}:"
    yield ""
    yield fenced(_short(_text(sick)) or "(nothing)")
    yield ""
    yield fenced(_short(_text(healthy)))


def acceptance(answer: Answer) -> float:
    """Mean acceptance length; 0 without rounds."""
    rounds = answer.rounds
    return sum(one.acceptance_length for one in rounds) / len(rounds) if rounds else 0.0


def _prompt_text(answer: Answer) -> str:
    return answer.prefilled.prompt_text if answer.prefilled is not None else ""


def _text(answer: Answer) -> str:
    if answer.finished is None:
        failed = answer.seen.failed
        return f"(the run failed: {failed.message})" if failed is not None else ""
    thought = answer.finished.thinking_text
    return (f"<think>\n{thought}\n</think>\n\n" if thought else "") + answer.finished.text


def _short(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT].rstrip() + " …"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the page."""
    parser = argparse.ArgumentParser(prog="python -m ddtree_tui.doctor.field_guide", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the page, which is written over")
    options = parser.parse_args(arguments)
    inbox = Inbox()
    with EngineProcess(inbox.put, new_log_path()) as engine:
        patient = Patient(engine, inbox)
        loaded = patient.load(LoadSettings(device="cpu"))
        found = examples(patient, loaded, Progress("guide"))
    options.out.write_text(guide(found), encoding="utf-8")
    missing = [name for name in CAUSES if name not in found]
    print(
        f"{len(found)} of {len(CAUSES)} causes have an example"
        + (f"; not {', '.join(missing)}" if missing else "")
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
