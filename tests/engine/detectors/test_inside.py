"""Detectors that look at a run from inside: silent on healthy runs, exact on damaged records."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import HYBRIDS, VOCAB, tiny_pair

from engine import causal_conv
from engine.causes import CAUSES
from engine.ddtree import DraftTree
from engine.decode import generate
from engine.detectors.passes import Passes
from engine.events import Finding, Finished, Nodes, Round, StageTimes, TargetRows
from engine.pair import Pair
from engine.rounds import RoundResult
from engine.rows import Rows
from engine.session import Session
from engine.settings import DecodeSettings

PROMPT = "What is the answer to everything, and why?"
PAIRS = {family: tiny_pair(family) for family in (*HYBRIDS, "qwen3", "llama", "gpt_oss")}
PAIRS |= {f"qwen3_5 {dtype}": tiny_pair("qwen3_5", dtype=dtype) for dtype in (torch.bfloat16, torch.float64)}
PAIRS_ON_DEVICE = {family: dataclasses.replace(pair, on_device=True) for family, pair in PAIRS.items()}


@pytest.fixture(autouse=True)
def nothing_failed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Whatever else was found."""
    yield
    for name in ("DrafterInput", "Features", "Passes", "Commits"):
        assert f"{name} failed" not in caplog.text


def findings(pair: Pair, prompt: str = PROMPT, **changes: Any) -> list[Finding]:
    events = list(generate(pair, prompt, **{"max_new_tokens": 24, **changes}))
    assert isinstance(events[-1], Finished)
    return [event for event in events if isinstance(event, Finding)]


def inside(found: list[Finding]) -> list[Finding]:
    """Without what depends on what a random drafter promises and a random target writes."""
    return [finding for finding in found if CAUSES[finding.cause].area in ("verify", "commit")] + [
        finding for finding in found if finding.cause.startswith(("drafter-", "tap-", "mask-", "block-"))
    ]


