"""Training state on disk: one safetensors file with weights, optimizer and a little JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.train.replaced import replaced
from engine.train.schedule import Schedule


def save_state(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, facts: dict[str, Any]) -> None:
    """Write the state so that a kill at any moment leaves either the old file or the new one."""
    tensors = {f"model.{name}": weight.detach().cpu().contiguous() for name, weight in _own_weights(model)}
    for index, slots in optimizer.state_dict()["state"].items():
        for name, value in slots.items():
            tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value).detach().cpu().contiguous()
    with replaced(path) as half:
        save_file(tensors, half, metadata={"facts": json.dumps(facts)})


def load_state(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any] | None:
    """Put a saved state back and return its facts; None when there is none."""
    if not path.is_file():
        return None
    slots: dict[int, dict[str, Tensor]] = {}
    weights = dict(_own_weights(model))
    with safe_open(path, framework="pt") as file:
        facts: dict[str, Any] = json.loads(file.metadata()["facts"])
        with torch.no_grad():
            for key in file.keys():  # noqa: SIM118 - no mapping
                owner, _, name = key.partition(".")
                if owner == "model":
                    weights[name].copy_(file.get_tensor(key))
                else:
                    index, _, slot = name.partition(".")
                    slots.setdefault(int(index), {})[slot] = file.get_tensor(key)
    state = optimizer.state_dict()
    state["state"] = slots
    optimizer.load_state_dict(state)
    return facts


def resume(
    state: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: float,
    seconds: float,
    warmup: int,
) -> tuple[Schedule, dict[str, Any]]:
    """The schedule of a run that starts, or goes on from the file ``state``, and that file's facts."""
    facts = load_state(state, model, optimizer) or {}
    schedule = Schedule(steps, seconds, warmup, facts.get("steps", 0), facts.get("seconds", 0.0))
    return schedule, facts


def progress_facts(schedule: Schedule, tokens: int, real: int) -> dict[str, Any]:
    """How far a run is. ``tokens``: seen with padding; ``real``: without."""
    return {
        "steps": schedule.step,
        "seconds": round(schedule.elapsed, 1),
        "tokens": tokens,
        "real_tokens": real,
    }


def _own_weights(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Parameters, each once even where two names share it."""
    return [(name, parameter) for name, parameter in model.named_parameters()]


def write_facts(path: Path, facts: dict[str, Any]) -> None:
    """What a finished stage found out, as JSON, complete or not there at all."""
    with replaced(path) as half:
        half.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def read_facts(path: Path) -> dict[str, Any]:
    """Facts of a finished stage; empty when it has not finished."""
    facts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return facts
