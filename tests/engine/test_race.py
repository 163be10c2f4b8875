from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from test_decode import PROMPT, draft_well, ids_of, rounds_of, run
from tiny_models import tiny_pair

from engine import race as race_module
from engine.control import Control
from engine.detectors import drafter_choice
from engine.detectors import pair as pair_detector
from engine.detectors.found import found
from engine.errors import EngineError
from engine.event_lines import decode_event, encode_event
from engine.events import Finding, Finished, Lane, Prefilled, Round
from engine.load import load_pair
from engine.pair import Pair
from engine.presets import demo_folder
from engine.race import race
from engine.rounds import not_finite
from engine.session import Session
from engine.settings import MAX_LANES, DecodeSettings

STORY = "Tell me a short story about a fox."
needs_demo = pytest.mark.skipif(
    not (demo_folder() / "target" / "config.json").exists(), reason="no demo pair"
)
WAYS: list[dict[str, Any]] = [
    {"mode": "ar"},
    {"mode": "chain"},
    {"mode": "tree", "budget": 5},
    {"mode": "tree", "budget": 64},
]


def lanes_of(ways: list[dict[str, Any]], **shared: Any) -> list[DecodeSettings]:
    return [DecodeSettings(**{"max_new_tokens": 60, **shared, **way}) for way in ways]


def by_lane(events: Iterator[tuple[int, Any]] | list[tuple[int, Any]], count: int) -> list[list[Any]]:
    lanes: list[list[Any]] = [[] for _ in range(count)]
    for lane, event in events:
        lanes[lane].append(event)
    return lanes


@pytest.fixture(params=("qwen3_5", "qwen3"))
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Pair:
    return draft_well(tiny_pair(request.param), monkeypatch)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("sampling", [{}, {"temperature": 0.8, "top_p": 0.95, "seed": 3}])
def test_lanes_write_what_they_write_alone(on_device: bool, sampling: dict[str, Any]) -> None:
    pair = dataclasses.replace(tiny_pair("qwen3_5"), on_device=on_device)
    lanes = by_lane(race(pair, PROMPT, lanes_of(WAYS, **sampling)), len(WAYS))
    for way, events in zip(WAYS, lanes, strict=True):
        alone = run(pair, **way, **sampling)
        assert ids_of(events) == ids_of(alone)
        assert [r.committed_ids for r in rounds_of(events)] == [r.committed_ids for r in rounds_of(alone)]
        assert {r.mode for r in rounds_of(events)} == {way["mode"]}


def test_the_lane_that_is_behind_in_time_is_next(pair: Pair) -> None:
    events = list(race(pair, PROMPT, lanes_of(WAYS)))
    kinds = [type(event) for _, event in events]
    assert kinds.index(Round) > max(i for i, kind in enumerate(kinds) if kind is Prefilled)
    spent, over = [0.0] * len(WAYS), set()
    for lane, event in events:
        if isinstance(event, Round):
            assert spent[lane] == min(time for i, time in enumerate(spent) if i not in over)
            spent[lane] += event.ms.total
        elif isinstance(event, Finished):
            over.add(lane)
    assert over == set(range(len(WAYS)))


def test_the_conversation_of_the_pair_goes_on_after_a_race(pair: Pair) -> None:
    before = run(pair, mode="tree")
    held = list(pair.session.ids)
    list(race(pair, "another one", lanes_of(WAYS)))
    assert pair.session.ids == held
    assert ids_of(run(pair, mode="tree")) == ids_of(before)


def test_cancelling_ends_every_lane_with_a_finish(pair: Pair) -> None:
    control, seen = Control(), []
    for lane, event in race(pair, PROMPT, lanes_of(WAYS), control=control):
        seen.append((lane, event))
        if len([e for _, e in seen if isinstance(e, Round)]) == 6:
            control.cancel()
    ends = [events[-1] for events in by_lane(seen, len(WAYS))]
    assert [end.reason for end in ends] == ["cancelled"] * len(WAYS)
    assert sum(end.rounds for end in ends) == 6


