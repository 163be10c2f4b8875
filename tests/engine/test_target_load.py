from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_folders import LAYERS, tiny_target, write_drafter, write_target
from tiny_models import FAMILIES

from engine import target_load
from engine.checkpoint import Checkpoint
from engine.decode import generate
from engine.errors import EngineError
from engine.events import Finished
from engine.load import load_pair
from engine.pair import Pair
from engine.place import Place

EditJson = Callable[..., None]
CLASSES = {
    "qwen3_5": "Qwen3_5ForCausalLM",
    "qwen3_5_moe": "Qwen3_5MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
}


def load(folder: Path, **settings: Any) -> Pair:
    return load_pair(str(folder / "target"), str(folder / "drafter"), **{"device": "cpu"} | settings)


def answer(pair: Pair, mode: str) -> list[int]:
    finished = list(generate(pair, "Hello", mode=mode, max_new_tokens=12))[-1]
    assert isinstance(finished, Finished)
    return finished.output_ids


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_loads_and_decodes(tmp_path: Path, family: str) -> None:
    """Experts lie one by one in the files of some families, and together in the model."""
    write_target(tmp_path / "target", family)
    write_drafter(tmp_path / "drafter")
    pair = load(tmp_path)
    assert pair.info.target.architecture == CLASSES[family]
    assert sum(pair.info.target.layer_kinds.values()) == LAYERS
    loaded, written = pair.target.model.state_dict(), tiny_target(family).state_dict()
    assert loaded.keys() == written.keys()
    for name, weight in written.items():
        assert torch.equal(loaded[name], weight.to(torch.bfloat16).float()), name
    assert pair.target.model.config._experts_implementation in ("eager", None)
    assert answer(pair, "tree") == answer(pair, "ar")


@pytest.mark.parametrize("family", ["qwen3_5", "qwen3_5_moe"])
def test_only_the_text_model_of_a_multimodal_target_is_loaded(tmp_path: Path, family: str) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import AutoModelForImageTextToText

    write_target(tmp_path / "target", family)  # for the tokenizer
    write_drafter(tmp_path / "drafter")
    text = tiny_target(family, tie_word_embeddings=False).config.to_dict()
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "out_hidden_size": 32}
    config = CONFIG_MAPPING[family](text_config=text, vision_config=vision, tie_word_embeddings=False)
    whole: Any = AutoModelForImageTextToText.from_config(config)
    assert type(whole).__name__.endswith("ForConditionalGeneration")
    whole.to(torch.bfloat16).save_pretrained(tmp_path / "target")
    weights = load_file(tmp_path / "target" / "model.safetensors")
    assert any("visual" in name for name in weights)
    weights["mtp.fc.weight"] = torch.zeros(3, 3)
    save_file(weights, tmp_path / "target" / "model.safetensors", metadata={"format": "pt"})
    pair = load(tmp_path)
    assert pair.info.target.architecture == CLASSES[family]
    parts = whole.model.language_model.state_dict()
    loaded = pair.target.model.model.state_dict()
    assert loaded.keys() == parts.keys()
    assert all(torch.equal(loaded[name], weight.float()) for name, weight in parts.items())
    assert torch.equal(pair.target.head.weight, whole.lm_head.weight.float())
    assert answer(pair, "tree") == answer(pair, "ar")


FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])
"""The values of the four bits of MXFP4: sign, two of exponent, one of mantissa."""


