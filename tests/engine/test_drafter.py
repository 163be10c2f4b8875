"""The drafter against PyPI's dflash package, against itself in its two forms, and against bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.drafter_load import load_drafter
from engine.errors import EngineError

HIDDEN, VOCAB, BLOCK, TAPS = 32, 50, 6, 3


def config_dict(**changes: Any) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": ["DFlashDraftModel"],
        "model_type": "qwen3",
        "block_size": BLOCK,
        "dflash_config": {"mask_token_id": 48, "target_layer_ids": [1, 3, 5]},
        "hidden_size": HIDDEN,
        "intermediate_size": 48,
        "num_hidden_layers": 3,
        "num_target_layers": 8,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "vocab_size": VOCAB,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "attention_bias": False,
        "attention_dropout": 0.0,
    }
    config.update(changes)
    return config


SLIDING = {
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    "sliding_window": 9,
    "use_sliding_window": True,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sliding": SLIDING,
    "sliding, not causal": {**SLIDING, "is_causal": False},
    "sliding switched off": {**SLIDING, "use_sliding_window": False},
    "all causal": {"is_causal": True},
    "grouped heads off": {"num_key_value_heads": 4},
    "bias": {"attention_bias": True},
    "old rope": {"rope_theta": 5000.0, "rope_scaling": {"type": "linear", "factor": 2.0}},
    "old yarn": {"rope_scaling": YARN},
    "new rope": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
    "new yarn": {"rope_parameters": {**YARN, "rope_theta": 1e6}},
    "llama3": {
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    "block size nested": {
        "block_size": None,
        "dflash_config": {"mask_token_id": 48, "target_layer_ids": [1, 3, 5], "block_size": BLOCK},
    },
}  # fmt: skip


def random_drafter(config: dict[str, Any], dtype: torch.dtype = torch.float32, seed: int = 0) -> Drafter:
    torch.manual_seed(seed)
    drafter = Drafter(DFlashConfig.from_dict(config)).to(dtype).eval()
    with torch.no_grad():
        for parameter in drafter.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (parameter.dim() == 1))
    return drafter


def feature_rows(rows: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(rows, TAPS * HIDDEN, dtype=dtype)


@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_dflash_package(variant: str) -> None:
    reference_module = pytest.importorskip("dflash.model")
    from transformers import DynamicCache
    from transformers.models.qwen3.configuration_qwen3 import Qwen3Config

    config = {key: value for key, value in config_dict(**VARIANTS[variant]).items() if value is not None}
    drafter = random_drafter(config)
    reference = reference_module.DFlashDraftModel(Qwen3Config(**json.loads(json.dumps(config)))).eval()
    reference.load_state_dict(drafter.state_dict())
    switched_off = (
        reference.config.sliding_window is None and "sliding_attention" in reference.config.layer_types
    )
    cache = DynamicCache() if switched_off else DynamicCache(config=reference.config)
    if hasattr(cache, "activate_past_recording"):
        cache.activate_past_recording()

    context = drafter.new_context(capacity=8)
    start = 0
    for accepted in (17, 3, 1, 6, 2, 5):
        features, block = feature_rows(accepted), torch.randn(1, BLOCK, HIDDEN)
        length = start + accepted
        with torch.no_grad():
            expected = reference(
                target_hidden=features[None],
                noise_embedding=block,
                position_ids=torch.arange(start, length + BLOCK)[None],
                past_key_values=cache,
                use_cache=True,
            )
        cache.crop(length - cache.get_seq_length())
        drafter.extend(context, features)
        assert context.length == length
        assert (drafter(block, context) - expected).abs().max() < 1e-5
        start = length


def test_slot_zero_is_the_root_and_the_rest_masks() -> None:
    drafter = random_drafter(config_dict(input_embedding_scale=3.0))
    embedding = torch.randn(VOCAB, HIDDEN)
    ids = drafter.block_ids(7)
    assert ids.tolist() == [[7] + [48] * (BLOCK - 1)]
    assert drafter.block_ids(7, size=3).tolist() == [[7, 48, 48]]
    embedded = drafter.embed(ids, embedding)
    assert torch.equal(embedded[0, 0], embedding[7] * 3)
    assert torch.equal(embedded[0, 1], embedding[48] * 3)

    context = drafter.new_context()
    drafter.extend(context, feature_rows(5))
    other = drafter(drafter.embed(drafter.block_ids(8), embedding), context)
    assert (drafter(embedded, context) - other).abs().max() > 1e-3


@pytest.mark.parametrize("variant", ["plain", "sliding", "sliding, not causal", "all causal", "new yarn"])
def test_many_blocks_at_once_equal_one_by_one(variant: str) -> None:
    drafter = random_drafter(config_dict(**VARIANTS[variant]), torch.float64)
    features = torch.randn(2, 30, TAPS * HIDDEN, dtype=torch.float64)
    roots = torch.tensor([[1, 12, 29], [5, 5, 20]])
    blocks = torch.randn(2, 3, BLOCK, HIDDEN, dtype=torch.float64)
    together = drafter.forward_blocks(blocks, features, roots)
    for row in range(2):
        for column in range(3):
            context = drafter.new_context()
            drafter.extend(context, features[row, : int(roots[row, column])])
            alone = drafter(blocks[row, column][None], context)[0]
            assert (together[row, column] - alone).abs().max() < 1e-12


def test_context_grows_is_truncated_and_is_not_changed_by_a_block() -> None:
    drafter = random_drafter(config_dict(**SLIDING), torch.float64)
    features = feature_rows(40, torch.float64)
    block = torch.randn(1, BLOCK, HIDDEN, dtype=torch.float64)
    whole = drafter.new_context(capacity=64)
    drafter.extend(whole, features)
    expected = drafter(block, whole)

    context = drafter.new_context(capacity=1)
    drafter.extend(context, features[:25])
    drafter(torch.randn_like(block), context)
    drafter.extend(context, feature_rows(9, torch.float64))
    context.truncate(25)
    for row in features[25:]:
        drafter(torch.randn_like(block), context)
        drafter.extend(context, row[None])
    assert context.length == 40
    assert (drafter(block, context) - expected).abs().max() < 1e-12
    with pytest.raises(ValueError, match="truncate"):
        context.truncate(41)


def test_float64_is_float64_throughout() -> None:
    """A scale of 1 + 1e-10 on the features' projection, which the norm behind it undoes, moves the result by
    float64's rounding: more than nothing, and far less than float32 anywhere on the way would."""
    drafter = random_drafter(config_dict(rms_norm_eps=0.0), torch.float64)
    context = drafter.new_context()
    features, block = feature_rows(11, torch.float64), torch.randn(1, BLOCK, HIDDEN, dtype=torch.float64)
    drafter.extend(context, features)
    before = drafter(block, context)
    assert before.dtype == torch.float64
    with torch.no_grad():
        drafter.fc.weight *= 1 + 1e-10
    other = drafter.new_context()
    drafter.extend(other, features)
    assert 0 < (drafter(block, other) - before).abs().max() < 1e-13


