from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import FAMILIES, HYBRIDS, VOCAB, tiny_model, use_float64_throughout

from engine import target as target_module
from engine.cache import DeltaState, KeyValueRows, TargetCache
from engine.ddtree import DraftTree, build_chain_from_logits, build_ddtree_tree_from_logits, empty_tree
from engine.errors import EngineError
from engine.settings import Verify
from engine.target import Target

TEXT = torch.randint(0, VOCAB, (90,), generator=torch.Generator().manual_seed(0)).tolist()


@pytest.fixture(autouse=True)
def float64(monkeypatch: pytest.MonkeyPatch) -> None:
    use_float64_throughout(monkeypatch)
    monkeypatch.setattr(target_module, "PREFILL_CHUNK", 32)


@pytest.fixture(params=FAMILIES)
def target(request: pytest.FixtureRequest) -> Target:
    return Target(tiny_model(request.param, dtype=torch.float64), tapped=(0, 2, 3))


def random_tree(budget: int, seed: int) -> DraftTree:
    generator = torch.Generator().manual_seed(seed)
    return build_ddtree_tree_from_logits(2 * torch.randn(7, VOCAB, generator=generator), budget)


def transformers_alone(target: Target, ids: list[int]) -> Any:
    """transformers' own forward over a text, without any cache of ours."""
    with torch.no_grad():
        return target.model(torch.tensor([ids]), output_hidden_states=True, use_cache=False)


def prefilled(target: Target, ids: list[int]) -> TargetCache:
    cache = target.new_cache()
    list(target.prefill(cache, ids))
    return cache


def memory(cache: TargetCache) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    for layer in cache.layers:
        if isinstance(layer, KeyValueRows):
            tensors += layer.committed()
        else:
            assert layer.window is not None
            assert layer.state is not None
            tensors += [layer.window, layer.state]
    return tensors