@given(
    family=st.sampled_from(sorted(PAIRS)),
    prompt=st.text(st.characters(codec="ascii", min_codepoint=32), min_size=1, max_size=40),
    mode=st.sampled_from(("ar", "chain", "tree")),
    budget=st.integers(1, 80),
    temperature=st.sampled_from((0.0, 0.7, 1.5)),
    seed=st.integers(0, 99),
    verify=st.sampled_from(("solve", "sequential")),
    stop=st.sampled_from(((), ("K",))),
    fresh=st.booleans(),
    on_device=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_healthy_runs_show_nothing(
    family: str, prompt: str, fresh: bool, on_device: bool, **changes: Any
) -> None:
    pair = (PAIRS_ON_DEVICE if on_device else PAIRS)[family]
    if fresh:
        pair.session.reset()
    assert inside(findings(pair, prompt, **changes)) == []


@given(data=st.data(), rows=st.integers(2, 24), kept=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_one_wrong_entry_of_a_pass_is_found(data: st.DataObject, rows: int, kept: int) -> None:
    parents = [-1, *(data.draw(st.integers(0, row - 1)) for row in range(1, rows))]
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    index = causal_conv.gather_index(torch.tensor(parents), kept)
    positions = torch.tensor(depths) + 7
    assert list(look(parents, depths, positions, index)) == []

    row = data.draw(st.integers(0, rows - 1))
    damaged = positions.clone()
    damaged[row] += 1
    (found,) = look(parents, depths, damaged, index)
    assert (found.cause, found.evidence["row"]) == ("rope-by-index", row)

    column = data.draw(st.integers(0, kept - 1))
    damaged = index.clone()
    damaged[row, column] = (damaged[row, column] + 1) % (rows + kept)
    (found,) = look(parents, depths, positions, damaged)
    assert found.cause == "conv-siblings"


def look(
    parents: list[int], depths: list[int], positions: torch.Tensor, index: torch.Tensor
) -> list[Finding]:
    """What ``Passes`` says of round 3, whose root is at position 7."""
    ids = torch.arange(len(parents))
    tree = DraftTree(
        ids[1:], torch.tensor(parents[1:]) - 1, torch.tensor(depths[1:]), torch.zeros(0), ids[1:], len(ids)
    )
    rows = Rows.tree(tree, "solve")
    state = SimpleNamespace(rows=rows, index=index, path=torch.tensor([0]))
    passed = SimpleNamespace(ids=ids, rows=rows, positions=positions)
    cache = SimpleNamespace(states=[state], passed=passed)
    observer = Passes()
    observer.started(
        SimpleNamespace(  # type: ignore[arg-type]
            pair=SimpleNamespace(
                session=SimpleNamespace(cache=cache), target=SimpleNamespace(layer_kinds=["linear_attention"])
            )
        )
    )
    nothing = torch.zeros(0)
    result = RoundResult(
        position=7,
        root_id=0,
        tree=tree,
        draft_logits=nothing,
        target_logits=nothing,
        choices=ids,
        bonus=0,
        committed=[0],
        accepted=[],
        ms=StageTimes(),
        drafter_top=None,
        target_top=None,
    )
    event = Round(
        index=3,
        mode="tree",
        position=7,
        root_id=0,
        nodes=Nodes(),
        target=TargetRows(ids=[], logprobs=[], gaps=[]),
        accepted=[],
        bonus_id=0,
        miss=None,
        committed_ids=[0],
        acceptance_length=1,
        ms=StageTimes(),
    )
    found = list(observer.round(event, result))
    assert all(finding.round == 3 for finding in found)
    return found


@pytest.mark.parametrize("mode", ["chain", "tree"])
def test_naive_verification_shows_its_first_stranger(mode: str) -> None:
    (found,) = inside(findings(tiny_pair("qwen3_5"), mode=mode, verify="naive"))
    assert (found.cause, found.severity, found.round) == ("naive-verify", "defect", 0)
    if mode == "tree":
        assert "which is none of its ancestors" in found.seen
    else:
        assert "the state that was kept had seen all 8 rows" in found.seen


def test_naive_verification_is_right_on_attention_alone() -> None:
    assert inside(findings(tiny_pair("qwen3"), verify="naive")) == []


def test_naive_verification_is_named_in_the_first_round_that_something_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A chain that is accepted whole leaves the right state behind."""
    pair = tiny_pair("qwen3_5")
    prompt = pair.codec.encode_chat([{"role": "user", "content": PROMPT}], False).ids
    text = [
        *prompt,
        *next(
            e for e in generate(pair, PROMPT, mode="ar", max_new_tokens=40) if isinstance(e, Finished)
        ).output_ids,
    ]
    pair.session.reset()

    def draft(session: Session, root_id: int, block_size: int | None = None) -> torch.Tensor:
        session.hand_over()
        logits = torch.zeros(7, VOCAB)
        for depth in range(7):
            place = len(session.ids) + 1 + depth
            right = len(session.ids) < len(prompt) + 8 or depth < 3
            logits[depth, text[place] if right else (text[place] + 1) % VOCAB] = 9.0
        return logits

    monkeypatch.setattr(Session, "draft", draft)
    (found,) = inside(findings(pair, mode="chain", verify="naive"))
    assert (found.cause, found.round) == ("naive-verify", 1)


def test_a_shorter_block_that_was_asked_for_is_a_note() -> None:
    (found,) = inside(findings(tiny_pair("qwen3"), block_size=4))
    assert (found.cause, found.severity) == ("block-size", "note")


def test_findings_do_not_look_at_what_is_planted() -> None:
    pair = tiny_pair("qwen3_5")
    marked = DecodeSettings(inject=("wrong-leaf",), max_new_tokens=16, mode="tree")
    from engine.faults.planting import plant

    planted, _ = plant(pair, marked)
    unmarked = findings(planted, max_new_tokens=16)
    assert inside(unmarked)[0].cause == "wrong-leaf"