def test_a_step_is_one_round_of_one_lane(pair: Pair) -> None:
    control, seen = Control(), []

    def watch() -> None:
        seen.extend(by_lane(race(pair, PROMPT, lanes_of(WAYS), control=control), len(WAYS)))

    for _ in range(3):
        control.step()
    racing = threading.Thread(target=watch)
    racing.start()
    while control.runs:
        time.sleep(0.01)
    time.sleep(0.1)
    control.cancel()
    racing.join(60)
    assert sum(events[-1].rounds for events in seen) == 3


def test_settings_do_not_change_during_a_race(pair: Pair) -> None:
    control = Control()
    control.update(mode="ar")
    lanes = by_lane(race(pair, PROMPT, lanes_of(WAYS), control=control), len(WAYS))
    assert [rounds_of(events)[0].mode for events in lanes] == [way["mode"] for way in WAYS]


def test_a_lane_that_fails_leaves_the_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = tiny_pair("qwen3_5")
    alone = ids_of(run(pair, mode="ar"))
    drafted = Session.draft

    def draft(session: Session, *rest: Any) -> Any:
        if len(session.ids) > len(PROMPT) + 10:
            raise not_finite("drafter")
        return drafted(session, *rest)

    monkeypatch.setattr(Session, "draft", draft)
    lanes = by_lane(race(pair, PROMPT, lanes_of(WAYS)), len(WAYS))
    assert ids_of(lanes[0]) == alone
    for events in lanes[1:]:
        assert isinstance(events[-1], EngineError)
        assert events[-1].kind == "not_finite"
        assert rounds_of(events)


def test_what_cannot_be_raced_is_refused_before_anything_is_decoded(pair: Pair) -> None:
    for lanes in (
        [],
        lanes_of(WAYS) * MAX_LANES,
        [DecodeSettings(budget=0)],
        [DecodeSettings(max_new_tokens="x")],  # type: ignore[arg-type]
        [DecodeSettings(thinking=[])],  # type: ignore[arg-type]
        [DecodeSettings(block_size=99)],
    ):
        with pytest.raises(EngineError) as caught:
            race(pair, PROMPT, lanes)
        assert caught.value.kind == "bad_setting"
    alone = dataclasses.replace(pair, drafter=None)
    with pytest.raises(EngineError, match="needs a drafter"):
        race(alone, PROMPT, lanes_of(WAYS))
    with pytest.raises(EngineError, match="cannot be a int"):
        race(pair, 3, lanes_of(WAYS))  # type: ignore[arg-type]


def test_messages_may_come_one_by_one(pair: Pair) -> None:
    messages = iter([{"role": "user", "content": PROMPT}])
    lanes = by_lane(race(pair, messages, lanes_of(WAYS[:2])), 2)  # type: ignore[arg-type]
    assert ids_of(lanes[0]) == ids_of(lanes[1]) == ids_of(run(pair, mode="ar"))