def difference(one: TargetCache, other: TargetCache) -> float:
    pairs = zip(memory(one), memory(other), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def test_prefill_equals_transformers(target: Target) -> None:
    expected = transformers_alone(target, TEXT)
    chunks = list(target.prefill(target.new_cache(), TEXT))
    assert (chunks[-1].logits[0] - expected.logits[0, -1]).abs().max() < 1e-9
    features = torch.cat([chunk.features for chunk in chunks])
    # Layer ids are of layer outputs; the last one's is after the final norm, as transformers has it.
    tapped = torch.cat([expected.hidden_states[layer + 1][0] for layer in (0, 2, 3)], dim=-1)
    assert (features - tapped).abs().max() < 1e-9


@pytest.mark.parametrize("backend", ["solve", "sequential"])
@pytest.mark.parametrize("budget", [1, 16, 64])
def test_every_node_sees_its_own_path_alone(target: Target, backend: Verify, budget: int) -> None:
    tree = random_tree(budget, seed=budget)
    cache = prefilled(target, TEXT[:40])
    verified = target.verify(cache, TEXT[40], tree, backend)
    for node in range(-1, len(tree)):
        path = [int(tree.token_ids[step]) for step in tree.path_to(node)]
        expected = transformers_alone(target, [*TEXT[:41], *path])
        assert (verified.logits[node + 1] - expected.logits[0, -1]).abs().max() < 1e-9
        last = torch.cat([expected.hidden_states[layer + 1][0, -1] for layer in (0, 2, 3)])
        assert (verified.features[node + 1] - last).abs().max() < 1e-9


@pytest.mark.parametrize("backend", ["solve", "sequential"])
def test_caches_after_a_commit_equal_a_fresh_prefill(target: Target, backend: Verify) -> None:
    cache, text = prefilled(target, TEXT[:40]), list(TEXT[:40])
    root = TEXT[40]
    for step in range(6):
        tree = random_tree(48, seed=100 + step)
        target.verify(cache, root, tree, backend)
        node = (-1, 47, 20, 5, 33, 0)[step]
        path = tree.path_to(node)
        cache.commit(torch.tensor([0, *(p + 1 for p in path)]))
        text += [root, *(int(tree.token_ids[p]) for p in path)]
        root = (7 * step + 3) % VOCAB
        assert cache.length == len(text)
        assert difference(cache, prefilled(target, text)) < 1e-9


def test_a_pass_leaves_the_committed_memory_alone(target: Target) -> None:
    cache = prefilled(target, TEXT[:40])
    before = [tensor.clone() for tensor in memory(cache)]
    target.verify(cache, 3, random_tree(32, seed=1), "solve")
    assert all(torch.equal(a, b) for a, b in zip(before, memory(cache), strict=True))


def test_chain_and_root_alone_are_special_cases(target: Target) -> None:
    chain = build_chain_from_logits(torch.randn(5, VOCAB, generator=torch.Generator().manual_seed(3)))
    text = [*TEXT[:41], *chain.token_ids.tolist()]
    expected = transformers_alone(target, text).logits[0, 40:]
    verified = target.verify(prefilled(target, TEXT[:40]), TEXT[40], chain, "solve")
    assert (verified.logits - expected).abs().max() < 1e-9
    alone = target.verify(prefilled(target, TEXT[:40]), TEXT[40], empty_tree(), "solve")
    assert (alone.logits[0] - expected[0]).abs().max() < 1e-9


def test_text_of_one_token() -> None:
    target = Target(tiny_model("qwen3_5", dtype=torch.float64))
    verified = target.verify(prefilled(target, TEXT[:1]), TEXT[1], random_tree(8, seed=2), "solve")
    assert (verified.logits[0] - transformers_alone(target, TEXT[:2]).logits[0, -1]).abs().max() < 1e-9


def test_restore_goes_back_to_the_snapshot(target: Target) -> None:
    cache = prefilled(target, TEXT[:20])
    snapshot = cache.snapshot()
    list(target.prefill(cache, TEXT[20:60]))
    cache.restore(snapshot)
    assert difference(cache, prefilled(target, TEXT[:20])) < 1e-9
    list(target.prefill(cache, TEXT[50:70]))
    assert difference(cache, prefilled(target, [*TEXT[:20], *TEXT[50:70]])) < 1e-9


def test_naive_is_wrong_on_hybrids_and_right_on_attention() -> None:
    """That it is wrong shows that the tests above can fail."""
    tree = random_tree(16, seed=4)
    for family in FAMILIES:
        target = Target(tiny_model(family, dtype=torch.float64))
        right = target.verify(prefilled(target, TEXT[:40]), TEXT[40], tree, "solve").logits
        cache = prefilled(target, TEXT[:40])
        naive = target.verify(cache, TEXT[40], tree, "naive").logits
        error = float((right - naive).abs().max())
        cache.commit(torch.tensor([0]))
        state_error = difference(cache, prefilled(target, TEXT[:41]))
        if family in HYBRIDS:
            assert error > 0.1
            assert state_error > 0.1
        else:
            assert error < 1e-9
            assert state_error < 1e-9


def test_sliding_windows_are_honoured() -> None:
    model = tiny_model("qwen3", dtype=torch.float64)
    model.config.sliding_window = 12
    model.config.layer_types = ["sliding_attention", "full_attention"] * 2
    for layer, kind in zip(model.model.layers, model.config.layer_types, strict=True):
        layer.self_attn.sliding_window = 12 if kind == "sliding_attention" else None
        layer.self_attn.layer_type = kind
    model.config.use_sliding_window = True
    target = Target(model)
    assert target.layer_kinds == model.config.layer_types
    tree = random_tree(16, seed=5)
    verified = target.verify(prefilled(target, TEXT[:40]), TEXT[40], tree, "solve")
    for node in range(-1, len(tree)):
        path = [int(tree.token_ids[step]) for step in tree.path_to(node)]
        logits = windowed_forward(model, [*TEXT[:41], *path])
        assert (verified.logits[node + 1] - logits).abs().max() < 1e-9


def windowed_forward(model: Any, ids: list[int]) -> torch.Tensor:
    positions = torch.arange(len(ids))
    distance = positions[:, None] - positions[None, :]
    full = torch.zeros(len(ids), len(ids), dtype=torch.float64).masked_fill(distance < 0, -torch.inf)
    windowed = full.masked_fill(distance >= 12, -torch.inf)
    masks = {"full_attention": full[None, None], "sliding_attention": windowed[None, None]}
    with torch.no_grad():
        logits: torch.Tensor = model(torch.tensor([ids]), attention_mask=masks, use_cache=False).logits[0, -1]
    return logits


def test_recurrent_state_is_float32_at_least() -> None:
    target = Target(tiny_model("qwen3_5", dtype=torch.bfloat16))
    cache = prefilled(target, TEXT[:40])
    target.verify(cache, 3, random_tree(8, seed=1), "solve")
    cache.commit(torch.tensor([0, 1]))
    states = [layer.state for layer in cache.layers if isinstance(layer, DeltaState)]
    assert {state.dtype for state in states if state is not None} == {torch.float32}


def test_the_model_stays_transformers_own(target: Target) -> None:
    before = transformers_alone(target, TEXT).logits
    target.verify(prefilled(target, TEXT[:40]), 3, random_tree(8, seed=1), "solve")
    assert target.model.config._attn_implementation != "ddtree"
    assert torch.equal(transformers_alone(target, TEXT).logits, before)


def test_unsupported_architectures_are_named() -> None:
    model = tiny_model("llama")
    model.config.model_type = "mamba"
    with pytest.raises(EngineError, match="mamba") as caught:
        Target(model)
    assert "qwen3_5_text" in caught.value.hint
