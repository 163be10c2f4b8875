"""Quantised targets. What needs a package is skipped without it: pip install torchao bitsandbytes."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_folders import write_drafter, write_target
from tiny_models import tiny_config

from engine import quantization
from engine.checkpoint import Checkpoint
from engine.decode import generate
from engine.errors import EngineError
from engine.event_lines import decode_event, encode_event
from engine.events import Finished
from engine.load import load_pair
from engine.model_shape import Weights, target_shape
from engine.pair import Pair
from engine.place import Place
from engine.quantization import WAYS, check_stored, check_way, held_bytes, smaller_weights
from engine.settings import QUANTIZATIONS
from engine.static.layers import capturable, fusable

CPU = Place(torch.device("cpu"), torch.float32)
GPU = Place(torch.device("cuda", 0), torch.bfloat16)
WIDE = {"hidden_size": 128, "intermediate_size": 256}
"""So that scales are small beside weights, as they are in real models."""
VALUES = {"linear_value_head_dim": 16}
"""bitsandbytes takes no layers with fewer than 64 inputs on a CPU."""


def installed(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) for module in ("accelerate", *modules))


def on_cpu(name: str) -> Any:
    missing = not installed(WAYS[name].module)
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=f"needs {WAYS[name].module}"))


ON_CPU = [on_cpu(name) for name in QUANTIZATIONS if name != "int4"]


def load(folder: Path, **settings: Any) -> Pair:
    return load_pair(str(folder / "target"), str(folder / "drafter"), **({"device": "cpu"} | settings))


def text(pair: Pair, **settings: Any) -> list[int]:
    finished = list(generate(pair, "Hello", max_new_tokens=16, **settings))[-1]
    assert isinstance(finished, Finished)
    return finished.output_ids


def logits(pair: Pair) -> torch.Tensor:
    [verified] = pair.target.prefill(pair.target.new_cache(), list(range(40, 60)))
    return verified.logits[0]


def refusal(action: Callable[[], object]) -> EngineError:
    with pytest.raises(EngineError) as refused:
        action()
    assert refused.value.message.endswith(".")
    assert "\n" not in refused.value.message
    return refused.value


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders = {family: tmp_path_factory.mktemp(family) for family in ("llama", "qwen3_5")}
    for family, folder in folders.items():
        write_target(folder / "target", family, **WIDE, **(VALUES if family == "qwen3_5" else {}))
        write_drafter(folder / "drafter", hidden_size=WIDE["hidden_size"])
    return folders


def test_the_names_are_the_settings() -> None:
    assert tuple(WAYS) == QUANTIZATIONS


# -- made while loading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["llama", "qwen3_5"])
@pytest.mark.parametrize("name", ON_CPU)
def test_a_target_quantised_while_it_is_loaded(folders: dict[str, Path], family: str, name: str) -> None:
    plain, small = load(folders[family]), load(folders[family], quantize=name)
    texts = [text(small, mode=mode) for mode in ("ar", "chain", "tree")]
    assert texts[0] == texts[1] == texts[2]
    assert text(small, mode="tree", temperature=0.9, seed=1) == text(
        small, mode="ar", temperature=0.9, seed=1
    )

    info = small.info
    assert (info.target.quantization, info.target.dtype) == (name, "float32")
    assert info.target.parameters == plain.info.target.parameters
    assert decode_event(encode_event(info)) == info
    assert info.drafter == plain.info.drafter
    assert plain.info.target.quantization is None
    assert not fusable(small.target)
    assert not capturable(small.target)
    assert capturable(plain.target)

    # Close to the plain target, as close as so many bits are.
    difference = (logits(small) - logits(plain)).norm() / logits(plain).norm()
    assert 0 < difference < (0.25 if name == "bnb-nf4" else 0.03)

    weights = dict(small.target.model.named_parameters())
    assert type(weights["model.embed_tokens.weight"]) is torch.nn.Parameter
    for kept in ("lm_head", "in_proj_a", "in_proj_b"):
        for found in (weight for parameter, weight in weights.items() if f"{kept}." in parameter):
            assert type(found) is torch.nn.Parameter

    held = sum(held_bytes(weight) for weight in weights.values())
    shape = target_shape(small.target.model.config.to_dict())
    told = quantization.quantised_weights(name, shape, small.target.model.config).bytes(4)
    assert math.isclose(held, told, rel_tol=0.1)
    assert info.memory_bytes < plain.info.memory_bytes - 0.8 * (plain_bytes(plain) - told)


def plain_bytes(pair: Pair) -> int:
    return sum(weight.nbytes for weight in pair.target.model.parameters())


@pytest.mark.gpu
@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_on_a_gpu(folders: dict[str, Path], name: str) -> None:
    if not installed(WAYS[name].module):
        pytest.skip(f"needs {WAYS[name].module}")
    plain, small = (load(folders["qwen3_5"], device="cuda", quantize=way) for way in (None, name))
    difference = (logits(small) - logits(plain)).norm() / logits(plain).norm()
    assert 0 < difference < 0.3
    assert not small.on_device
    assert len(text(small, mode="tree")) == 16


def test_what_cannot_be_quantised(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = tiny_config("qwen3")
    assert refusal(lambda: check_way("int3", CPU, dense, None)).kind == "bad_setting"
    assert "already (gptq)" in refusal(lambda: check_way("int8", CPU, dense, "gptq")).message
    for family in ("qwen3_moe", "qwen3_5_moe", "qwen3_next", "gpt_oss"):
        assert (
            "Experts"
            in refusal(lambda family=family: check_way("int8", CPU, tiny_config(family), None)).message
        )
        assert smaller_weights(CPU, target_shape(dense.to_dict()), tiny_config(family)) == {}
    half = Place(torch.device("cuda", 0), torch.float16)
    for place in (CPU, half):
        assert "bfloat16 only" in refusal(lambda place=place: check_way("int4", place, dense, None)).message
    monkeypatch.setattr("engine.spread.importlib.util.find_spec", lambda name: name == "accelerate" or None)
    for name, way in WAYS.items():
        error = refusal(lambda name=name: check_way(name, GPU, dense, None))
        assert error.kind == "missing_package"
        assert error.hint == f"Install it with: pip install 'ddtree-tui[{way.module}]'"


def test_a_package_that_is_missing_is_said_before_weights_are_read(
    tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.spread.importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("engine.target_load.load_target", lambda *_: pytest.fail("weights were read"))
    assert refusal(lambda: load(tiny_pair_folder, quantize="int8")).kind == "missing_package"


def test_what_does_not_fit_would_fit_quantised(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load(folders["llama"], context=16)
    needed = plain.target.model.num_parameters() * 4
    monkeypatch.setattr("engine.place.free_memory", lambda: 16 * needed)
    load(folders["llama"], context=16)
    # Rounds of a tiny model keep far more than its weights: room for these, and for half of the weights.
    shapes = [target_shape(plain.target.model.config.to_dict())]
    rounds = sum(shape.running_bytes(16, 4) for shape in shapes)
    monkeypatch.setattr("engine.place.free_memory", lambda: int(1.05 * (rounds + needed // 2)) + 1)
    target = str(folders["llama"] / "target")
    error = refusal(lambda: load_pair(target, device="cpu", context=16))
    assert error.kind == "out_of_memory"
    assert "--quantize int8 (0.0 GB)" in error.hint
    assert "--quantize bnb-nf4" in error.hint
    assert "bnb-int8" not in error.hint  # no smaller than int8
    assert "int4" not in error.hint  # on a GPU only


# -- as the checkpoint has them -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [on_cpu("int8"), on_cpu("bnb-nf4")])
def test_a_checkpoint_that_is_quantised_already(folders: dict[str, Path], tmp_path: Path, name: str) -> None:
    made = load(folders["llama"], quantize=name)
    folder = tmp_path / "target"
    write_target(folder, "llama", **WIDE)  # for the tokenizer
    (folder / "model.safetensors").unlink()
    made.target.model.save_pretrained(folder)
    stored = load_pair(str(folder), str(folders["llama"] / "drafter"), device="cpu")
    assert stored.info.target.quantization == Checkpoint.open("target", folder).quantization
    assert stored.info.target.quantization in ("torchao", "bitsandbytes")
    assert torch.allclose(logits(stored), logits(made), atol=1e-5)
    assert text(stored, mode="tree") == text(stored, mode="ar") == text(made, mode="ar")
    error = refusal(lambda: load_pair(str(folder), device="cpu", quantize="int8"))
    assert error.kind == "unsupported_quantization"


@pytest.mark.skipif(not installed(), reason="needs accelerate")
def test_fp8_without_a_gpu_for_it_is_made_plain(tmp_path: Path, edit_json: Callable[..., None]) -> None:
    """As Qwen publishes it: blocks of 128 by 128 weights with a scale each."""
    folder = tmp_path / "target"
    write_target(folder, "qwen3", **WIDE)
    weights, meant = load_file(folder / "model.safetensors"), {}
    for name in [name for name in weights if name.endswith("proj.weight")]:
        weight = weights[name].float()
        rows, columns = (math.ceil(size / 128) for size in weight.shape)
        scale = torch.rand(rows, columns) * 0.01 + 0.001
        spread = scale.repeat_interleave(128, 0).repeat_interleave(128, 1)[
            : weight.shape[0], : weight.shape[1]
        ]
        weights[name] = (weight / spread).to(torch.float8_e4m3fn)
        weights[f"{name}_scale_inv"] = scale
        meant[name] = weights[name].float() * spread
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    said = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    edit_json(folder / "config.json", quantization_config=said)
    pair = load_pair(str(folder), device="cpu", dtype="float32")
    assert pair.info.target.quantization is None
    loaded = pair.target.model.state_dict()
    assert len(meant) == 28
    for name, values in meant.items():
        assert loaded[name].dtype == torch.float32
        assert torch.allclose(loaded[name], values, rtol=2**-8, atol=0), name  # through bfloat16
    assert len(text(pair, mode="ar")) == 16


@pytest.mark.parametrize(
    ("method", "modules"), [(method, modules) for method, modules in quantization.METHODS.items() if modules]
)
def test_packages_that_a_checkpoint_needs(
    method: str, modules: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Checkpoint("target", Path("folder"), {"quantization_config": {"quant_method": method}})
    monkeypatch.setattr("engine.spread.importlib.util.find_spec", lambda name: name == "accelerate" or None)
    error = refusal(lambda: check_stored(target, "qwen3"))
    assert error.kind == "missing_package"
    assert f"{method} weights" in error.message
    assert modules[0] in error.hint


def test_methods_that_are_not_known() -> None:
    target = Checkpoint("target", Path("folder"), {"quantization_config": {"quant_method": "magic"}})
    error = refusal(lambda: check_stored(target, "qwen3"))
    assert error.kind == "unsupported_quantization"
    assert "magic" in error.message
    plain = Checkpoint("target", Path("folder"), {})
    check_stored(plain, "qwen3")
    mxfp4 = Checkpoint("target", Path("folder"), {"quantization_config": {"quant_method": "mxfp4"}})
    check_stored(mxfp4, "gpt_oss")
    assert refusal(lambda: check_stored(mxfp4, "qwen3_moe")).kind == "unsupported_quantization"


@pytest.mark.skipif(not installed(), reason="needs accelerate")
def test_what_transformers_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

    def validate(*_: object, **__: object) -> None:
        raise RuntimeError("No such GPU.\nGet another. Or two")

    monkeypatch.setattr(FineGrainedFP8HfQuantizer, "validate_environment", validate)
    target = Checkpoint("target", Path("folder"), {"quantization_config": {"quant_method": "fp8"}})
    error = refusal(lambda: check_stored(target, "qwen3"))
    assert error.message == "The target's fp8 weights cannot be loaded here: No such GPU."


def test_what_is_said_inside_of_a_multimodal_config_counts() -> None:
    from engine.target_load import _of_text_model

    inner = {"text_config": {"quantization_config": {"quant_method": "fp8"}}}
    assert Checkpoint("target", Path("folder"), inner).quantization == "fp8"
    said = {"quant_method": "fp8", "modules_to_not_convert": ["model.language_model.layers.0.mlp", "lm_head"]}
    assert _of_text_model(said)["modules_to_not_convert"] == ["model.layers.0.mlp", "lm_head"]


def test_sizes_of_stored_weights(tmp_path: Path) -> None:
    tensors = {
        "a": torch.zeros(3, 4, dtype=torch.bfloat16),
        "b": torch.zeros(5, dtype=torch.int32),
        "c": torch.zeros(7, dtype=torch.uint8),
        "d": torch.zeros(2, dtype=torch.float8_e4m3fn),
        "mtp.e": torch.zeros(9),
    }
    save_file(tensors, tmp_path / "model.safetensors")
    checkpoint = Checkpoint("target", tmp_path, {})
    assert checkpoint.count_stored(skip=("mtp.",)) == (12, 20 + 7 + 2)
    assert checkpoint.count_stored() == (21, 29)
    assert Weights(12, 29).bytes(2) == 24 + 29


def test_what_is_held_of_a_weight() -> None:
    weight = torch.zeros(6, dtype=torch.int8)
    assert held_bytes(weight) == 6
    scaled: Any = SimpleNamespace(nbytes=6, quant_state=SimpleNamespace(absmax=torch.zeros(2)))
    assert held_bytes(scaled) == 14
