"""The doctor is right: a sample of what ``python -m ddtree_tui.doctor.matrix`` measures in full."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from make_recording import conversation

from ddtree_tui.bench.prompts import demo_prompts
from ddtree_tui.doctor.answers import answer_of, recorded
from ddtree_tui.doctor.cases import (
    BUDGETS,
    TEMPERATURES,
    Case,
    fault_cases,
    fault_pairs,
    healthy_cases,
    pair_cases,
    questions_of,
    together,
)
from ddtree_tui.doctor.field_guide import Example, guide
from ddtree_tui.doctor.matrix import Results, Runs, fault_summary, tell
from ddtree_tui.doctor.patient import Patient
from ddtree_tui.doctor.trial import Trial, first_affected, first_other_token
from ddtree_tui.doctor.visit import Visit, check_recorded
from ddtree_tui.doctor.ways import Way
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.inbox import Inbox
from engine.causes import CAUSES
from engine.diagnosis.ranking import diagnose
from engine.events import Finished, Loaded, Prefilled, Round, Tokens
from engine.faults.catalogue import FAULTS
from engine.settings import DecodeSettings, LoadSettings, Verify

TOKENS = 20
SAMPLE = ("mask-id", "conv-siblings", "wrong-leaf")
TRIAL = Trial(
    key="a",
    faults=["wrong-leaf"],
    first="wrong-leaf",
    named=["wrong-leaf", "calibration"],
    health="garbled",
    verdict="Garbled by wrong-leaf.",
    round=2,
    affected=3,
    touched=True,
    effective=["wrong-leaf"],
    tokens=20,
    rounds=5,
)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Patient, Loaded]]:
    inbox = Inbox()
    with EngineProcess(inbox.put, tmp_path_factory.mktemp("engine") / "log") as engine:
        asked = Patient(engine, inbox)
        yield asked, asked.load(LoadSettings(device="cpu"))


def test_sampled_faults_are_named_first_with_their_round(patient: tuple[Patient, Loaded]) -> None:
    asked, loaded = patient
    runs = Runs(asked, loaded.target.dtype)
    cases = list(fault_cases(questions_of(demo_prompts(2)[1:], loaded, TOKENS, 64), loaded, SAMPLE))
    assert len(cases) == 2 * len(SAMPLE)
    for case in cases[: len(SAMPLE)]:
        one = runs.trial(case)
        assert one.touched
        assert one.named_first, one
        assert one.round_right, one
        assert one.health in ("garbled", "at_risk", "slow")


def test_two_sampled_faults_are_both_named(patient: tuple[Patient, Loaded]) -> None:
    asked, loaded = patient
    runs = Runs(asked, loaded.target.dtype)
    settings = DecodeSettings(max_new_tokens=TOKENS)
    pairs = fault_pairs(("mask-id", "wrong-leaf"), settings, loaded)
    (case,) = pair_cases([(demo_prompts(2)[1], settings)], pairs, loaded, runs.long_enough)
    one = runs.trial(case)
    assert one.effective == ["mask-id", "wrong-leaf"]
    assert one.all_named
    assert "mask-id" in one.verdict
    assert "wrong-leaf" in one.verdict


@pytest.mark.parametrize(
    "pair",
    [
        ("system-lost", "vocabulary"),
        ("system-lost", "other-drafter"),
        ("vocabulary", "prompt-border"),
        ("two-bos", "prompt-border"),
    ],
)
def test_what_looks_at_prompts_is_not_hidden_by_another_fault_of_theirs(
    patient: tuple[Patient, Loaded], pair: tuple[str, str]
) -> None:
    asked, loaded = patient
    runs = Runs(asked, loaded.target.dtype)
    questions = [(prompt, DecodeSettings(max_new_tokens=48)) for prompt in demo_prompts(4)[1:]]
    (case,) = pair_cases(questions, fault_pairs(pair, questions[0][1], loaded), loaded, runs.long_enough)
    one = runs.trial(case)
    assert {*one.effective} == {*one.named} == {*pair}


def test_of_two_faults_one_may_be_without_effect(patient: tuple[Patient, Loaded]) -> None:
    """Where no tree is built of a draft, nobody can see how far the drafter looked back."""
    asked, loaded = patient
    case = Case(
        demo_prompts(1)[0], DecodeSettings(max_new_tokens=TOKENS), ("speculation-off", "drafter-window")
    )
    one = Runs(asked, loaded.target.dtype).trial(case)
    assert one.effective == ["speculation-off"]
    assert one.all_named
    assert fault_summary([one])["speculation-off+drafter-window"]["one without effect"] == 1


def test_sampled_healthy_runs_raise_no_alarm(patient: tuple[Patient, Loaded]) -> None:
    asked, loaded = patient
    runs = Runs(asked, loaded.target.dtype)
    cases = list(healthy_cases(demo_prompts(2), loaded, TOKENS))
    assert len(cases) == 2 * len(TEMPERATURES) * (2 + len(BUDGETS))
    assert {case.settings.mode for case in cases} == {"ar", "chain", "tree"}
    for case in cases[2::5]:
        assert runs.healthy(case).health == "healthy", case


@pytest.mark.parametrize(("verify", "healthy"), [("solve", True), ("naive", False)])
def test_recorded_answers_are_compared_with_the_target_alone(
    patient: tuple[Patient, Loaded], verify: Verify, healthy: bool
) -> None:
    asked, loaded = patient
    settings = DecodeSettings(verify=verify, max_new_tokens=TOKENS)
    prompt = demo_prompts(2)[1]
    kept = Tokens | Prefilled | Round | Finished
    events = [event for event in asked.answer(prompt.turns(False), settings) if isinstance(event, kept)]
    visit = Visit(LoadSettings(), loaded=loaded, answers=recorded([loaded, *events]))
    assert not visit.answers[0].seen.compared
    check_recorded(asked, visit, lambda _: None)
    (answer,) = visit.answers
    assert answer.seen.compared
    assert answer.seen.name.startswith("recorded answer 1: tree 64, thinking off")
    assert visit.diagnosis().healthy == healthy
    assert answer.seen.wrong != healthy


def test_a_trial_is_right_or_not() -> None:
    assert TRIAL.named_first
    assert TRIAL.round_right
    cases = ((3, 3, True), (4, 3, False), (1, 3, False), (None, 3, False), (None, 0, True), (2, None, False))
    for round_, affected, right in cases:
        assert msgspec.structs.replace(TRIAL, round=round_, affected=affected).round_right == right
    assert not msgspec.structs.replace(TRIAL, first="mask-id").named_first
    both = msgspec.structs.replace(TRIAL, faults=["wrong-leaf", "mask-id"])
    assert both.all_named
    assert not msgspec.structs.replace(both, effective=both.faults).all_named


def test_the_first_round_that_differs() -> None:
    events = conversation(2, rounds=10)
    assert first_affected(events, events) is None
    changed = [
        msgspec.structs.replace(
            event,
            nodes=msgspec.structs.replace(
                event.nodes, logprobs=[value - 1e-3 for value in event.nodes.logprobs]
            ),
        )
        if isinstance(event, Round) and event.index >= 6
        else event
        for event in events
    ]
    assert first_affected(changed, events) == 6
    assert first_other_token(changed, events) is None
    written = [*events]
    place = max(place for place, event in enumerate(events) if isinstance(event, Round) and event.index == 4)
    round_ = written[place]
    assert isinstance(round_, Round)
    ids = [*round_.committed_ids[:-1], round_.committed_ids[-1] + 1]
    written[place] = msgspec.structs.replace(round_, committed_ids=ids)
    assert first_other_token(written, events) == 4
    shorter = [event for event in events if not (isinstance(event, Round) and event.index >= 4)]
    assert first_affected(shorter, events) == 4


def test_a_killed_matrix_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    results = Results(path)
    results.add(TRIAL)
    results.add(msgspec.structs.replace(TRIAL, key="b"))
    path.write_bytes(path.read_bytes()[:-20])
    again = Results(path)
    assert list(again.trials) == ["a"]
    again.add(msgspec.structs.replace(TRIAL, key="b"))
    assert list(Results(path).trials) == ["a", "b"]


def test_what_is_not_good_enough_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    good = [msgspec.structs.replace(TRIAL, key=str(number)) for number in range(20)]
    assert tell("faults", good, 1.0) == 0
    missed = msgspec.structs.replace(TRIAL, first="mask-id", named=["mask-id"])
    assert tell("faults", [*good[:-1], missed], 1.0) == 0  # 19 of 20
    assert tell("faults", [*good[:-2], missed, missed], 1.0) == 1
    overlooked = msgspec.structs.replace(TRIAL, health="healthy", named=[], first="")
    assert tell("faults", [*good, overlooked], 1.0) == 1
    assert "overlooked" not in capsys.readouterr().out
    untouched = msgspec.structs.replace(overlooked, touched=False)
    assert fault_summary([untouched])["wrong-leaf"]["without effect"] == 1
    assert tell("healthy", [msgspec.structs.replace(TRIAL, health="unknown")], 1.0) == 1


def test_pairs_that_cannot_be_are_left_out() -> None:
    device = next(name for name, fault in FAULTS.items() if fault.rounds == "device")
    host = next(name for name, fault in FAULTS.items() if fault.rounds == "host")
    assert not together(device, host)
    assert together("mask-id", "wrong-leaf")
    assert not together("wrong-leaf", "naive-verify")


def test_field_guide_has_a_section_for_every_cause() -> None:
    events = conversation(1, rounds=5)
    answer = answer_of(0, Way("subject", DecodeSettings(inject=("wrong-leaf",))), events)
    healthy = answer_of(0, Way("healthy", DecodeSettings()), events)
    example = Example("wrong-leaf", "What [is] this?", answer, healthy, diagnose([answer.seen]))
    page = guide({"wrong-leaf": example})
    assert all(f"\n### {name}\n" in page and f"](#{name})" in page for name in CAUSES)
    assert "What \\[is\\] this?" in page
    assert FAULTS["wrong-leaf"].plants in page.replace("\\", "")
    assert page.count("no example") == len(CAUSES) - 1


def test_the_field_guide_that_is_checked_in_is_whole() -> None:
    page = (Path(__file__).parents[2] / "docs" / "garbled-output.md").read_text(encoding="utf-8")
    sections = dict(section.split("\n", 1) for section in re.split(r"^### ", page, flags=re.MULTILINE)[1:])
    assert set(sections) == set(CAUSES)
    for name, section in sections.items():
        assert "| with the fault |" in section, name
        assert "**The doctor:**" in section
        fault = FAULTS.get(name)
        assert fault is None or "**Planted:**" in section
