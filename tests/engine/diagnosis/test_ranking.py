"""Root causes before their symptoms, and a verdict that never calls the sick healthy."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.causes import CAUSES
from engine.detectors.found import PREFILL, found, given_up
from engine.diagnosis.ranking import SYMPTOMS, Seen, brings, diagnose, rank, seen_answers
from engine.events import Checked, Divergence, Failed, Finding, Finished, LayerCheck, Prefilled, StageTimes
from engine.settings import DecodeSettings

HEALTHY = Checked(
    oracle="full", verdict="identical", positions=40, compared=40, ties=0, defects=0, noise=0.0, seconds=0.1
)
DIVERGENCE = Divergence(round=4, node=2, position=77, id=5, target_id=6, gap=1.25, verdict="defect")
DEFECT = Checked(
    oracle="full",
    verdict="defect",
    positions=40,
    compared=40,
    ties=0,
    defects=3,
    noise=0.0,
    seconds=0.1,
    first=DIVERGENCE,
    layer=LayerCheck(layer=0, kind="linear_attention", what="state", round=3, error=0.4, tolerance=1e-4),
)


def finding(cause: str, round_: int | None = None, severity: str = "defect") -> Finding:
    return found(cause, f"Seen: {cause}.", round=round_, severity=severity)  # type: ignore[arg-type]


def test_root_cause_outranks_the_symptoms_it_brings_about() -> None:
    findings = [("run", finding(name, 3)) for name in ("degenerate-text", "calibration", "wrong-leaf")]
    ranked = rank(findings)
    assert [one.cause.name for one in ranked] == ["wrong-leaf", "calibration", "degenerate-text"]
    assert [one.follows for one in ranked] == ["", "wrong-leaf", "wrong-leaf"]


def test_drafter_explains_acceptance_but_no_text() -> None:
    diagnosis = diagnose([Seen("run", (finding("mask-id", 0), finding("calibration", 5)), checked=HEALTHY)])
    assert diagnosis.health == "slow"
    assert diagnosis.verdict.startswith("Drafting spoilt by mask-id: ")
    diagnosis = diagnose([Seen("run", (finding("mask-id", 0),), checked=DEFECT)])
    assert diagnosis.health == "unknown"
    assert "cause unknown" in diagnosis.verdict
    assert "mask-id" in diagnosis.verdict


CACHES = msgspec.structs.replace(DEFECT, defects=0, first=None)
"""The caches are wrong, and every token is the target's own."""


def test_a_text_that_is_still_right_is_not_called_garbled() -> None:
    leaf = (finding("wrong-leaf", 2),)
    for checked in (CACHES, HEALTHY):
        diagnosis = diagnose([Seen("run", leaf, checked=checked)])
        assert diagnosis.health == "at_risk"
        assert diagnosis.verdict == (
            "Text at risk from wrong-leaf: the state committed is that of another node than the accepted "
            "leaf, first in round 3; so far the text is the target's own at all 40 positions compared."
        )
    for wrong in (
        Seen("run", leaf, checked=DEFECT),
        Seen("run", leaf, checked=CACHES, differs="the text leaves that of ar"),
        Seen("run", leaf, divergences=(DIVERGENCE,), checked=CACHES),
        Seen("run", leaf),  # nobody has looked
        Seen("run", (*leaf, finding("two-bos")), checked=CACHES),
        Seen("run", (finding("stop-in-path", 1),), checked=HEALTHY),
    ):
        assert diagnose([wrong]).health == "garbled"
        assert diagnose([Seen("other", leaf, checked=CACHES), wrong]).health == "garbled"
    bystander = Seen("ar")  # of another way to decode, in which nothing was found
    assert diagnose([bystander, Seen("run", leaf, checked=CACHES)]).health == "at_risk"


def test_another_text_is_not_called_slow() -> None:
    quantised = (finding("quantised-target", None, "warning"),)
    assert diagnose([Seen("run", quantised, checked=HEALTHY)]).health == "slow"
    diagnosis = diagnose([Seen("run", quantised, checked=DEFECT)])
    assert diagnosis.health == "garbled"
    assert "position 77" in diagnosis.verdict