def test_frequencies_stay_float32_when_the_module_is_cast() -> None:
    drafter = random_drafter(config_dict())
    assert torch.equal(
        drafter.to(torch.bfloat16).rotary.frequencies, Drafter(drafter.config).rotary.frequencies
    )
    assert drafter.new_context().keys[0].dtype == torch.bfloat16


def test_logits_leave_out_the_root_and_apply_multiplier_then_cap() -> None:
    drafter = random_drafter(config_dict(output_multiplier=0.5, final_logit_softcapping=2.0))
    head = nn.Linear(HIDDEN, VOCAB, bias=False)
    hidden = torch.randn(1, BLOCK, HIDDEN) * 10
    expected = torch.tanh(head(hidden[:, 1:]) * 0.5 / 2.0) * 2.0
    assert torch.allclose(drafter.logits(hidden, head), expected)
    assert drafter.logits(hidden, head).shape == (1, BLOCK - 1, VOCAB)


def write(folder: Path, config: dict[str, Any], weights: dict[str, torch.Tensor], shards: int = 1) -> None:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if shards == 1:
        save_file(weights, folder / "model.safetensors")
        return
    names = sorted(weights)
    where = {name: f"model-{index % shards:05d}.safetensors" for index, name in enumerate(names)}
    for shard in set(where.values()):
        save_file({name: weights[name] for name in names if where[name] == shard}, folder / shard)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}), encoding="utf-8")


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("variant", ["sliding", "new yarn"])
def test_loads_what_was_saved(tmp_path: Path, shards: int, variant: str) -> None:
    config = config_dict(**VARIANTS[variant])
    drafter = random_drafter(config)
    write(tmp_path, config, drafter.state_dict(), shards)
    loaded = load_drafter(tmp_path)
    features, block = feature_rows(7), torch.randn(1, BLOCK, HIDDEN)
    results = []
    for each in (drafter, loaded):
        context = each.new_context()
        each.extend(context, features)
        results.append(each(block, context))
    assert torch.equal(results[0], results[1])
    assert not any(parameter.requires_grad for parameter in loaded.parameters())
    assert load_drafter(tmp_path, dtype=torch.bfloat16).dtype == torch.bfloat16


