"""Rounds on the device against the plain decode loop: same events, same caches; here on the CPU."""

from __future__ import annotations

import dataclasses
import functools
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import torch
from test_decode import PROMPT, caches_equal_the_text, ids_of, rounds_of
from tiny_models import FAMILIES, STOP_ID, VOCAB, tiny_pair
from torch.utils._python_dispatch import TorchDispatchMode

from engine.cache import KeyValueRows
from engine.control import Control
from engine.decode import generate
from engine.drafter import Drafter
from engine.errors import EngineError
from engine.events import Candidates, Round, StageTimes
from engine.pair import Pair
from engine.static.record import Record
from engine.static.runner import STAGES, StaticRunner
from engine.target import Target

SAMPLED = {"temperature": 0.8, "top_p": 0.95, "seed": 3}


def both(
    family: str, stop_ids: tuple[int, ...] = (STOP_ID,), dtype: torch.dtype = torch.float32
) -> tuple[Pair, Pair]:
    """The same models decoded by the plain loop and on the device, with a drafter that is often right: it
    copies the target's own weights where the shapes allow it."""
    plain = tiny_pair(family, stop_ids=stop_ids, dtype=dtype)
    device = Pair(plain.target, plain.drafter, plain.codec, plain.info, on_device=True)
    return plain, device


def run(pair: Pair, **settings: Any) -> list[Any]:
    pair.session.reset()
    return list(generate(pair, PROMPT, **{"max_new_tokens": 40, **settings}))


def assert_same_rounds(expected: list[Any], got: list[Any]) -> None:
    """All but the times; two batch shapes may differ in the last bits of a float."""
    for one, other in zip(rounds_of(expected), rounds_of(got), strict=True):
        assert_same(
            *(
                msgspec.to_builtins(msgspec.structs.replace(event, t=0.0, ms=StageTimes()))
                for event in (one, other)
            ),
            where=f"round {one.index}",
        )


