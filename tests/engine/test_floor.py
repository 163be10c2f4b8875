from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
import torch
from tiny_models import FAMILIES, tiny_pair

from engine.event_lines import decode_event, encode_event
from engine.events import Floor, Loaded, ModelInfo
from engine.floor import bytes_read, copy_bandwidth, measure_floor
from engine.pair import Pair
from engine.worker import with_floor


@pytest.mark.parametrize("family", FAMILIES)
def test_a_round_reads_every_weight_but_the_embedding_table_and_idle_experts(family: str) -> None:
    pair = tiny_pair(family, dtype=torch.float64)
    drafter = pair.drafter
    assert drafter is not None
    head, table = pair.target.head.weight, pair.target.embedding.weight
    assert isinstance(head, torch.Tensor)
    weights = {id(weight): weight for weight in pair.target.model.parameters()}
    expected = sum(8 * weight.numel() for weight in weights.values())
    if head is not table:
        expected -= 8 * table.numel()
    for layer in pair.target.model.model.layers:
        if hasattr(layer.mlp, "experts"):  # two of four are what a row passes
            expected -= 8 * sum(weight.numel() for weight in layer.mlp.experts.parameters()) // 2
    target, drafting = bytes_read(pair)
    assert target == expected
    assert drafting == 8 * (sum(weight.numel() for weight in drafter.parameters()) + head.numel())


def test_a_head_that_is_the_table_is_read() -> None:
    pair = tiny_pair(FAMILIES[0])
    before = bytes_read(pair)[0]
    pair.target.head.weight = pair.target.embedding.weight
    # One matrix less in the model, and the table now counts.
    assert bytes_read(pair)[0] == before


def test_the_bandwidth_is_that_of_a_machine() -> None:
    assert 1e8 < copy_bandwidth(torch.device("cpu")) < 1e13


def test_without_a_drafter_only_the_target_is_read() -> None:
    pair = tiny_pair(FAMILIES[0])
    object.__setattr__(pair, "drafter", None)
    floor = measure_floor(pair)
    assert floor.drafter_bytes == 0
    assert floor.target_bytes > 0
    assert floor.bytes_per_second > 0


def test_the_worker_tells_the_floor_of_a_gpu_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    info = Loaded(
        target=ModelInfo(name="a", path="a", architecture="A", parameters=1, dtype="bfloat16"),
        drafter=None,
        device="cuda",
        versions={},
        block_size=None,
        mask_token_id=None,
        target_layer_ids=[],
        memory_bytes=1,
        seconds=1.0,
        context_length=8,
        vocab_size=8,
    )
    on_cpu, on_gpu = (
        cast(Pair, SimpleNamespace(target=SimpleNamespace(device=torch.device(name)), info=info))
        for name in ("cpu", "cuda")
    )
    floor = Floor(bytes_per_second=4e12, target_bytes=8, drafter_bytes=1)
    asked = []

    def measure(of: object) -> Floor:
        asked.append(of)
        return floor

    monkeypatch.setattr("engine.floor.measure_floor", measure)
    assert with_floor(on_cpu) is info
    assert not asked
    told = with_floor(on_gpu)
    assert told.floor == floor
    assert decode_event(encode_event(told)) == told
    assert asked == [on_gpu]

    def no_room(of: object) -> Floor:
        raise torch.OutOfMemoryError

    monkeypatch.setattr("engine.floor.measure_floor", no_room)
    assert with_floor(on_gpu) is info
