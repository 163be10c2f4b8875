"""What is exported loads elsewhere: transformers' own loader, and in small shards."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from demo_models import PAD, RECIPE, STOP, random_target
from transformers import AutoModelForCausalLM, GenerationConfig

from engine.demo.export import TOKENIZER_FILES, export_target, load_target


@pytest.fixture
def tokenizer_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    for name in TOKENIZER_FILES:
        (folder / name).write_text("{}", encoding="utf-8")
    return folder


def test_target(tmp_path: Path, tokenizer_folder: Path) -> None:
    model = random_target()
    folder = tmp_path / "target"
    export_target(model, tokenizer_folder, folder, dataclasses.replace(RECIPE, shard_megabytes=0.1))
    shards = sorted(folder.glob("*.safetensors"))
    assert len(shards) > 1
    assert all(path.stat().st_size < 0.12e6 for path in shards)
    assert {*TOKENIZER_FILES, "config.json", "model.safetensors.index.json"} <= {
        p.name for p in folder.iterdir()
    }
    assert GenerationConfig.from_pretrained(folder).eos_token_id == [STOP, PAD]

    ids = torch.arange(30)[None]
    loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    assert type(loaded) is type(model)
    expected = model(input_ids=ids, use_cache=False).logits
    got = loaded(input_ids=ids, use_cache=False).logits
    assert 0 < (got - expected).abs().max() < 0.1 * expected.abs().max()  # rounded to bfloat16
    again = load_target(folder, torch.device("cpu"))
    assert torch.equal(again(input_ids=ids, use_cache=False).logits, got)
    assert next(again.parameters()).dtype == torch.float32
    assert model.lm_head.weight.dtype == torch.float32  # the trained one stays as it was
