from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.events import Loaded, ModelInfo
from engine.threads import SMALL, threads_for


def model(parameters: int) -> ModelInfo:
    return ModelInfo(
        name="m",
        path="m",
        architecture="M",
        parameters=parameters,
        dtype="float32",
        revision=None,
        layer_kinds={},
    )


def pair(target: int, drafter: int | None = None, device: str = "cpu") -> Loaded:
    return Loaded(
        target=model(target),
        drafter=None if drafter is None else model(drafter),
        device=device,
        versions={},
        block_size=None,
        mask_token_id=None,
        target_layer_ids=[],
        memory_bytes=0,
        seconds=0.0,
        context_length=8,
        vocab_size=8,
        thinking=False,
    )


@pytest.mark.parametrize(
    ("wanted", "loaded", "environment", "threads"),
    [
        (None, pair(SMALL - 1, 1), {}, 1),
        (None, pair(SMALL), {}, 1),
        (None, pair(SMALL, 1), {}, None),
        (None, pair(1, device="cuda:0"), {}, None),
        (None, pair(1), {"OMP_NUM_THREADS": "2"}, None),
        (3, pair(1), {"OMP_NUM_THREADS": "2"}, 3),
        (3, pair(SMALL, SMALL), {}, 3),
    ],
)
def test_threads(
    wanted: int | None, loaded: Loaded, environment: dict[str, str], threads: int | None
) -> None:
    assert threads_for(wanted, loaded, environment) == threads


def test_torchs_own_choice_comes_back() -> None:
    """A large pair after a small one in the same process."""
    script = """
import sys, torch
sys.path.insert(0, "tests/engine")
from test_threads import pair
from engine.threads import SMALL, use_threads
own = torch.get_num_threads()
seen = []
for wanted, loaded in ((None, pair(1)), (None, pair(2 * SMALL)), (3, pair(1)), (None, pair(2 * SMALL))):
    use_threads(wanted, loaded)
    seen.append(torch.get_num_threads())
assert seen == [1, own, 3, own], (own, seen)
"""
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