def damaged(name: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    if name == "missing":
        del weights["norm.weight"]
    elif name == "unexpected":
        weights["lm_head.weight"] = torch.zeros(2)
    elif name == "mis-shaped":
        weights["fc.weight"] = weights["fc.weight"][:, :-1].contiguous()
    elif name == "second generation":
        weights["candidate_selector.hidden_projection.weight"] = torch.zeros(2)
    return weights


@pytest.mark.parametrize(
    ("damage", "kind", "words"),
    [
        ("missing", "drafter_weights", "norm.weight"),
        ("unexpected", "drafter_weights", "lm_head.weight"),
        ("mis-shaped", "drafter_weights", "fc.weight"),
        ("second generation", "drafter_unsupported", "DFlash 2"),
    ],
)
def test_refuses_wrong_weights(tmp_path: Path, damage: str, kind: str, words: str) -> None:
    write(tmp_path, config_dict(), damaged(damage, dict(random_drafter(config_dict()).state_dict())))
    with pytest.raises(EngineError, match=words) as caught:
        load_drafter(tmp_path)
    assert caught.value.kind == kind
    assert caught.value.hint


def test_refuses_broken_folders(tmp_path: Path) -> None:
    def kind() -> str:
        with pytest.raises(EngineError) as caught:
            load_drafter(tmp_path)
        return caught.value.kind

    assert kind() == "no_config"
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    assert kind() == "bad_json"
    (tmp_path / "config.json").write_text("[]", encoding="utf-8")
    assert kind() == "bad_json"
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert kind() == "no_weights"
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 20)
    assert kind() == "drafter_config"
    (tmp_path / "config.json").write_text(json.dumps(config_dict()), encoding="utf-8")
    assert kind() == "drafter_weights"
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"fc.weight": "../model.safetensors"}}), encoding="utf-8")
    assert kind() == "bad_json"
    index.write_text(json.dumps({"weight_map": {"fc.weight": "other.safetensors"}}), encoding="utf-8")
    assert kind() == "missing_shard"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dflash_config": {"target_layer_ids": [1]}}, "mask_token_id"),
        ({"dflash_config": {"mask_token_id": 3}}, "target_layer_ids"),
        ({"dflash_config": {"mask_token_id": VOCAB, "target_layer_ids": [1]}}, "outside its vocabulary"),
        ({"dflash_config": {"mask_token_id": -1, "target_layer_ids": [1]}}, "mask_token_id"),
        ({"dflash_config": {"mask_token_id": True, "target_layer_ids": [1]}}, "mask_token_id"),
        ({"dflash_config": {"mask_token_id": 3, "target_layer_ids": []}}, "target_layer_ids"),
        ({"dflash_config": {"mask_token_id": 3, "target_layer_ids": [-1]}}, "target_layer_ids"),
        ({"dflash_config": {"mask_token_id": 3, "target_layer_ids": [8]}}, "num_target_layers"),
        ({"dflash_config": 3}, "dflash_config"),
        ({"block_size": None}, "block_size"),
        ({"block_size": 1}, "at least 2"),
        ({"block_size": 257}, "at most 256"),
        ({"block_size": "16"}, "block_size"),
        ({"hidden_size": None}, "hidden_size"),
        ({"num_key_value_heads": 3}, "do not divide"),
        ({"head_dim": 7}, "even"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": ["full_attention", "full_attention", "mamba"]}, "mamba"),
        ({"layer_types": ["sliding_attention"] * 3}, "sliding_window"),
        ({"is_causal": "yes"}, "is_causal"),
        ({"rope_theta": -1.0}, "rope_theta"),
        ({"rope_scaling": {"rope_type": "yarn"}}, "factor"),
        ({"rope_scaling": 4}, "rope_scaling"),
        ({"final_logit_softcapping": "x"}, "final_logit_softcapping"),
    ],
)
def test_refuses_wrong_configs(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(EngineError, match=words) as caught:
        DFlashConfig.from_dict(config_dict(**changes))
    assert caught.value.kind == "drafter_config"
    assert caught.value.hint


@pytest.mark.parametrize(
    "changes",
    [
        {"rope_scaling": {"rope_type": "longrope", "factor": 2.0}},
        {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1.0}}},
        {"dflash_config": {"mask_token_id": 3, "target_layer_ids": [1], "selector_rank": 8}},
    ],
)
def test_says_what_it_does_not_support(changes: dict[str, Any]) -> None:
    with pytest.raises(EngineError) as caught:
        DFlashConfig.from_dict(config_dict(**changes))
    assert caught.value.kind == "drafter_unsupported"


def test_unknown_activation_is_an_engine_error() -> None:
    with pytest.raises(EngineError, match="hidden_act"):
        Drafter(DFlashConfig.from_dict(config_dict(hidden_act="nonsense")))


def test_keys_are_also_read_at_top_level() -> None:
    config = config_dict(mask_token_id=9, target_layer_ids=[0, 2])
    del config["dflash_config"]
    parsed = DFlashConfig.from_dict(config)
    assert (parsed.mask_token_id, parsed.target_layer_ids) == (9, (0, 2))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hidden_size": 64}, "hidden size"),
        ({"num_layers": 5}, "layer 5"),
        ({"vocab_size": 40}, "mask token id"),
        ({"vocab_size": 60}, "vocabulary"),
    ],
)
def test_refuses_another_target(change: dict[str, int], words: str) -> None:
    config = DFlashConfig.from_dict(config_dict())
    fitting = {"hidden_size": HIDDEN, "num_layers": 6, "vocab_size": VOCAB}
    config.check_target(**fitting)
    with pytest.raises(EngineError, match=words) as caught:
        config.check_target(**{**fitting, **change})
    assert caught.value.kind == "drafter_mismatch"
