from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
import torch
from tiny_folders import drafter_dict
from tiny_models import FAMILIES, tiny_config, tiny_drafter, tiny_model, tiny_pair
from transformers.models.auto.modeling_auto import AutoModelForCausalLM

from engine import attention, model_shape, published
from engine.cache import KeyValueRows
from engine.decode import generate
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.model_shape import BLOCK, CHUNKS, TREES, drafter_shape, target_shape
from engine.pair import Pair
from engine.presets import PRESETS
from engine.room import PREFILL_CHUNK, SPARE_ROWS
from engine.session import Session
from engine.target import SUPPORTED_MODEL_TYPES, Target, layer_kinds

PUBLISHED = {
    # As the models' publishers count them, in billions.
    "qwen3-4b": 4.02,
    "qwen3-8b": 8.19,
    "llama3.1-8b": 8.03,
    "qwen3-coder-30b-a3b": 30.5,
    "qwen3-coder-next": 79.7,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 116.8,
}
DRAFTER_FILES = {
    # GiB of z-lab's weight files, bfloat16.
    "qwen3-4b": 1.00,
    "qwen3-8b": 1.95,
    "llama3.1-8b": 1.95,
    "qwen3-coder-30b-a3b": 0.88,
    "qwen3-coder-next": 0.88,
    "qwen3.5-4b": 1.18,
    "qwen3.5-9b": 2.41,
    "qwen3.5-27b": 3.96,
    "qwen3.5-35b-a3b": 0.72,
    "qwen3.5-122b-a10b": 1.44,
    "qwen3.6-27b": 3.22,
    "qwen3.6-35b-a3b": 0.72,
    "gpt-oss-20b": 1.46,
    "gpt-oss-120b": 1.46,
}


def count(model: Any) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("family", FAMILIES)
def test_parameters_and_caches_are_those_of_the_model(family: str) -> None:
    model = tiny_model(family)
    shape = target_shape(model.config.to_dict())
    assert shape.parameters == count(model)
    assert list(shape.layer_kinds) == layer_kinds(model.config)
    assert shape.context_length == 512
    target = Target(model)
    cache = target.new_cache()
    list(target.prefill(cache, list(range(20))))
    held = 0
    for layer in cache.layers:
        tensors = (layer.window, layer.state) if hasattr(layer, "state") else layer.committed()
        held += sum(tensor.nbytes for tensor in tensors if tensor is not None)
    assert shape.cache_bytes(20, itemsize=4) == held


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
        ("qwen3", {"attention_bias": True}),
        ("qwen3_moe", {"decoder_sparse_step": 2, "mlp_only_layers": []}),
        ("qwen3_next", {"mlp_only_layers": [0, 3]}),
        ("qwen3_moe", {"use_sliding_window": True, "sliding_window": 8}),
    ],
)
def test_parameters_of_variants(family: str, changes: dict[str, Any]) -> None:
    config = type(tiny_config(family)).from_dict(tiny_config(family).to_dict() | changes)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    shape = target_shape(config.to_dict())
    assert shape.parameters == count(model)
    assert list(shape.layer_kinds) == layer_kinds(config)


def test_a_drafter() -> None:
    config = drafter_dict()
    assert drafter_shape(config).parameters == count(Drafter(DFlashConfig.from_dict(config)))
    context = tiny_drafter().new_context()
    per_row = sum(buffer[:, :, :1].nbytes for buffer in (*context.keys, *context.values))
    assert drafter_shape(config).cache_bytes(1, itemsize=4) == per_row


@pytest.mark.parametrize("family", ["qwen3_5", "llama"])
def test_what_rounds_on_the_device_keep(family: str) -> None:
    pair = tiny_pair(family)
    pair = Pair(pair.target, pair.drafter, pair.codec, pair.info, on_device=True)
    assert pair.drafter is not None
    target = target_shape(pair.target.model.config.to_dict())
    drafter = drafter_shape(vars(pair.drafter.config))
    # With a stop string, so that commits can be taken back.
    for budget in TREES:
        for _ in generate(pair, "abc", budget=budget, max_new_tokens=9, stop=("##",)):
            pass
    session, runner = pair.session, pair.runner
    longest = pair.target.context_length
    assert session.context is not None
    beyond = [
        buffer[:, :, longest:]
        for buffers in (
            *(layer.buffers() for layer in session.cache.layers if isinstance(layer, KeyValueRows)),
            session.context.keys,
            session.context.values,
        )
        for buffer in buffers
    ]
    kept = [*beyond, runner.state.features]
    if (delta := runner.cache.delta_memory) is not None:
        assert delta._before is not None
        kept += [delta.windows, delta.states, *delta._before]
        kept += [part for pending in delta._pending.values() for part in vars(pending).values()]
        assert sorted(delta._pending) == [budget + 1 for budget in TREES]
    for stages in runner._rounds.values():
        kept += [stages.target_logits, stages.draft_logits]
    depths = BLOCK - (pair.drafter.config.block_size - 1)  # a block of which the config does not say
    untold = len(TREES) * depths * pair.target.vocab_size
    snapshot = target.windows + target.states
    told = target.kept + target.kept_wide + drafter.kept
    assert sum(tensor.numel() for tensor in kept) == told - snapshot - untold


