"""Every fault, planted: the run is another, and its detector names it first, at the first round affected."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tiny_models import MASK_ID, tiny_pair

from engine.decode import generate
from engine.errors import EngineError
from engine.event_check import check_event
from engine.events import AnyEvent, Finding, Finished, Round
from engine.faults import commits, drafter_block, features, stale, verification
from engine.faults.catalogue import FAULTS
from engine.pair import Pair
from engine.race import race
from engine.settings import DecodeSettings

PROMPT = "What is 482 + 319?"
INSIDE = [name for part in (commits, drafter_block, features, stale, verification) for name in part.PLANTS]


Planted = Callable[[str], list[AnyEvent]]


def run(pair: Pair, prompt: str = PROMPT, **settings: Any) -> list[AnyEvent]:
    pair.session.reset()
    events: list[AnyEvent] = []
    with contextlib.suppress(EngineError):  # of what is not finite
        events.extend(generate(pair, prompt, **{"max_new_tokens": 32, **settings}))
    return events


def findings(events: list[AnyEvent]) -> list[Finding]:
    return [event for event in events if isinstance(event, Finding)]


def rounds(events: list[AnyEvent]) -> list[Round]:
    return [event for event in events if isinstance(event, Round)]


@pytest.fixture(scope="module")
def healthy(demo_pair: Pair) -> list[Round]:
    return rounds(run(demo_pair))


@pytest.fixture(scope="module")
def planted(demo_pair: Pair) -> Planted:
    """A run with a fault, made once for all tests."""

    @functools.cache
    def events(name: str) -> list[AnyEvent]:
        return run(demo_pair, inject=(name,), max_new_tokens=120 if name == "stop-in-path" else 32)

    return events


def first_affected(name: str, events: list[AnyEvent]) -> int:
    """Told from the events alone; where they do not tell it, the fault shows in every round."""
    for event in rounds(events):
        path = [event.nodes.parents[node] for node in event.accepted]
        if name == "path-not-closed" and path != [-1, *event.accepted][: len(path)]:
            return event.index
        if name == "stop-in-path" and {2042, 2044} & {event.root_id, *event.committed_ids[:-1]}:
            return event.index
    return 0


@pytest.mark.parametrize("name", INSIDE)
def test_is_named_first_at_the_first_round_it_touches(planted: Planted, name: str) -> None:
    events = planted(name)
    found = findings(events)
    assert found, "nothing was noticed"
    assert (found[0].cause, found[0].round) == (name, first_affected(name, events))
    for event in events:
        check_event(event)  # such a run can be recorded and read


@pytest.mark.parametrize("name", [name for name in INSIDE if name not in ("stop-in-path", "not-finite")])
def test_changes_what_is_computed(planted: Planted, healthy: list[Round], name: str) -> None:
    numbers = [(event.nodes, event.target) for event in rounds(planted(name))]
    assert numbers[:4] != [(event.nodes, event.target) for event in healthy[:4]]


def test_the_pair_decodes_as_before_after_faults(
    demo_pair: Pair, planted: Planted, healthy: list[Round]
) -> None:
    for name in INSIDE:
        planted(name)
    again = rounds(run(demo_pair))
    assert [(event.nodes, event.target) for event in again] == [
        (event.nodes, event.target) for event in healthy
    ]


@pytest.mark.parametrize(
    "names",
    [
        ("wrong-leaf", "drafter-root-masked"),
        ("tap-layers", "naive-verify"),
        ("conv-siblings", "tap-norm"),
        ("tree-order", "state-precision"),
        ("path-not-closed", "mask-id"),
        ("state-during-verify", "drafter-rejected-rows", "rope-by-index"),
    ],
)
def test_faults_at_once_are_all_named(demo_pair: Pair, names: tuple[str, ...]) -> None:
    causes = {finding.cause for finding in findings(run(demo_pair, inject=names, max_new_tokens=16))}
    assert causes >= set(names)


def test_a_healthy_lane_beside_a_faulty_one_is_as_it_is_alone() -> None:
    pair = tiny_pair("qwen3_5")
    alone = next(event for event in run(pair, max_new_tokens=24) if isinstance(event, Finished)).output_ids
    healthy = DecodeSettings(max_new_tokens=24)
    faulty = msgspec.structs.replace(healthy, inject=("wrong-leaf", "mask-id"))
    lanes: dict[int, list[Any]] = {0: [], 1: []}
    for lane, event in race(pair, PROMPT, [healthy, faulty]):
        lanes[lane].append(event)
    assert lanes[0][-1].output_ids == alone
    assert not {"wrong-leaf", "mask-id"} & {finding.cause for finding in findings(lanes[0])}
    assert {"wrong-leaf", "mask-id"} <= {finding.cause for finding in findings(lanes[1])}


def test_faults_of_host_and_device_do_not_mix(demo_pair: Pair) -> None:
    with pytest.raises(EngineError, match="stale-buffers and mask-id cannot be planted together"):
        generate(demo_pair, PROMPT, inject=("stale-buffers", "mask-id"))


def test_a_hybrid_fault_is_refused_on_attention_alone() -> None:
    with pytest.raises(
        EngineError, match="wrong-leaf cannot be planted here: it needs a target with recurrent"
    ):
        generate(tiny_pair("llama"), PROMPT, inject=("wrong-leaf",))


@pytest.mark.parametrize("family", ["qwen3_5", "qwen3", "llama"])
@pytest.mark.parametrize(
    "name",
    [
        "drafter-root-masked",
        "mask-id",
        "tap-layers",
        "tap-norm",
        "block-size",
        "drafter-positions",
        "rope-by-index",
    ],
)
def test_is_named_on_any_target(family: str, name: str) -> None:
    found = findings(run(tiny_pair(family), inject=(name,), max_new_tokens=8))
    assert (found[0].cause, found[0].round) == (name, 0)


@pytest.mark.parametrize("mode", ["ar", "chain"])
@pytest.mark.parametrize("name", INSIDE)
def test_other_modes_show_it_or_refuse_it(name: str, mode: str) -> None:
    pair = tiny_pair("qwen3_5")
    if {"branches", *(["drafter"] if mode == "ar" else [])} & {*FAULTS[name].needs}:
        with pytest.raises(EngineError, match=f"The fault {name} cannot be planted here"):
            generate(pair, PROMPT, inject=(name,), mode=mode)
        return
    if name == "stop-in-path":
        return  # a random text may hold no stop
    found = findings(run(pair, inject=(name,), mode=mode, max_new_tokens=12))
    assert (found[0].cause, found[0].round) == (name, 0)


@pytest.mark.parametrize("name", INSIDE)
def test_the_slow_reference_shows_it_or_refuses_it(name: str) -> None:
    pair = tiny_pair("qwen3_5")
    if {"solve", "device"} & {*FAULTS[name].needs}:
        with pytest.raises(EngineError, match=f"The fault {name} cannot be planted here"):
            generate(pair, PROMPT, inject=(name,), verify="sequential")
    elif name != "stop-in-path":
        found = findings(run(pair, inject=(name,), verify="sequential", max_new_tokens=12))
        assert found[0].cause == name


def test_the_last_layer_before_its_norm_is_told_from_another_layer() -> None:
    found = findings(run(tiny_pair("qwen3"), inject=("tap-norm",), max_new_tokens=8))
    assert [finding.cause for finding in found] == ["tap-norm"]
    assert found[0].evidence == {"layer": 3, "side": "before"}


def test_what_was_read_instead_is_told(planted: Planted) -> None:
    evidence = findings(planted("tap-layers"))[0].evidence
    assert (evidence["read"], evidence["named"]) == ([0, 5, 9], [1, 6, 10])


def test_a_faulty_answer_goes_on_behind_its_stop(planted: Planted) -> None:
    finished = planted("stop-in-path")[-1]
    assert isinstance(finished, Finished)
    assert finished.reason == "length"


def test_the_other_mask_is_never_the_mask() -> None:
    pair = tiny_pair("qwen3")
    evidence = findings(run(pair, inject=("mask-id",), max_new_tokens=4))[0].evidence
    assert evidence["found"] != MASK_ID == evidence["mask_id"]
