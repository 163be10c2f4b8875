from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file
from tiny_folders import write_json

from engine.errors import EngineError
from engine.model_shape import drafter_shape, target_shape
from engine.model_size import size_pair
from engine.presets import PRESETS


def test_a_preset_is_its_published_shapes() -> None:
    preset = PRESETS["qwen3.6-27b"]
    pair = size_pair("qwen3.6-27b")
    assert preset.target_config is not None
    assert preset.drafter_config is not None
    shapes = target_shape(preset.target_config), drafter_shape(preset.drafter_config)
    assert pair.bytes(4096, 2) == sum(shape.bytes(4096, 2) for shape in shapes)
    assert pair.weight_bytes(2) == 2 * sum(shape.parameters for shape in shapes)
    assert (pair.target.name, pair.target.family) == ("Qwen/Qwen3.6-27B", "qwen3_5_text")


def test_folders(tiny_pair_folder: Path) -> None:
    folder = tiny_pair_folder
    pair = size_pair(str(folder / "target"), str(folder / "drafter"))
    weights = [*load_file(folder / "target" / "model.safetensors").values()]
    weights += load_file(folder / "drafter" / "model.safetensors").values()
    assert pair.weight_bytes(2) == sum(weight.nbytes for weight in weights)
    alone = size_pair(str(folder / "target"))
    assert alone.drafter is None
    assert alone.bytes(7, 2) == alone.target.bytes(7, 2)


def test_a_size_that_is_not_told_stays_unknown(tmp_path: Path) -> None:
    write_json(tmp_path / "config.json", {"model_type": "mamba", "hidden_size": "large"})
    pair = size_pair(str(tmp_path))
    assert (pair.target.family, pair.target.shape, pair.bytes(9, 2)) == ("mamba", None, None)
    assert pair.weight_bytes(2) is None


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("Qwen/Qwen3-4B", "model_not_found"),
        ("", "model_not_found"),
        ("~nobody-of-that-name/x", "model_not_found"),
        ("x" * 5000, "model_not_found"),
        (".", "no_config"),
    ],
)
def test_what_is_no_model(model: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngineError) as refused:
        size_pair(model)
    assert refused.value.kind == kind


def test_a_broken_config(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(EngineError) as refused:
        size_pair(str(tmp_path))
    assert refused.value.kind == "bad_json"
