from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from engine import place as place_module
from engine.errors import EngineError
from engine.place import Place, free_memory

CONFIG = SimpleNamespace(dtype=torch.float16)
no_gpu_here = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")


def kind_of(device: str, dtype: str) -> str:
    with pytest.raises(EngineError) as refused:
        Place.choose(device, dtype, CONFIG)
    return refused.value.kind


def test_dtypes_on_a_cpu() -> None:
    assert Place.choose("cpu", "auto", CONFIG) == Place(torch.device("cpu"), torch.float32)
    assert Place.choose("cpu", "float64", CONFIG).dtype is torch.float64
    assert Place.choose("cpu", "bfloat16", CONFIG).dtype is torch.bfloat16
    assert Place.choose("cpu:0", "auto", CONFIG).name == "cpu"


@pytest.mark.parametrize("dtype", ["int8", "float", "__doc__", ""])
def test_other_dtypes(dtype: str) -> None:
    assert kind_of("cpu", dtype) == "bad_setting"


@pytest.mark.parametrize("device", ["", "gpu", "tpu", "mps", "meta", "cuda:x", "cpu cpu"])
def test_other_devices(device: str) -> None:
    assert kind_of(device, "auto") == "bad_setting"


@no_gpu_here
def test_a_gpu_that_is_absent() -> None:
    assert Place.choose("auto", "auto", CONFIG).device.type == "cpu"
    for device in ("cuda", "cuda:0", "cuda:7"):
        assert kind_of(device, "auto") == "no_gpu"


def test_a_gpu_takes_the_checkpoint_s_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert Place.choose("auto", "auto", CONFIG) == Place(torch.device("cuda", 0), torch.float16)
    assert Place.choose("cuda:1", "auto", SimpleNamespace(dtype=None)).dtype is torch.bfloat16
    assert kind_of("cuda:2", "auto") == "no_gpu"


def test_what_does_not_fit_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_module, "free_memory", lambda: 4_000)
    place = Place(torch.device("cpu"), torch.float32)
    place.check_memory(1_000)
    with pytest.raises(EngineError) as refused:
        place.check_memory(1_001)
    assert refused.value.kind == "out_of_memory"
    Place(torch.device("cpu"), torch.bfloat16).check_memory(2_000)


def test_free_memory_is_plausible(monkeypatch: pytest.MonkeyPatch) -> None:
    free = free_memory()
    assert 2**20 < free < 2**50
    monkeypatch.setattr(place_module.Path, "read_text", lambda *_, **__: "")
    assert free <= free_memory() < 2**50