WIDE = {
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 8,
    "head_dim": 64,
    "max_position_embeddings": 4096,
}
WIDE_DELTA = {
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
}
WIDE_SINKS = WIDE | {"intermediate_size": 32, "num_attention_heads": 8}


@pytest.mark.parametrize(
    ("family", "sizes"), [("qwen3_5", WIDE | WIDE_DELTA), ("qwen3", WIDE), ("gpt_oss", WIDE_SINKS)]
)
def test_what_a_prefill_takes_at_its_peak(
    family: str, sizes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (attention, model_shape):
        monkeypatch.setattr(module, "SINK_SCORES", 2**20)
    settings = tiny_config(family).to_dict() | sizes
    del settings["layer_types"]
    config = type(tiny_config(family)).from_dict(settings)
    target = Target(AutoModelForCausalLM.from_config(config, experts_implementation="eager").eval(), [1, 3])
    session = Session(target, None)
    list(session.prefill([5], 0))
    session.reset()
    for layer in session.cache.key_values:
        layer.reserve(1024)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        list(session.prefill([5] * 1024, 0))
    events: Any = profile.profiler.kineto_results.events()
    in_use = accumulate(event.nbytes() for event in events if event.name() == "[memory]")
    features = CHUNKS * PREFILL_CHUNK * 2 * config.hidden_size * 4
    told = target_shape(config.to_dict()).prefill_bytes(1024, itemsize=4) + features
    # The upper bound is what matters; on a CPU products copy less.
    assert 0.7 < max(in_use) / told < 1.05


def test_buffers_double_no_further_than_the_longest_text_and_a_tree() -> None:
    pair = tiny_pair("llama")
    assert pair.session.context is not None
    for _ in pair.session.prefill([5] * 511, 0):
        pass
    pair.session.hand_over()
    layer = pair.session.cache.layers[0]
    assert isinstance(layer, KeyValueRows)
    assert layer.buffers()[0].shape[2] <= 512 + SPARE_ROWS
    layer.reserve(512 + SPARE_ROWS - 5)
    layer.length = 512 + SPARE_ROWS - 10
    layer.append(*(torch.zeros(1, 2, 9, 16) for _ in range(2)))
    assert layer.buffers()[0].shape[2] == 512 + SPARE_ROWS
    pair.session.context.reserve(1200)
    pair.session.context.reserve(1201)
    assert pair.session.context.capacity == 512 + SPARE_ROWS


@pytest.mark.parametrize("name", [name for name in PRESETS if PRESETS[name].drafter_config])
def test_published_shapes(name: str) -> None:
    target, drafter = PRESETS[name].target_config, PRESETS[name].drafter_config
    assert target is not None
    assert drafter is not None
    assert target["model_type"] in SUPPORTED_MODEL_TYPES
    assert target["hidden_size"] == drafter["hidden_size"]
    billions = target_shape(target).parameters / 1e9
    if name in PUBLISHED:
        assert billions == pytest.approx(PUBLISHED[name], rel=0.003)
    else:  # the name tells
        named = float(name.partition("-")[2].partition("b")[0])
        assert billions == pytest.approx(named, rel=0.06)
    gib = drafter_shape(drafter).weight_bytes(2) / 2**30
    assert gib == pytest.approx(DRAFTER_FILES[name], abs=0.006)


def test_a_published_shape_is_one_that_transformers_builds() -> None:
    from transformers import Qwen3_5MoeTextConfig

    config = published.QWEN3_5_35B_A3B
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(Qwen3_5MoeTextConfig(**config))
    assert target_shape(config).parameters == count(model)


def test_nothing_is_guessed() -> None:
    config = dict(published.QWEN3_8B)
    with pytest.raises(KeyError):
        target_shape(config | {"model_type": "t5"})
    del config["intermediate_size"]
    with pytest.raises(KeyError):
        target_shape(config)


def test_the_text_part_of_a_multimodal_config() -> None:
    inner = dict(published.QWEN3_5_4B)
    tied = inner.pop("tie_word_embeddings")
    whole = {"model_type": "qwen3_5", "text_config": inner, "tie_word_embeddings": tied, "vision_config": {}}
    assert target_shape(whole) == target_shape(published.QWEN3_5_4B)
