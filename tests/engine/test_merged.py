from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from tiny_models import FAMILIES, tiny_drafter, tiny_model, tiny_pair
from torch import Tensor, nn

from engine.merged import (
    adjacent,
    apart,
    merge,
    merge_all,
    project,
    project_in_quarters,
    project_stacked,
    quartered,
)
from engine.static.runner import StaticRunner


def linears(*sizes: int, bias: bool = False, width: int = 6) -> list[nn.Linear]:
    torch.manual_seed(0)
    return [nn.Linear(width, size, bias=bias) for size in sizes]


def storages(module: nn.Module) -> int:
    """Bytes of all storages that hold parameters, each counted once."""
    held = [parameter.untyped_storage() for parameter in module.parameters()]
    return sum({storage.data_ptr(): storage.nbytes() for storage in held}.values())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("inference", [False, True])
def test_merged_linears_give_what_each_gives(bias: bool, inference: bool) -> None:
    with torch.inference_mode(inference):
        parts, rows = linears(3, 5, 2, bias=bias), torch.randn(4, 6)
        before = [linear(rows) for linear in parts]
        bytes_before = storages(nn.ModuleList(parts))
        assert not adjacent(parts)
    merge(parts)
    with torch.inference_mode():
        assert adjacent(parts)
        assert storages(nn.ModuleList(parts)) == bytes_before
        assert all(torch.equal(linear(rows), out) for linear, out in zip(parts, before, strict=True))
        together = project(rows, *parts)
        assert len({out.untyped_storage().data_ptr() for out in together}) == 1
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(together, before, strict=True))


