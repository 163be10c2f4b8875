from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from engine import place as place_module
from engine.errors import EngineError
from engine.model_shape import ModelShape, Weights
from engine.place import HEADROOM, Place, free_memory

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


SHAPES = [
    ModelShape(parameters=0, per_token=6, windows=50, states=25, context_length=5_000, layer_kinds=()),
    ModelShape(parameters=0, per_token=4, context_length=900, layer_kinds=()),
]


def fit(place: Place, free: float, parameters: int, asked: int | None = None) -> int:
    place_module.free_memory = lambda: int(free * HEADROOM) + 1
    return place.fit_context(Weights(parameters), SHAPES, asked)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(place_module, "free_memory", place_module.free_memory)  # put back afterwards


@pytest.mark.usefixtures("memory")
def test_the_context_is_what_fits_beside_the_weights() -> None:
    place = Place(torch.device("cpu"), torch.float32)
    rest = 4 * 50 + 4 * 25  # windows and states
    assert fit(place, free=4 * 1_000 + rest + 40 * 5_000, parameters=1_000) == 5_000
    assert fit(place, free=4 * 1_000 + rest + 40 * 9_000, parameters=1_000) == 5_000
    assert fit(place, free=4 * 1_000 + rest + 40 * 4_999, parameters=1_000) == 4_999
    assert fit(place, free=4 * 1_000 + rest + 40 * 4_096, parameters=1_000) == 4_096
    assert fit(place, free=4 * 1_000 + rest + 40 * 9_000, parameters=1_000, asked=70) == 70
    assert fit(place, free=4 * 1_000 + rest + 40 * 70, parameters=1_000, asked=70) == 70
    short = Place(torch.device("cpu"), torch.bfloat16)
    assert fit(short, free=2 * 1_000 + 2 * 50 + 4 * 25 + 20 * 4_500, parameters=1_000) == 4_500


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("free", "asked", "remedies"),
    [
        (4 * 1_000 + 300 + 40 * 4_095, None, ["--context 4095", "--dtype bfloat16"]),
        (4 * 1_000 + 300 + 40 * 1_500, None, ["--context 1500"]),
        (4 * 1_000 + 300 + 40 * 1_500, 2_000, ["--context 1500", "--dtype bfloat16"]),
        (4 * 1_000 + 300 + 40 * 255, 256, ["--dtype bfloat16"]),
        (4 * 999, 1, ["--dtype bfloat16"]),
        (2 * 999, 1, ["smaller model"]),
    ],
)
def test_what_does_not_fit_is_said_with_what_would(free: int, asked: int | None, remedies: list[str]) -> None:
    with pytest.raises(EngineError) as refused:
        fit(Place(torch.device("cpu"), torch.float32), free, parameters=1_000, asked=asked)
    assert refused.value.kind == "out_of_memory"
    hint = refused.value.hint
    assert all(remedy in hint for remedy in remedies)
    assert [word for word in ("--context", "--dtype", "smaller") if word in hint] == [
        remedy.split()[0] for remedy in remedies
    ]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("asked", [0, -1, 5_001])
def test_a_context_that_the_target_has_not(asked: int) -> None:
    with pytest.raises(EngineError, match="context") as refused:
        fit(Place(torch.device("cpu"), torch.float32), 10**9, parameters=1, asked=asked)
    assert refused.value.kind == "bad_setting"


def test_a_gpu_s_own_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(torch.device("cuda", 0), torch.float32)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**6, 10**9))
    monkeypatch.setattr(place_module, "free_memory", lambda: 10**3)
    assert place.fit_context(Weights(1_000), SHAPES, None) == 5_000
    with pytest.raises(EngineError, match="GPU"):
        place.fit_context(Weights(300_000), SHAPES, None)
    place.check_host(Weights(250))
    with pytest.raises(EngineError, match="main memory") as refused:
        place.check_host(Weights(251))
    assert "accelerate" in refused.value.hint


def test_free_memory_is_plausible(monkeypatch: pytest.MonkeyPatch) -> None:
    free = free_memory()
    assert 2**20 < free < 2**50
    monkeypatch.setattr(place_module.Path, "read_text", lambda *_, **__: "")
    assert free <= free_memory() < 2**50
