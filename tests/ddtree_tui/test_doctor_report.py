"""Reports: self-contained, harmless whatever models wrote, without a word of the text unless asked for."""

from __future__ import annotations

import html.parser
import json
from dataclasses import replace

import msgspec
import pytest
from make_recording import Recording, conversation

from ddtree_tui.doctor.answers import Answer, compared, recorded
from ddtree_tui.doctor.contamination import contamination
from ddtree_tui.doctor.drawn_tree import drawn_tree
from ddtree_tui.doctor.markdown import markdown
from ddtree_tui.doctor.page import page
from ddtree_tui.doctor.quotations import LEFT_OUT, quotable, without
from ddtree_tui.doctor.report import Report, labels_of, make_report
from ddtree_tui.doctor.text import conclusion_text
from ddtree_tui.unknown import UNKNOWN
from engine.detectors.found import found
from engine.diagnosis.lines import Line
from engine.diagnosis.ranking import diagnose
from engine.events import Failed, Loaded, Round, Source
from engine.settings import DecodeSettings, LoadSettings

SECRET = "Zanzibar <script>alert(1)</script>"


def answers() -> list[Answer]:
    recording = Recording(1)
    settings = DecodeSettings(thinking=True)
    events = [*recording.start(), *recording.answer(SECRET, settings=settings, rounds=8)]
    late = found("degenerate-text", f"The text repeats '{SECRET}' 4 times.", severity="warning", round=3)
    early = found("system-lost", "The message of 12 words is not there.", system="Zanzibar", words=12)
    return recorded([*events, late, replace_round(early)])


def replace_round(finding):
    return msgspec.structs.replace(finding, round=0)


def report(*, with_text: bool = False) -> Report:
    told = answers()
    line = Line(
        part="pair", name="template, thinking on", status="warn", seen="24 tokens", todo="Look.", text=SECRET
    )
    return make_report(
        diagnose([answer.seen for answer in told]),
        load=LoadSettings(),
        loaded=next(event for event in conversation(1, rounds=1) if isinstance(event, Loaded)),
        lines=[line],
        answers=told,
        with_text=with_text,
    )


def forms(told: Report) -> dict[str, str]:
    return {
        "html": page(told),
        "md": markdown(told),
        "json": json.dumps(json.loads(msgspec.json.encode(told)), ensure_ascii=False),
    }


def test_no_text_unless_asked_for() -> None:
    told = answers()
    secrets = quotable(told)
    assert SECRET in secrets
    pieces = [word for word in secrets if len(word) > 5]
    assert len(pieces) > 5
    for form in forms(report()).values():
        assert "Zanzibar" not in form
        assert "alert(1)" not in form
        assert LEFT_OUT in form
        assert "4 times" in form


def test_with_text_it_is_there_and_harmless() -> None:
    told = forms(report(with_text=True))
    for form in told.values():
        assert "Zanzibar" in form
    assert "<script>" not in told["html"]

    class Tags(html.parser.HTMLParser):
        seen: set[str] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.seen.add(tag)
            assert not {name for name, _ in attrs} & {"src", "href", "onload"}

    parser = Tags()
    parser.feed(told["html"])
    assert "script" not in parser.seen
    assert {"table", "pre", "ol"} <= parser.seen


def test_every_form_says_verdict_causes_and_numbers() -> None:
    told = report()
    for form in (*forms(told).values(), "\n".join(conclusion_text(told))):
        assert "system-lost" in form
        assert "degenerate-text" in form
        assert "24 tokens" in form or form.startswith("Answers")


def test_what_failed_says_why() -> None:
    (answer,) = answers()
    failed = Failed(error="internal", message=f"It broke at '{SECRET}' in the end.")
    told = [replace(answer, seen=replace(answer.seen, failed=failed, finished=None))]
    for with_text in (False, True):
        made = make_report(
            diagnose([one.seen for one in told]),
            load=LoadSettings(),
            loaded=None,
            lines=[],
            answers=told,
            with_text=with_text,
        )
        for form in (*forms(made).values(), "\n".join(conclusion_text(made))):
            assert "It broke at" in form
            assert with_text or "Zanzibar" not in form


def test_a_text_that_an_import_does_not_tell_is_unknown() -> None:
    (answer,) = answers()
    prefilled, finished = answer.prefilled, answer.finished
    assert prefilled is not None
    assert finished is not None
    silent = msgspec.structs.replace(finished, text="", thinking_text="")
    source = msgspec.structs.replace(prefilled, source=Source(system="vllm"))
    events = tuple(source if event is prefilled else event for event in answer.events)
    told = replace(answer, events=events, seen=replace(answer.seen, finished=silent))
    made = make_report(
        diagnose([told.seen]), load=LoadSettings(), loaded=None, lines=[], answers=[told], with_text=True
    )
    assert made.texts is not None
    assert [*made.texts.answers.values()] == [UNKNOWN]


@pytest.mark.parametrize("quotes", ["'{}'", '"{}"', "“{}”", "`{}`"])
def test_quotations_go_whatever_the_marks(quotes: str) -> None:
    sentence = f"It says {quotes.format('a secret thing')} in round 7 of 'tree 64'."
    assert without(sentence, ["a secret thing", "secret"]) == (
        f"It says {quotes.format(LEFT_OUT)} in round 7 of 'tree 64'."
    )
    assert without(sentence, []) == sentence


def test_trees_are_drawn_in_plain_lines() -> None:
    (answer,) = answers()
    for round_ in answer.rounds:
        drawn = drawn_tree(round_, labels_of(answer), lines=12)
        lines = drawn.split("\n")
        assert lines[0].startswith("●")
        assert len(lines) <= 12
        assert sum("✓" in line for line in lines) <= len(round_.accepted)
        if round_.bonus_id is not None and len(round_.accepted) < 6:
            assert any("★" in line for line in lines)


def test_where_branches_first_share_a_state() -> None:
    (answer,) = answers()
    told = contamination(answer.rounds)
    first = next(round_ for round_ in answer.rounds if branches(round_))
    assert f"round {first.index + 1}:" in told
    chain = [replace_nodes(round_) for round_ in answer.rounds]
    assert contamination(chain) == ""


def branches(round_: Round) -> bool:
    return any(parent != node - 1 for node, parent in enumerate(round_.nodes.parents))


def replace_nodes(round_: Round) -> Round:
    count = len(round_.nodes.ids)
    nodes = msgspec.structs.replace(round_.nodes, parents=[node - 1 for node in range(count)])
    return msgspec.structs.replace(round_, nodes=nodes)


def test_answers_are_held_against_mode_ar() -> None:
    (answer,) = answers()
    prefilled = answer.prefilled
    assert prefilled is not None
    ar_settings = msgspec.structs.replace(prefilled.settings, mode="ar")
    events = tuple(
        msgspec.structs.replace(event, settings=ar_settings) if event is prefilled else event
        for event in answer.events
    )
    ar = replace(answer, events=events, seen=replace(answer.seen, name="ar"))
    same, reference = compared([answer, ar], "float32")
    assert same.parts is None
    assert not same.seen.differs
    assert reference.parts is None
    wrong_round = msgspec.structs.replace(
        answer.rounds[2],
        committed_ids=[answer.rounds[2].committed_ids[0] + 1, *answer.rounds[2].committed_ids[1:]],
    )
    changed = replace(
        answer, events=tuple(wrong_round if event is answer.rounds[2] else event for event in answer.events)
    )
    apart, _ = compared([changed, ar], "float32")
    assert apart.parts is not None
    assert apart.parts.round == 2
    assert "round 3" in apart.seen.differs
    assert not diagnose([apart.seen]).healthy