@pytest.mark.parametrize("shape", [(1, 40), (7, 40), (1, 3, 40)])
@torch.inference_mode()
def test_quarters_of_the_outputs_are_the_same_product(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    rows, weight = torch.randn(shape, dtype=torch.float64), torch.randn(96, 40, dtype=torch.float64)
    for given in (rows, torch.randn(*shape[:-1], 80, dtype=torch.float64)[..., :40]):
        out = project_in_quarters(given, weight)
        assert out.is_contiguous()
        assert torch.allclose(out, nn.functional.linear(given, weight), atol=1e-12)


def test_which_linears_run_in_another_way_than_the_librarys() -> None:
    q27 = {"gate_up": [17408, 17408], "qkv": [12288, 1024, 1024], "in_proj": [10240, 6144, 48, 48]}
    assert [apart(rows, q27["gate_up"]) for rows in (1, 16, 17, 65)] == [False, False, False, True]
    assert not any(apart(65, sizes) for sizes in (q27["qkv"], q27["in_proj"], [248320]))
    assert all(quartered(sum(q27[name]), 5120) for name in ("qkv", "in_proj"))
    assert quartered(5120, 17408)
    assert quartered(5120, 6144)
    assert not quartered(34816, 5120)
    assert not quartered(248320, 5120)
    assert not quartered(4096, 12288)
    assert not quartered(5136, 5120), "a quarter of it cannot be read sixteen bytes at a time"


def test_merged_linears_can_be_trained_on() -> None:
    parts, rows = linears(3, 5), torch.randn(4, 6)
    merge(parts)
    optimizer = torch.optim.SGD([linear.weight for linear in parts], lr=0.1)
    loss = sum((out.square().sum() for out in project(rows, *parts)), start=torch.zeros(()))
    loss.backward()
    assert all(linear.weight.grad is not None and linear.weight.grad.any() for linear in parts)
    optimizer.step()
    assert adjacent(parts)
    with torch.no_grad():
        for out, linear in zip(project(rows, *parts), parts, strict=True):
            assert torch.allclose(out, linear(rows), atol=1e-6)


def quantised(parts: list[nn.Linear]) -> None:
    parts[1].weight = nn.Parameter(parts[1].weight.data.to(torch.int8), requires_grad=False)


def hooked(parts: list[nn.Linear]) -> None:
    parts[1].register_forward_hook(lambda module, args, out: out * 2)


def offloaded(parts: list[nn.Linear]) -> None:
    forward = parts[1].forward
    parts[1].forward = lambda rows: forward(rows)  # type: ignore[method-assign]


def biased(parts: list[nn.Linear]) -> None:
    parts[1].bias = nn.Parameter(torch.ones(5))


def on_meta(parts: list[nn.Linear]) -> None:
    parts[1].to("meta")


def inside_a_larger_storage(parts: list[nn.Linear]) -> None:
    parts[1].weight.data = torch.randn(10, 6)[:5]


class Other(nn.Linear):
    pass


def of_another_class(parts: list[nn.Linear]) -> None:
    parts[1] = Other(6, 5, bias=False)


@pytest.mark.parametrize(
    "change", [quantised, hooked, offloaded, biased, on_meta, inside_a_larger_storage, of_another_class]
)
def test_what_is_not_plain_stays_apart(change: Callable[[list[nn.Linear]], None]) -> None:
    parts = linears(3, 5)
    change(parts)
    before = [linear.weight.data_ptr() for linear in parts]
    merge(parts)
    assert [linear.weight.data_ptr() for linear in parts] == before
    assert not adjacent(parts)


@torch.no_grad()
def test_hooks_that_come_later_are_called() -> None:
    parts, rows = linears(3, 5), torch.randn(4, 6)
    merge(parts)
    hooked(parts)
    first, second = project(rows, *parts)
    assert torch.equal(first, parts[0](rows))
    assert torch.equal(second, 2 * nn.functional.linear(rows, parts[1].weight))


@torch.no_grad()
def test_a_model_that_is_cast_afterwards_is_still_right() -> None:
    parts, rows = linears(3, 5), torch.randn(4, 6)
    merge(parts)
    for linear in parts:
        linear.double()
    assert not adjacent(parts)
    assert all(
        torch.equal(out, linear(rows.double()))
        for out, linear in zip(project(rows.double(), *parts), parts, strict=True)
    )


@torch.no_grad()
def test_groups_in_one_buffer_are_one_product() -> None:
    parts, rows = linears(4, 3, 2, 4, 3, 2, 4, 3, 2), torch.randn(5, 6)
    pairs = [parts[1:3], parts[4:6], parts[7:9]]
    assert project_stacked(rows, pairs) is None
    merge(parts)
    stacked = project_stacked(rows, pairs)
    assert stacked is not None
    for out, pair in zip(stacked, pairs, strict=True):
        assert torch.allclose(out, torch.cat([linear(rows) for linear in pair], dim=-1), atol=1e-6)
    assert project_stacked(rows, pairs[:1]) is not None
    assert project_stacked(rows, [parts[0:2], parts[2:4]]) is None
    assert project_stacked(rows, [parts[1:3], parts[2:4], parts[4:6]]) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_target_keeps_its_size_and_its_weights(family: str) -> None:
    model, fresh = tiny_model(family), tiny_model(family)
    before = storages(model)
    merge_all(model)
    assert storages(model) == before
    for (name, weight), (_, same) in zip(model.named_parameters(), fresh.named_parameters(), strict=True):
        assert torch.equal(weight, same), name
    attention = next(layer.self_attn for layer in model.model.layers if hasattr(layer, "self_attn"))
    assert adjacent([attention.q_proj, attention.k_proj, attention.v_proj])
    merge_all(model)
    assert storages(model) == before


def test_a_runner_merges_target_and_drafter_once() -> None:
    pair = tiny_pair("qwen3_5")
    assert pair.drafter is not None
    list(pair.session.prefill([1, 2, 3], 0))
    sizes = storages(pair.target.model), storages(pair.drafter)
    StaticRunner(pair.session)
    assert (storages(pair.target.model), storages(pair.drafter)) == sizes
    weights = [w.data_ptr() for w in (*pair.target.model.parameters(), *pair.drafter.parameters())]
    layers = pair.target.model.model.layers
    mixer = next(layer.linear_attn for layer in layers if hasattr(layer, "linear_attn"))
    assert adjacent([mixer.in_proj_qkv, mixer.in_proj_z, mixer.in_proj_b, mixer.in_proj_a])
    assert all(adjacent([layer.mlp.gate_proj, layer.mlp.up_proj]) for layer in layers)
    StaticRunner(pair.session)
    assert weights == [w.data_ptr() for w in (*pair.target.model.parameters(), *pair.drafter.parameters())]


def test_a_merged_drafter_can_be_saved(tmp_path: object) -> None:
    from safetensors.torch import load_file, save_file

    drafter = tiny_drafter()
    merge_all(drafter)
    path = f"{tmp_path}/model.safetensors"
    save_file(drafter.state_dict(), path)
    kept: dict[str, Tensor] = load_file(path)
    assert all(torch.equal(kept[name], value) for name, value in tiny_drafter().state_dict().items())
