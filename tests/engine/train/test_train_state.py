"""A run that is killed and resumed is the run that was not killed."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from engine.train.optimizer import adamw, optimize
from engine.train.state import load_state, read_facts, save_state, write_facts


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, first: int, last: int) -> None:
    for step in range(first, last):
        rows = torch.randn(16, 4, generator=torch.Generator().manual_seed(step))
        loss = (model(rows) - rows.sum(1, keepdim=True)).square().mean()
        optimize(optimizer, model, loss, clip=1.0, factor=1.0)


def test_resumed_training_equals_training_in_one_go(tmp_path: Path) -> None:
    cpu = torch.device("cpu")
    whole = network()
    train(whole, adamw(whole, 1e-2, 0.1, cpu), 0, 8)

    model = network()
    optimizer = adamw(model, 1e-2, 0.1, cpu)
    assert load_state(tmp_path / "state.safetensors", model, optimizer) is None
    train(model, optimizer, 0, 5)
    save_state(tmp_path / "state.safetensors", model, optimizer, {"steps": 5})

    fresh = network()
    fresh_optimizer = adamw(fresh, 1e-2, 0.1, cpu)
    facts = load_state(tmp_path / "state.safetensors", fresh, fresh_optimizer)
    assert facts == {"steps": 5}
    train(fresh, fresh_optimizer, 5, 8)
    for got, expected in zip(fresh.parameters(), whole.parameters(), strict=True):
        assert torch.equal(got, expected)
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]


def test_facts(tmp_path: Path) -> None:
    assert read_facts(tmp_path / "none.json") == {}
    write_facts(tmp_path / "some.json", {"loss": 0.5})
    assert read_facts(tmp_path / "some.json") == {"loss": 0.5}
