from __future__ import annotations

import pytest
from tiny_models import tiny_pair

from engine.causes import CAUSES
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Prefilled
from engine.faults.catalogue import FAULTS
from engine.faults.planting import PLANTS, plant
from engine.settings import DecodeSettings


def test_every_fault_of_the_catalogue_can_be_planted_and_is_a_cause() -> None:
    assert PLANTS.keys() == FAULTS.keys()
    assert FAULTS.keys() <= CAUSES.keys()


def test_planting_leaves_the_pair_alone() -> None:
    pair = tiny_pair("qwen3_5")
    planted, _ = plant(pair, DecodeSettings(inject=("mask-id", "drafter-root-masked")))
    assert pair.drafter is not None
    assert planted.drafter is not None
    mask = pair.drafter.config.mask_token_id
    assert pair.drafter.block_ids(5, size=3).tolist() == [[5, mask, mask]]
    block = planted.drafter.block_ids(5, size=3).tolist()[0]
    assert block[0] == mask
    assert block[1] == block[2] != mask
    assert planted.session.cache is not pair.session.cache
    assert planted.drafter.fc.weight is pair.drafter.fc.weight


def test_a_run_carries_the_mark_of_its_faults() -> None:
    events = generate(tiny_pair("qwen3"), "hello", inject=("mask-id",), max_new_tokens=4)
    prefilled = next(event for event in events if isinstance(event, Prefilled))
    assert prefilled.settings.inject == ("mask-id",)


def test_a_fault_that_cannot_show_is_refused_in_a_sentence() -> None:
    with pytest.raises(EngineError, match="mask-id cannot be planted here: it needs a drafter at work"):
        generate(tiny_pair("qwen3"), "hello", inject=("mask-id",), mode="ar")