def test_symptoms_without_a_cause_are_named() -> None:
    badly = finding("calibration", 4)
    diagnosis = diagnose([Seen("run", (badly,), checked=HEALTHY)])
    assert diagnosis.health == "slow"
    assert diagnosis.verdict.startswith("Drafting spoilt by calibration: ")
    assert "first in round 5; nothing is found that explains it" in diagnosis.verdict
    repeats = finding("degenerate-text", 2, "warning")
    diagnosis = diagnose([Seen("run", (badly, repeats), checked=HEALTHY)])
    assert diagnosis.health == "slow"
    assert "as that of the target alone does" in diagnosis.verdict
    diagnosis = diagnose([Seen("run", (repeats,), checked=DEFECT)])
    assert diagnosis.health == "garbled"
    assert diagnosis.verdict.startswith(
        "Garbled by degenerate-text: the text degenerates, first in round 3, "
    )
    assert "the target alone writes something else" in diagnosis.verdict
    # Caches that are wrong explain no text that the target alone writes too.
    assert diagnose([Seen("run", (repeats,), checked=CACHES)]).health == "unknown"


def test_what_shows_in_the_prefill_is_of_no_round() -> None:
    failure = Failed(error="not_finite", message="The target's logits are not finite numbers.")
    early = found("not-finite", f"In the prefill: {failure.message}", stage=PREFILL)
    diagnosis = diagnose([Seen("run", (early,), failed=failure)])
    assert diagnosis.verdict == (
        "Garbled by not-finite: logits or a state are not finite numbers, in the prefill already."
    )


def test_a_detector_that_failed_leaves_nobody_healthy() -> None:
    class Passes:
        pass

    failed = given_up(Passes())
    diagnosis = diagnose([Seen("run", (failed,), checked=HEALTHY)])
    assert diagnosis.health == "unchecked"
    assert not diagnosis.causes
    assert diagnosis.verdict.startswith(
        "Nothing wrong is seen, but not all was looked at: The detector Passes"
    )
    both = diagnose([Seen("run", (failed, finding("wrong-leaf", 2)), checked=DEFECT)])
    assert both.verdict.startswith("Garbled by wrong-leaf")


def test_features_that_differ_cost_speed_and_no_text() -> None:
    layer = LayerCheck(
        layer=1, kind="linear_attention", what="features", round=None, error=0.9, tolerance=1e-5
    )
    checked = msgspec.structs.replace(HEALTHY, verdict="defect", layer=layer)
    assert diagnose([Seen("run", (finding("tap-layers", 0),), checked=checked)]).health == "slow"
    alone = diagnose([Seen("run", checked=checked)])
    assert alone.health == "unknown"
    assert alone.points_to == ("tap-layers", "tap-norm")
    assert "tap-layers or tap-norm" in alone.verdict


def test_two_faults_are_both_named() -> None:
    for one, other in itertools.combinations([name for name in CAUSES if name not in SYMPTOMS], 2):
        diagnosis = diagnose([Seen("run", (finding(one, 2), finding(other, 1)), checked=HEALTHY)])
        names = [ranked.cause.name for ranked in diagnosis.causes]
        assert {one, other} == set(names)
        roots = {ranked.cause.name for ranked in diagnosis.roots}
        assert roots == {one, other} or brings(one, other) or brings(other, one)
        assert all(name in diagnosis.verdict for name in roots)


def test_nothing_brings_itself_about() -> None:
    for one, other in itertools.product(CAUSES, repeat=2):
        assert not (brings(one, other) and brings(other, one))


def test_verdict_names_the_first_round_of_all_answers() -> None:
    diagnosis = diagnose(
        [
            Seen("chain", (finding("wrong-leaf", 9),), checked=DEFECT),
            Seen("tree", (finding("wrong-leaf", 4),), checked=DEFECT),
        ]
    )
    assert diagnosis.verdict == (
        "Garbled by wrong-leaf: the state committed is that of another node than the accepted leaf, "
        "first in round 5."
    )