def test_memory_is_refused_before_it_is_short(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(count: int) -> float:
        """Gigabytes that so many lanes want."""
        with pytest.raises(EngineError) as caught:
            race(pair, PROMPT, lanes_of(WAYS[:1], max_new_tokens=300) * count)
        assert caught.value.kind == "out_of_memory"
        found = re.match(r"The caches of (\d) lanes \((\S+) GB\)", caught.value.message)
        assert found
        assert int(found[1]) == count
        return float(found[2])

    monkeypatch.setattr(race_module, "free_memory", lambda: 1000)
    monkeypatch.setattr(race_module, "HEADROOM", 1e4)  # so that tiny models take what can be read
    one, two, three = asked(1), asked(2), asked(3)
    # What a prefill takes is needed once: lanes take turns.
    assert three - two == pytest.approx(two - one, rel=0.1)
    assert one < two < 2 * one
    monkeypatch.setattr(race_module, "free_memory", lambda: int(1.1e9 * one))
    race(pair, PROMPT, lanes_of(WAYS[:1], max_new_tokens=300))
    asked(2)


def test_lanes_keep_room_for_their_own_text_alone(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = []
    made = Session.__init__

    def init(session: Session, target: Any, drafter: Any) -> None:
        lengths.append(target.context_length)
        made(session, target, drafter)

    monkeypatch.setattr(Session, "__init__", init)
    before = pair.target.context_length
    list(race(pair, PROMPT, lanes_of(WAYS[:2])))
    assert lengths.count(len(PROMPT) + 60) == 2
    # Detectors may decode something in a session of their own.
    assert set(lengths) <= {len(PROMPT) + 60, before}
    assert pair.target.context_length == before


def test_what_is_found_of_the_models_is_found_once(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, checked, asked = dataclasses.replace(pair), [], []  # nobody has looked at it

    def check_pair(given: Pair) -> list[Finding]:
        checked.append(given)
        return [found("two-bos", "The template and the tokenizer each write one.")]

    def surprise(given: Pair) -> float:
        asked.append(given)
        return 1e3

    monkeypatch.setattr(pair_detector, "check_pair", check_pair)
    monkeypatch.setattr(drafter_choice, "surprise_at_easy_text", surprise)
    monkeypatch.setattr(drafter_choice, "SUSPICIOUS", 1e9)
    told = list(race(pair, PROMPT, lanes_of(WAYS[1:])))
    causes = [(lane, event.cause) for lane, event in told if isinstance(event, Finding)]
    assert [lane for lane, cause in causes if cause == "two-bos"] == [0]
    assert sorted(lane for lane, cause in causes if cause == "other-drafter") == [0, 1, 2]
    again = list(race(pair, PROMPT, lanes_of(WAYS[1:])))
    assert not [event for _, event in again if isinstance(event, Finding) and event.cause == "two-bos"]
    assert checked == [pair]
    assert asked == [pair]


def test_lane_events_survive_the_wire(pair: Pair) -> None:
    for lane, event in race(pair, PROMPT, lanes_of(WAYS[2:])):
        tagged = Lane(t=1.5, lane=lane, event=event)
        assert msgspec.structs.astuple(decode_event(encode_event(tagged))) == msgspec.structs.astuple(tagged)


@needs_demo
def test_lanes_of_the_demo_pair_write_what_they_write_alone() -> None:
    pair = load_pair("demo", device="cpu", dtype="float32")
    ways = [*WAYS[1:], {"mode": "tree", "thinking": True}, {"mode": "ar"}]
    lanes = by_lane(race(pair, STORY, lanes_of(ways)), len(ways))
    for way, events in zip(ways, lanes, strict=True):
        assert ids_of(events) == ids_of(run(pair, STORY, **way)), way
    lengths = [events[-1].mean_acceptance_length for events in lanes]
    assert min(lengths[:4]) > 2 > lengths[4] == 1


@needs_demo
@pytest.mark.gpu
def test_lanes_on_a_gpu_are_as_fast_as_alone() -> None:
    """Rounds are timed between marks on the device: those of other lanes in its queue do not count."""
    pair = load_pair("demo", device="cuda")
    assert pair.on_device
    many = {"max_new_tokens": 400, "thinking": True}
    list(race(pair, STORY, lanes_of(WAYS, **many)))  # whatever is compiled on first use
    lanes = by_lane(race(pair, STORY, lanes_of(WAYS, **many)), len(WAYS))
    for way, events in zip(WAYS, lanes, strict=True):
        run(pair, STORY, **way, **many)
        alone = run(pair, STORY, **way, **many)
        assert ids_of(events) == ids_of(alone)
        print(way, events[-1].tokens_per_second, alone[-1].tokens_per_second)
        assert events[-1].tokens_per_second == pytest.approx(alone[-1].tokens_per_second, rel=0.15)
