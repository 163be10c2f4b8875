"""A drafter's checkpoint is one that every loader of z-lab's format reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from demo_models import MASK, RECIPE, VOCAB, random_drafter, random_drafter_config

from engine.drafter_config import DFlashConfig
from engine.drafter_load import load_drafter
from engine.json_file import read_json
from engine.train.drafter_shape import export_drafter, spread_taps


def test_exported_drafter_loads(tmp_path: Path) -> None:
    drafter, config = random_drafter(), random_drafter_config()
    export_drafter(drafter, config, tmp_path)
    loaded = load_drafter(tmp_path)
    assert loaded.config == drafter.config == DFlashConfig.from_dict(read_json(tmp_path / "config.json"))
    assert loaded.config.vocab_size == VOCAB
    assert loaded.dtype == torch.bfloat16
    for name, weight in drafter.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight.bfloat16())
    assert json.loads((tmp_path / "config.json").read_text())["dflash_config"] == {
        "mask_token_id": MASK,
        "target_layer_ids": list(RECIPE.tap_layers),
    }


@pytest.mark.parametrize(
    ("count", "layers", "taps"),
    [
        (5, 36, (1, 9, 17, 25, 33)),  # as in z-lab's drafter of Qwen3-8B
        (4, 30, (1, 10, 18, 27)),
        (1, 30, (15,)),
        (5, 4, (1,)),
        (3, 1, (0,)),
    ],
)
def test_taps_are_spread_over_the_target(count: int, layers: int, taps: tuple[int, ...]) -> None:
    assert spread_taps(count, layers) == taps