def test_divergence_without_a_cause_is_never_healthy() -> None:
    for answer in (
        Seen("run", checked=DEFECT),
        Seen("run", divergences=(DIVERGENCE,), checked=HEALTHY),
        Seen("run", checked=HEALTHY, differs="the texts of tree and ar part at position 3"),
    ):
        diagnosis = diagnose([Seen("other", checked=HEALTHY), answer])
        assert diagnosis.health == "unknown"
        assert diagnosis.verdict.startswith("Not healthy, cause unknown: ")
    assert diagnose([Seen("run", checked=DEFECT)]).points_to[0] == "wrong-leaf"


def test_what_is_wrong_with_no_token_is_said() -> None:
    assert "the caches are not those of the text" in diagnose([Seen("run", checked=CACHES)]).verdict
    logits = msgspec.structs.replace(HEALTHY, verdict="defect", gap_round=2, gap_change=7.0)
    assert (
        "from round 3 on the logits are not the target's own"
        in diagnose([Seen("run", checked=logits)]).verdict
    )


def test_degenerate_text_of_the_target_itself() -> None:
    only = (finding("degenerate-text", 7, "warning"),)
    assert diagnose([Seen("run", only, checked=HEALTHY)]).health == "target"
    assert diagnose([Seen("run", only)]).health == "unknown"


def test_healthy_needs_a_comparison() -> None:
    assert diagnose([Seen("a", checked=HEALTHY)]).healthy
    assert diagnose([Seen("a", checked=HEALTHY), Seen("b")]).health == "unchecked"
    assert diagnose([]).health == "unchecked"


def test_notes_are_listed_and_make_nobody_ill() -> None:
    diagnosis = diagnose([Seen("run", (finding("no-thinking-tags", None, "note"),), checked=HEALTHY)])
    assert diagnosis.healthy
    assert [one.cause.name for one in diagnosis.causes] == ["no-thinking-tags"]


def test_failed_run() -> None:
    failure = Failed(error="not_finite", message="The target's logits are not finite numbers.")
    assert diagnose([Seen("run", failed=failure)]).roots[0].cause.name == "not-finite"
    other = Failed(error="out_of_memory", message="There is not enough memory for this.")
    assert diagnose([Seen("run", failed=other)]).health == "unknown"


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(CAUSES)), st.sampled_from(["note", "warning", "defect"])), max_size=8
    )
)
def test_whatever_is_found_above_a_note_is_not_healthy(causes: list[tuple[str, str]]) -> None:
    findings = tuple(finding(name, 1, severity) for name, severity in causes)
    diagnosis = diagnose([Seen("run", findings, checked=HEALTHY)])
    assert diagnosis.healthy == all(severity == "note" for _, severity in causes)
    roots_over = False
    for one in diagnosis.causes:
        roots_over = roots_over or bool(one.follows)
        assert not (
            roots_over and not one.follows and one.severity != "note" and one.cause.name not in SYMPTOMS
        )


def test_answers_of_a_trace() -> None:
    prefilled = Prefilled(
        prompt_ids=[1],
        prompt_text="",
        messages=[],
        thinking=False,
        settings=DecodeSettings(),
        stop_ids=[],
        seconds=0.0,
        first_id=1,
    )
    finished = Finished(
        reason="stop",
        output_ids=[1],
        text="",
        thinking_text="",
        rounds=0,
        tokens=1,
        mean_acceptance_length=0.0,
        acceptance_histogram=[],
        tokens_per_second=0.0,
        ttft_s=0.0,
        ms=StageTimes(),
        drafted=0,
        accepted=0,
    )
    before, inside, after = finding("two-bos"), finding("wrong-leaf", 2), finding("degenerate-text", 3)
    first, second = seen_answers(
        [before, prefilled, inside, finished, after, HEALTHY, finding("system-lost"), prefilled, finished]
    )
    assert [one.cause for one in first.findings] == ["two-bos", "wrong-leaf", "degenerate-text"]
    assert first.compared
    assert [one.cause for one in second.findings] == ["system-lost"]
    assert not second.compared


@pytest.mark.parametrize("name", sorted(CAUSES))
def test_every_cause_alone_is_named_first(name: str) -> None:
    diagnosis = diagnose([Seen("run", (finding(name, 1),), checked=HEALTHY)])
    assert diagnosis.causes[0].cause.name == name
    assert not diagnosis.healthy
