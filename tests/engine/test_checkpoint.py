from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.checkpoint import Checkpoint
from engine.errors import EngineError


def write(folder: Path, *, config: object = None, weights: bool = True, index: object = None) -> Path:
    (folder / "config.json").write_text(json.dumps({} if config is None else config))
    if weights:
        save_file({"a.x": torch.zeros(2, 3), "b": torch.zeros(4)}, folder / "model.safetensors")
    if index is not None:
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def open_target(folder: Path) -> Checkpoint:
    return Checkpoint.open("target", folder)


def kind_of(action: object) -> str:
    with pytest.raises(EngineError) as refused:
        action()  # type: ignore[operator]
    return refused.value.kind


def test_shapes_and_parameters_from_the_header(tmp_path: Path) -> None:
    checkpoint = open_target(write(tmp_path))
    checkpoint.check_files()
    assert checkpoint.shapes == {"a.x": (2, 3), "b": (4,)}
    assert checkpoint.count_parameters() == 10
    assert checkpoint.count_parameters(skip=("a.",)) == 4


def test_shards(tmp_path: Path) -> None:
    write(tmp_path, weights=False, index={"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}})
    save_file({"a": torch.zeros(2)}, tmp_path / "one.safetensors")
    checkpoint = open_target(tmp_path)
    assert checkpoint.weight_names == ("one.safetensors", "two.safetensors")
    with pytest.raises(EngineError, match=r"lacks two\.safetensors") as refused:
        checkpoint.check_files()
    assert refused.value.kind == "missing_shard"
    save_file({"b": torch.zeros(3)}, tmp_path / "two.safetensors")
    checkpoint.check_files()
    assert checkpoint.count_parameters() == 5


NO_INDEX: list[object] = [{}, [], *({"weight_map": {"a": name}} for name in (3, "../x.safetensors", "x.bin"))]


@pytest.mark.parametrize("index", NO_INDEX)
def test_an_index_that_names_no_files_of_the_folder(tmp_path: Path, index: object) -> None:
    checkpoint = open_target(write(tmp_path, index=index))
    assert kind_of(lambda: checkpoint.weight_names) == "bad_json"


def test_folders_without_config(tmp_path: Path) -> None:
    assert kind_of(lambda: open_target(tmp_path)) == "no_config"
    assert kind_of(lambda: open_target(tmp_path / "nowhere")) == "no_config"


@pytest.mark.parametrize("text", ["", '{"a": ', "[1]", "null", "[" * 100_000, "\xff\xfe"])
def test_configs_that_are_no_json_object(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text, encoding="latin-1")
    assert kind_of(lambda: open_target(tmp_path)) == "bad_json"


def test_no_weights_at_all(tmp_path: Path) -> None:
    checkpoint = open_target(write(tmp_path, weights=False))
    assert kind_of(checkpoint.check_files) == "no_weights"


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "consolidated.00.pth"])
def test_pickles_are_refused_and_not_opened(tmp_path: Path, name: str) -> None:
    checkpoint = open_target(write(tmp_path, weights=False))
    (tmp_path / name).write_bytes(b"not even a pickle")
    assert kind_of(checkpoint.check_files) == "pickled_weights"


def test_weights_that_were_cut_short(tmp_path: Path) -> None:
    checkpoint = open_target(write(tmp_path))
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    assert kind_of(lambda: checkpoint.shapes) == "bad_weights"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert kind_of(lambda: open_target(tmp_path).shapes) == "bad_weights"


def test_no_weight_is_read_for_the_shapes(tmp_path: Path) -> None:
    checkpoint = open_target(write(tmp_path))
    assert load_file(tmp_path / "model.safetensors")["b"].sum() == 0
    # Spoil the data behind the header: nothing may notice.
    path = tmp_path / "model.safetensors"
    data = bytearray(path.read_bytes())
    data[-40:] = b"\xff" * 40
    path.write_bytes(bytes(data))
    assert checkpoint.count_parameters() == 10