def mxfp4(rows: tuple[int, ...], columns: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Random blocks of 32 values along the last axis, two to a byte, and scales; and what they mean."""
    codes = torch.randint(0, 16, (*rows, columns // 32, 32))
    scales = torch.randint(122, 126, (*rows, columns // 32))
    blocks = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8)
    values = (FP4[codes] * 2.0 ** (scales[..., None] - 127)).flatten(-2)
    return {"blocks": blocks, "scales": scales.to(torch.uint8)}, values


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gpt_oss_as_published(tmp_path: Path, edit_json: EditJson, dtype: str) -> None:
    """Its experts are quantised; they are read into plain weights."""
    write_target(tmp_path / "target", "gpt_oss", intermediate_size=32)
    write_drafter(tmp_path / "drafter")
    path = tmp_path / "target" / "model.safetensors"
    weights, meant = load_file(path), {}
    for name in [name for name in weights if name.endswith(("gate_up_proj", "down_proj"))]:
        experts, inputs, outputs = weights.pop(name).shape
        parts, values = mxfp4((experts, outputs), inputs)
        weights |= {f"{name}_{part}": tensor for part, tensor in parts.items()}
        meant[name] = values.transpose(1, 2)
    save_file(weights, path, metadata={"format": "pt"})
    quantised = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}
    edit_json(tmp_path / "target" / "config.json", quantization_config=quantised)
    pair = load(tmp_path, dtype=dtype)
    loaded = pair.target.model.state_dict()
    assert len(meant) == 2 * LAYERS
    for name, values in meant.items():
        assert loaded[name].dtype == getattr(torch, dtype)
        assert torch.equal(loaded[name].float(), values), name
    if dtype == "float32":
        assert answer(pair, "tree") == answer(pair, "ar")


def test_other_quantised_weights_are_refused(tmp_path: Path, edit_json: EditJson) -> None:
    write_target(tmp_path / "target", "qwen3_moe")
    edit_json(tmp_path / "target" / "config.json", quantization_config={"quant_method": "mxfp4"})
    with pytest.raises(EngineError) as refused:
        load_pair(str(tmp_path / "target"), device="cpu")
    assert refused.value.kind == "unsupported_quantization"


def test_a_shorter_context_is_kept_to(tiny_pair_folder: Path) -> None:
    pair = load(tiny_pair_folder, context=70)
    assert pair.info.context_length == pair.target.context_length == 70
    with pytest.raises(EngineError) as refused:
        list(generate(pair, "Hello " * 70))
    assert refused.value.kind == "prompt_too_long"
    with pytest.raises(EngineError) as refused:
        load(tiny_pair_folder, context=257)
    assert refused.value.kind == "bad_setting"


@pytest.mark.parametrize("accelerate", [True, False])
def test_weights_go_to_a_gpu_directly_where_they_can(
    tiny_pair_folder: Path, accelerate: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How transformers is called; this machine need not have a GPU."""
    asked: dict[str, Any] = {}

    def from_pretrained(folder: str, **options: Any) -> Any:
        asked.update(options)
        raise OSError

    monkeypatch.setattr(target_load.AutoModelForCausalLM, "from_pretrained", from_pretrained)
    monkeypatch.setattr(target_load.importlib.util, "find_spec", lambda name: accelerate or None)
    checkpoint = Checkpoint.open("target", tiny_pair_folder / "target")
    place = Place(torch.device("cuda", 0), torch.bfloat16)
    with pytest.raises(EngineError):
        target_load.load_target(checkpoint, target_load.read_target_config(checkpoint), place)
    assert asked.get("device_map") == ({"": torch.device("cuda", 0)} if accelerate else None)
    assert "experts_implementation" not in asked
    assert target_load.reads_directly(place) is accelerate


def test_a_device_map_of_one_device_leaves_no_hooks(tiny_pair_folder: Path) -> None:
    pytest.importorskip("accelerate")
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(
        str(tiny_pair_folder / "target"), device_map={"": torch.device("cpu")}
    )
    assert not any(hasattr(module, "_hf_hook") for module in model.modules())


def test_weights_that_pass_through_too_little_main_memory(
    tiny_pair_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_load.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(Place, "choose", lambda *_, **__: Place(torch.device("cuda", 0), torch.bfloat16))
    monkeypatch.setattr("engine.place.free_memory", lambda: 1_000)
    with pytest.raises(EngineError, match="main memory") as refused:
        load(tiny_pair_folder)
    assert refused.value.kind == "out_of_memory"
