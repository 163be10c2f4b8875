from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from runs import checked, divergences, rounds
from tiny_models import FAMILIES, HYBRIDS, tiny_pair

from engine.cache import TargetCache
from engine.control import Control
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Checked, Finished
from engine.oracle import oracle
from engine.oracle.oracle import check_supported
from engine.pair import Pair

WAYS: tuple[dict[str, Any], ...] = (
    {"mode": "ar"},
    {"mode": "chain"},
    {"mode": "tree", "budget": 12},
    {"mode": "tree", "budget": 5, "temperature": 0.9, "top_p": 0.9, "top_k": 20, "seed": 3},
    {"mode": "tree", "budget": 9, "verify": "sequential"},
)


@pytest.mark.parametrize("family", FAMILIES)
def test_finds_a_healthy_answer_identical(family: str) -> None:
    pair = tiny_pair(family, stop_ids=())
    for settings in WAYS if family == "qwen3_5" else WAYS[3:]:
        found, events = checked(pair, max_new_tokens=12, **settings)
        assert found.verdict == "identical", (settings, found)
        assert found.compared == found.positions == 12
        assert found.rounds == [(0, len(rounds(events)) - 1)]
        assert found.gap_change < 1e-3
        assert not divergences(events)
        assert len(found.drift) >= len(rounds(events)) if family in HYBRIDS else not found.drift
        pair.session.reset()


@pytest.mark.parametrize("family", ["qwen3_5", "gpt_oss"])
def test_compares_rounds_on_the_device_too(family: str) -> None:
    host = tiny_pair(family, stop_ids=())
    pair = Pair(host.target, host.drafter, host.codec, host.info, on_device=True)
    for settings in ({"mode": "ar"}, {"mode": "tree", "budget": 12}, {"temperature": 0.9, "budget": 4}):
        found, _ = checked(pair, **settings)
        assert found.verdict == "identical", found
        assert found.compared == 24
        assert found.layers > 0


@pytest.mark.parametrize("family", HYBRIDS)
def test_names_the_recurrent_layer_and_the_round_that_naive_verification_spoils(family: str) -> None:
    found, events = checked(tiny_pair(family, stop_ids=()), verify="naive", budget=12)
    assert found.verdict == "defect"
    assert found.layer is not None
    assert found.layer.kind == "linear_attention"
    assert found.layer.layer == 0
    # The first that leaves any row behind which is not of the accepted path.
    spoiled = next(r.index for r in rounds(events) if r.accepted != list(range(len(r.nodes.ids))))
    assert found.layer.round == spoiled
    assert found.layer.error > 100 * found.layer.tolerance


def test_tells_where_tokens_part() -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    found, events = checked(pair, verify="naive", budget=12, max_new_tokens=60)
    told = divergences(events)
    assert found.defects > 0
    assert found.first is not None
    assert found.first.verdict == "defect"
    assert found.sequential
    assert len(told) == found.defects + found.ties
    where = {r.index: r for r in rounds(events)}[told[0].round or 0]
    assert told[0].id in where.committed_ids
    assert told[0].position == where.position + 1 + where.committed_ids.index(told[0].id)
    assert told[0].target_id != told[0].id
    assert told[0].gap > 0


def test_goes_on_with_a_conversation() -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    list(generate(pair, "abcdefgh", max_new_tokens=12))
    text = [*pair.session.ids]
    pair.codec.encode_chat = lambda *_, **__: dataclasses.replace(  # type: ignore[method-assign]
        type(pair.codec)().encode_chat([{"content": "a"}], False), ids=[*text, 3, 4, 5]
    )
    found, events = checked(pair)
    assert next(event for event in events if event.__class__.__name__ == "Prefilled").cached == len(text)
    assert found.verdict == "identical"


class Broken(TargetCache):
    """Changes one tensor of one layer behind one commit."""

    def spoil(self, layer: int, name: str, commit: int, factor: float) -> None:
        self.where, self.countdown, self.factor = (layer, name), commit, factor

    def commit(self, path: torch.Tensor) -> None:
        super().commit(path)
        self.countdown -= 1
        if self.countdown == 0:
            layer, name = self.where
            part = self.layers[layer]
            if name in ("window", "state"):
                setattr(part, name, getattr(part, name) * self.factor)
            else:
                rows = part.committed()[("keys", "values").index(name)]  # type: ignore[union-attr]
                rows[:, :, -1] *= self.factor


@pytest.mark.parametrize(
    ("layer", "name"), [(0, "state"), (1, "window"), (2, "state"), (3, "keys"), (3, "values")]
)
@pytest.mark.parametrize("commit", [1, 4])  # the prefill's, that of round 2
def test_names_what_was_changed_and_when(layer: int, name: str, commit: int) -> None:
    pair = tiny_pair("qwen3_5", stop_ids=())
    cache = Broken(pair.target.layer_kinds, 512)
    cache.spoil(layer, name, commit, 1.01)
    pair.session.cache = cache
    found, _ = checked(pair, mode="chain")
    assert found.verdict == "defect"
    assert found.layer is not None
    assert (found.layer.layer, found.layer.what) == (layer, name)
    assert found.layer.round == (None if commit == 1 else commit - 2)


def test_names_features_that_are_not_the_target_s() -> None:
    pair = tiny_pair("qwen3", stop_ids=())
    session, verify = pair.session, pair.session.verify

    @torch.inference_mode()
    def spoil(*arguments: Any) -> Any:
        logits = verify(*arguments)
        session._verified.features[:, 33] += 0.5  # type: ignore[union-attr]  # of the second tapped layer
        return logits

    session.verify = spoil  # type: ignore[method-assign]
    found, _ = checked(pair, mode="chain")
    assert found.layer is not None
    assert (found.layer.layer, found.layer.what, found.layer.round) == (2, "features", 0)


def test_sees_logits_that_move_without_changing_a_token() -> None:
    pair = tiny_pair("qwen3", stop_ids=())
    session, verify = pair.session, pair.session.verify

    def spoil(*arguments: Any) -> Any:
        return verify(*arguments) * (1.5 if len(session.ids) > 12 else 1)

    session.verify = spoil  # type: ignore[method-assign]
    found, events = checked(pair, mode="ar")
    assert (found.verdict, found.defects, found.layer) == ("defect", 0, None)
    assert found.gap_change > found.noise
    assert found.gap_round == next(r.index for r in rounds(events) if r.position > 12)


def test_copies_fewer_caches_where_they_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oracle, "PROBE_BYTES", 60_000)
    found, events = checked(tiny_pair("qwen3_5", stop_ids=()), mode="ar")
    assert found.verdict == "identical"
    assert 1 < len(found.drift) < len(rounds(events))
    spoiled, _ = checked(tiny_pair("qwen3_5", stop_ids=()), budget=12, verify="naive")
    assert spoiled.verdict == "defect"


def test_stops_where_it_is_cancelled() -> None:
    pair, control = tiny_pair("qwen3_5", stop_ids=()), Control()
    events = []
    for event in generate(pair, "abcdefgh", max_new_tokens=24, oracle="full", control=control):
        events.append(event)
        if isinstance(event, Finished):
            control.cancel()
    assert isinstance(events[-1], Checked)
    assert (events[-1].verdict, events[-1].compared) == ("unchecked", 0)


def test_refuses_a_target_of_several_processes() -> None:
    pair = tiny_pair("qwen3")
    pair.target.ranks = object()  # type: ignore[assignment]
    with pytest.raises(EngineError, match="one process"):
        check_supported(pair)