def assert_same(one: Any, other: Any, where: str) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for name in one:
            assert_same(one[name], other[name], f"{where} {name}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where} {place}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=2e-3), where
    else:
        assert one == other, where


@pytest.fixture(autouse=True)
def knowing_drafter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random drafters are never right; this one shifts its logits towards the target's favourites, the same
    way in both loops, so that paths of several nodes are accepted."""
    logits = Drafter.logits
    bias = torch.zeros(VOCAB)
    bias[_favourites()] = 4.0

    def biased(self: Drafter, hidden: torch.Tensor, head: torch.nn.Module) -> torch.Tensor:
        out = logits(self, hidden, head)
        return out + bias

    monkeypatch.setattr(Drafter, "logits", biased)


@functools.cache
def _favourites() -> list[int]:
    counts: dict[int, int] = {}
    for family in FAMILIES:
        for token in ids_of(run(tiny_pair(family), mode="ar", max_new_tokens=60)):
            counts[token] = counts.get(token, 0) + 1
    return sorted(counts, key=lambda token: -counts[token])[:8]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampling", [{}, SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize(
    "settings", [{"mode": "ar"}, {"mode": "chain"}, {"budget": 5}, {"budget": 16}, {"budget": 48}], ids=str
)
def test_events_equal_those_of_the_plain_loop(
    family: str, sampling: dict[str, Any], settings: dict[str, Any]
) -> None:
    plain, device = both(family)
    expected, got = run(plain, **settings, **sampling), run(device, **settings, **sampling)
    assert ids_of(got) == ids_of(expected)
    assert_same_rounds(expected, got)
    assert got[-1].reason == expected[-1].reason
    caches_equal_the_text(device, got)


@pytest.mark.parametrize("family", FAMILIES)
def test_events_equal_those_of_the_plain_loop_in_float64(family: str) -> None:
    plain, device = both(family, dtype=torch.float64)
    expected, got = run(plain, budget=16), run(device, budget=16)
    assert ids_of(got) == ids_of(expected)
    assert_same_rounds(expected, got)
    caches_equal_the_text(device, got)


def test_paths_of_several_nodes_are_accepted() -> None:
    lengths = [event.acceptance_length for f in FAMILIES for event in rounds_of(run(both(f)[1], budget=48))]
    assert max(lengths) >= 3


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9])
def test_max_tokens_end_the_text_exactly(limit: int) -> None:
    plain, device = both("qwen3_5")
    got = run(device, max_new_tokens=limit, budget=16)
    assert ids_of(got) == ids_of(run(plain, max_new_tokens=limit, budget=16))
    caches_equal_the_text(device, got)


def test_stop_ids_end_the_text_exactly() -> None:
    full = ids_of(run(both("qwen3_5")[0], mode="ar"))
    for stop in list(dict.fromkeys(full[1:]))[:8]:
        device = both("qwen3_5", stop_ids=(stop, STOP_ID))[1]
        got = run(device, budget=16)
        assert ids_of(got) == full[: full.index(stop) + 1]
        assert got[-1].reason == "stop"
        caches_equal_the_text(device, got)


@pytest.mark.parametrize("place", range(3, 20))
def test_stop_strings_take_back_what_follows(place: int) -> None:
    plain, device = both("qwen3_5")
    text = run(plain, mode="ar")[-1].text
    stop = text[place : place + 2]
    got, expected = run(device, stop=(stop,), budget=16), run(plain, stop=(stop,), budget=16)
    assert ids_of(got) == ids_of(expected)
    assert got[-1].text == expected[-1].text
    assert_same_rounds(expected, got)
    caches_equal_the_text(device, got)


def test_only_rounds_that_can_be_taken_back_keep_what_was_before() -> None:
    _, device = both("qwen3_5")
    run(device, budget=16)
    memory = device.runner.cache.delta_memory
    assert memory is not None
    assert memory._before is None
    run(device, budget=16, stop=("\x01",))
    assert memory._before is not None


def test_modes_change_live_and_features_of_ar_rounds_reach_the_drafter() -> None:
    plain, device = both("qwen3_5")
    seen = {}
    for name, pair in (("plain", plain), ("device", device)):
        pair.session.reset()
        control, events = Control(), []
        for event in generate(pair, PROMPT, mode="ar", max_new_tokens=60, stop=("\x01",), control=control):
            events.append(event)
            if isinstance(event, Round):
                control.update(mode="ar" if event.index % 8 < 5 else "tree", budget=8 + event.index % 3)
        seen[name] = events
        caches_equal_the_text(pair, events)
    assert ids_of(seen["plain"]) == ids_of(seen["device"])
    assert_same_rounds(seen["plain"], seen["device"])


def test_long_ar_runs_hand_features_over_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.static.runner.MAX_PENDING", 24)
    plain, device = both("qwen3_5")
    events = run(device, mode="ar", max_new_tokens=70)
    assert ids_of(events) == ids_of(run(plain, mode="ar", max_new_tokens=70))
    caches_equal_the_text(device, events)
    first = device.session.draft(7)
    fresh = tiny_pair("qwen3_5")
    list(fresh.session.prefill(device.session.ids, 0))
    assert torch.allclose(first, fresh.session.draft(7), atol=1e-4)


def test_cancel_and_a_second_run() -> None:
    _, device = both("qwen3_5")
    control, events = Control(), []
    device.session.reset()
    for event in generate(device, PROMPT, max_new_tokens=60, control=control):
        events.append(event)
        if isinstance(event, Round) and event.index == 2:
            control.cancel()
    assert events[-1].reason == "cancelled"
    assert 3 <= events[-1].rounds <= 4
    caches_equal_the_text(device, events)
    again = run(device, budget=24, **SAMPLED)
    assert ids_of(again) == ids_of(run(both("qwen3_5")[0], budget=24, **SAMPLED))


class CancelledLate(Control):
    """Is cancelled when the loop has just seen that it was not."""

    asked = 0

    def before_round(self, settings: Any) -> Any:
        self.asked += 1
        if self.asked == 4:
            self.cancel()
        return super().before_round(settings)


@pytest.mark.parametrize("before", [None, {"stop": ("zzz",)}], ids=["fresh", "behind rounds that can be cut"])
def test_a_cancel_while_a_round_is_in_flight_keeps_all_of_that(before: dict[str, Any] | None) -> None:
    _, device = both("qwen3_5")
    if before is not None:
        run(device, **before)
    device.session.reset()
    events = list(generate(device, PROMPT, max_new_tokens=60, control=CancelledLate()))
    assert (events[-1].reason, events[-1].rounds) == ("cancelled", 3)
    caches_equal_the_text(device, events)
    whole = ids_of(run(both("qwen3_5")[0], max_new_tokens=60))
    assert ids_of(events) == whole[: len(ids_of(events))]
    assert len(ids_of(events)) > 3


def test_a_drafter_with_another_activation_drafts_the_same() -> None:
    pairs = both("qwen3_5")
    drafter = pairs[0].drafter
    assert drafter is not None
    assert pairs[1].drafter is drafter
    drafter.config = dataclasses.replace(drafter.config, hidden_act="gelu")
    for layer in drafter.layers:
        layer.mlp.activation = torch.nn.GELU()
    plain, device = (run(pair) for pair in pairs)
    assert ids_of(plain) == ids_of(device)
    assert_same_rounds(plain, device)


def test_a_listener_that_leaves_finds_the_caches_in_order() -> None:
    _, device = both("qwen3_5")
    device.session.reset()
    events = generate(device, PROMPT, max_new_tokens=60)
    for event in events:
        if isinstance(event, Round) and event.index == 1:
            break
    events.close()  # type: ignore[attr-defined]
    assert device.session.cache.length == len(device.session.ids) > len(PROMPT)


def test_a_target_alone() -> None:
    plain = tiny_pair("qwen3_5")
    alone = Pair(plain.target, None, plain.codec, plain.info, on_device=True)
    assert ids_of(run(alone, mode="ar")) == ids_of(run(plain, mode="ar"))


def test_buffers_stay_where_they_are() -> None:
    """A CUDA graph reads and writes the addresses it was captured with."""
    _, device = both("qwen3_5")
    run(device)
    runner: StaticRunner = device.runner
    before = addresses(device)
    run(device, budget=200, max_new_tokens=120)
    device.session.reset()
    run(device, mode="chain", **SAMPLED)
    assert device.runner is runner
    assert addresses(device) == before


def addresses(pair: Pair) -> list[int]:
    cache, context = pair.runner.cache, pair.session.context
    assert context is not None
    assert cache.delta_memory is not None
    tensors = [*context.keys, *context.values, cache.delta_memory.windows, cache.delta_memory.states]
    for layer in cache.layers:
        if isinstance(layer, KeyValueRows):
            tensors += layer.buffers()
    return [tensor.data_ptr() for tensor in tensors]


class NoWaiting(TorchDispatchMode):
    """Refuses what would make a GPU's host wait, or cannot be captured: values read, shapes from values."""

    READS = ("item", "is_nonzero", "_local_scalar_dense", "equal", "lift_fresh")
    SHAPES = ("nonzero", "masked_select", "unique")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__name__.split(".")[0]
        assert name.lstrip("_") not in {each.lstrip("_") for each in self.READS + self.SHAPES}, (
            f"{name} waits"
        )
        indices = args[1] if name in ("index", "index_put", "index_put_") else []
        assert not any(i is not None and i.dtype == torch.bool for i in indices), f"{name} by a mask waits"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("settings", [{"mode": "ar"}, {"mode": "chain"}, {"budget": 16}], ids=str)
@pytest.mark.parametrize("sampling", [{}, SAMPLED], ids=["greedy", "sampled"])
def test_stages_never_wait_for_the_device(
    family: str, settings: Any, sampling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.kernels.attention._columns", lambda length, rows, capacity: capacity)
    _, device = both(family)
    run(device, **settings, **sampling)
    (stages,) = device.runner._rounds.values()
    with torch.inference_mode(), NoWaiting():
        for stage in STAGES:
            getattr(stages, stage)()


def test_a_record_says_what_the_stages_found() -> None:
    _, device = both("qwen3_5")
    run(device, budget=16)
    (stages,), state = device.runner._rounds.values(), device.runner.state
    state.done.fill_(False)
    state.remaining.fill_(9)
    with torch.inference_mode():
        for stage in STAGES[:-1]:
            getattr(stages, stage)()
        position, root_id = int(state.length), int(state.root_id)
        stages.commit()
    assert len(stages.record) == Record.length(16, state.block_size)
    record, walked, tree = Record.unpack(stages.record, 16, state.block_size, 16), stages.walked, stages.tree
    assert (int(record.position), int(record.root_id)) == (position, root_id)
    assert record.finite == 0
    for name in ("tokens", "path", "accepted", "bonus", "count"):
        assert torch.equal(getattr(record, name), getattr(walked, name).long()), name
    for name in ("token_ids", "parents", "depths", "ranks", "logprobs"):
        assert torch.equal(getattr(record.tree, name), getattr(tree, name)), name
    assert torch.equal(record.is_node, stages.is_node)
    assert record.done == walked.ended
    logits, depth = stages.target_logits, int(walked.accepted)
    assert torch.equal(record.choices, logits.argmax(-1))
    best = logits.topk(2).values
    assert torch.allclose(record.choice_logprobs, logits.log_softmax(-1).amax(-1), atol=1e-6)
    assert torch.allclose(record.gaps, best[:, 0] - best[:, 1])
    draft = stages.draft_logits[depth].log_softmax(-1)
    assert torch.allclose(record.miss_logprob, draft[walked.bonus], atol=1e-6)
    assert record.miss_rank == (draft > draft[walked.bonus]).sum()
    assert (int(state.length), int(state.remaining)) == (position + int(walked.count), 9 - int(walked.count))
    assert int(state.root_id) == int(walked.tokens[int(walked.count) - 1])
    assert int(state.feature_rows) == int(walked.count)


@pytest.mark.parametrize("which", ["target", "drafter"])
def test_nan_logits_end_the_run(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, device = both("qwen3_5")
    kind = Target if which == "target" else Drafter
    logits = kind.logits
    calls = iter(range(100))

    def broken(*arguments: Any) -> torch.Tensor:
        out = logits(*arguments)
        return out * float("nan") if next(calls) == 4 else out

    monkeypatch.setattr(kind, "logits", broken)
    with pytest.raises(EngineError, match=which) as caught:
        run(device)
    assert caught.value.kind == "not_finite"
    assert device.session.ids == []
    monkeypatch.setattr(kind, "logits", logits)
    assert len(ids_of(run(device))) == 40


def test_a_listener_that_leaves_while_broken_rounds_are_in_flight_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, device = both("qwen3_5")
    logits, rounds = Target.logits, 0

    def broken(*arguments: Any) -> torch.Tensor:
        return logits(*arguments) * (float("nan") if rounds else 1.0)

    monkeypatch.setattr(Target, "logits", broken)
    device.session.reset()
    events = generate(device, PROMPT, max_new_tokens=60)
    for event in events:
        rounds += isinstance(event, Round)
        if rounds == 2:  # and the third is in flight
            break
    events.close()  # type: ignore[attr-defined]
    assert device.session.ids == []
    monkeypatch.setattr(Target, "logits", logits)
    assert len(ids_of(run(device))) == 40


def test_naive_uses_the_plain_loop() -> None:
    _, device = both("qwen3_5")
    run(device, verify="naive")
    assert not device._runners


@pytest.mark.parametrize(
    "settings", [{"budget": 12, "candidates": 11}, {"mode": "chain", **SAMPLED}, {"mode": "ar"}], ids=str
)
def test_details_come_from_rounds_on_the_device_too(settings: dict[str, Any]) -> None:
    plain, device = both("qwen3_5")
    expected, got = (rounds_of(run(pair, detail=True, **settings)) for pair in (plain, device))
    assert device._runners
    assert len(expected) == len(got) > 3
    for one, other in zip(expected, got, strict=True):
        assert one.target_topk is not None
        assert_same_candidates(one.target_topk, other.target_topk)
        assert len(other.target_topk.ids) == 1 + len(other.nodes.ids)
        assert len(other.target_topk.ids[0]) == settings.get("candidates", 8)
        assert (other.drafter_topk is None) == (one.mode == "ar")
        if one.drafter_topk is not None:
            # On the device the drafter is asked for the whole block also where the text ends sooner.
            ids, logprobs = other.drafter_topk.ids, other.drafter_topk.logprobs
            depths = len(one.drafter_topk.ids)
            cut = Candidates(ids=ids[:depths], logprobs=logprobs[:depths])
            assert_same_candidates(one.drafter_topk, cut)


def test_details_can_be_turned_on_and_off_between_rounds() -> None:
    plain, device = both("qwen3_5")
    for pair in (plain, device):
        pair.session.reset()
        control, seen = Control(), []
        stop = ("\x01",)  # so that the device is never a round ahead of what it is told
        for event in generate(pair, PROMPT, max_new_tokens=60, stop=stop, budget=8, control=control):
            if isinstance(event, Round):
                seen.append(event.target_topk is not None)
                control.update(detail=event.index % 3 == 0)
        assert seen[:6] == [False, True, False, False, True, False]


def assert_same_candidates(one: Candidates, other: Candidates) -> None:
    """The same tokens as far as no two are as probable as each other, and the same log-probabilities."""
    assert len(one.ids) == len(other.ids)
    for ids, logprobs, other_ids, other_logprobs in zip(
        one.ids, one.logprobs, other.ids, other.logprobs, strict=True
    ):
        assert logprobs == pytest.approx(other_logprobs, abs=2e-3)
        gaps = [a - b for a, b in pairwise(logprobs)]
        if min(gaps) > 4e-3:
            assert ids[:-1] == other_ids[:-1]
