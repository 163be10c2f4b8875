"""Layers over several devices. On a CPU: layers whose weights lie on disk, brought by the same hooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_folders import LAYERS, write_drafter, write_target
from tiny_models import FAMILIES

from engine import place as place_module
from engine import target_load
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Finished
from engine.load import load_pair
from engine.model_shape import Weights
from engine.pair import Pair
from engine.place import Place
from engine.spread import DeviceMap, check_device_map, weight_budgets
from engine.static.layers import capturable

SAMPLED = {"temperature": 0.8, "top_p": 0.95, "seed": 3}
TWO_GPUS = torch.cuda.device_count() > 1


def load(folder: Path, **settings: Any) -> Pair:
    return load_pair(str(folder / "target"), str(folder / "drafter"), **settings)


def texts(pair: Pair) -> list[list[int]]:
    """Two turns of a conversation, and a sampled text."""
    runs = [
        ("Hello", {"mode": "tree"}),
        ("Hello again", {"mode": "ar"}),
        ("Hello", {"mode": "tree"} | SAMPLED),
    ]
    found = []
    for prompt, settings in runs:
        finished = list(generate(pair, prompt, **settings, max_new_tokens=12))[-1]
        assert isinstance(finished, Finished)
        found.append(finished.output_ids)
    return found


def layers_to(places: dict[int, str | int], otherwise: str | int) -> DeviceMap:
    layers = {f"model.layers.{number}": places.get(number, otherwise) for number in range(LAYERS)}
    rest = ("model.embed_tokens", "model.norm", "model.rotary_emb", "lm_head")
    return layers | dict.fromkeys(rest, otherwise)


@pytest.fixture
def pair_folder(tmp_path: Path) -> Callable[[str], Path]:
    def write(family: str) -> Path:
        write_target(tmp_path / "target", family)
        write_drafter(tmp_path / "drafter")
        return tmp_path

    return write


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_whose_weights_lie_elsewhere(
    family: str, pair_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first and the last layer, of hybrids one of either kind, wait on disk between their turns."""
    pytest.importorskip("accelerate")
    folder = pair_folder(family)
    plain = target_load.AutoModelForCausalLM.from_pretrained
    on_disk = functools.partial(plain, offload_folder=folder / "offloaded")  # experts are stored anew
    monkeypatch.setattr(target_load.AutoModelForCausalLM, "from_pretrained", on_disk)
    spread = load(folder, device_map=layers_to({0: "disk", LAYERS - 1: "disk"}, "cpu"))
    assert all(weight.is_meta for weight in spread.target.model.model.layers[0].parameters())
    assert not any(weight.is_meta for weight in spread.target.model.model.layers[1].parameters())
    assert spread.info.layers_on == {"cpu": LAYERS}
    assert not capturable(spread.target)
    assert texts(spread) == texts(load(folder))
    assert all(weight.is_meta for weight in spread.target.model.model.layers[0].parameters())


def test_one_device_is_a_plain_load(tiny_pair_folder: Path) -> None:
    pytest.importorskip("accelerate")
    pair = load(tiny_pair_folder, device_map="auto")
    assert pair.info.layers_on == {}
    assert texts(pair) == texts(load(tiny_pair_folder))


@pytest.mark.gpu
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "other", ["cpu", pytest.param(1, marks=pytest.mark.skipif(not TWO_GPUS, reason="one GPU"))]
)
def test_layers_on_two_devices(family: str, other: str | int, pair_folder: Callable[[str], Path]) -> None:
    folder = pair_folder(family)
    places = layers_to({1: other, LAYERS - 1: other}, 0)
    spread = load(folder, device_map=places, dtype="float32")
    assert spread.info.layers_on == ({"cuda:0": LAYERS} if other == "cpu" else {"cuda:0": 2, "cuda:1": 2})
    for number, layer in enumerate(spread.target.model.model.layers):
        assert torch.device(layer._hf_hook.execution_device).index == (places[f"model.layers.{number}"] == 1)
    assert texts(spread) == texts(load(folder, device="cuda", dtype="float32"))


@pytest.mark.parametrize("family", ["qwen3_5", "qwen3_moe"])
def test_layers_that_find_no_room_are_said(
    family: str, pair_folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the budgets are wrong; really they leave out that layers are placed whole."""
    pytest.importorskip("accelerate")
    monkeypatch.setattr("engine.demand.weight_budgets", lambda rooms, *sizes: {"cpu": 90_000})
    with pytest.raises(EngineError, match="layers") as refused:
        load(pair_folder(family), device_map="auto")
    assert refused.value.kind == "out_of_memory"


def test_an_embedding_that_has_no_room_is_said(tiny_pair_folder: Path) -> None:
    pytest.importorskip("accelerate")
    places = dict(layers_to({}, "cpu")) | {"model.embed_tokens": "disk", "lm_head": "disk"}
    with pytest.raises(EngineError, match="embedding") as refused:
        load(tiny_pair_folder, device_map=places)
    assert refused.value.kind == "out_of_memory"


def test_what_cannot_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for device_map, device in (("everywhere", "auto"), ("auto", "cuda:1"), ("auto", "cpu")):
        with pytest.raises(EngineError) as refused:
            check_device_map(device_map, device)
        assert refused.value.kind == "bad_setting"
    monkeypatch.setattr("engine.spread.importlib.util.find_spec", lambda name: None)
    with pytest.raises(EngineError, match="accelerate") as refused:
        check_device_map("auto", "auto")
    assert refused.value.kind == "missing_package"
    assert "pip install 'ddtree-tui[large]'" in refused.value.hint


def test_every_gpu_s_and_main_memory_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from test_place import SHAPES

    free = {0: 10_500, 1: 21_000}
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free[device], 10**9))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(place_module, "free_memory", lambda: 105_000)
    place = Place(torch.device("cuda", 0), torch.float32, "auto")
    assert place.rooms() == {0: 10_000, 1: 20_000, "cpu": 100_000}
    rest = 4 * 50 + 4 * 25  # windows and states
    assert place.fit_context(Weights(1_000), SHAPES, 500) == 500
    assert place.fit_context(Weights((30_000 - rest - 40 * 500) // 4), SHAPES, 500) == 500
    # Beyond the GPUs: the least, and no more than that.
    assert place.fit_context(Weights(10_000), SHAPES, 500) == 500
    assert place.fit_context(Weights((130_000 - rest - 40 * 4096) // 4 - 4_000), SHAPES[:1], 1_000) == 1_000
    with pytest.raises(EngineError, match="machine"):
        place.fit_context(Weights(40_000), SHAPES, 500)


@pytest.mark.parametrize(
    ("rooms", "budgets"),
    [
        ({"cpu": 900}, {"cpu": 900}),
        # All fit: caches lie beside the weights, in proportion.
        ({0: 500, "cpu": 900}, {0: 300, "cpu": 900}),
        ({0: 300, 1: 200, "cpu": 900}, {0: 150, 1: 150, "cpu": 900}),
        # They do not: the first GPU keeps room for all caches.
        ({0: 300, "cpu": 900}, {0: 100, "cpu": 900}),
        ({0: 250, 1: 100, "cpu": 900}, {0: 50, 1: 75, "cpu": 900}),
        ({0: 60, "cpu": 900}, {0: 0, "cpu": 900}),
    ],
)
def test_what_each_device_may_take(rooms: dict[int | str, int], budgets: dict[int | str, int]) -> None:
    assert weight_budgets(rooms, weights=300, caches=100, drafter=100) == budgets
