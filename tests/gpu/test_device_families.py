"""Rounds as CUDA graphs against the plain loop, on tiny random pairs of every family, in float32."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from same_text import SAMPLINGS, exact_float32  # noqa: F401 - a fixture
from tiny_models import FAMILIES, VOCAB, tiny_pair

from engine import generate
from engine.control import Control
from engine.drafter import Drafter
from engine.events import Finished, Round
from engine.pair import Pair

pytestmark = pytest.mark.gpu
PROMPTS = ["The quick brown fox", "jumps", "over the lazy dog; " * 4]
SETTINGS = [{"mode": "ar"}, {"mode": "chain"}, *({"budget": budget} for budget in (5, 16, 64, 256))]


@pytest.fixture(scope="module", params=FAMILIES)
def plain(request: pytest.FixtureRequest) -> Pair:
    """A random pair on the GPU, decoded by the loop that waits for every stage."""
    pair = tiny_pair(request.param)
    assert pair.drafter is not None
    pair.target.model.cuda()
    return Pair(pair.target, pair.drafter.cuda(), pair.codec, pair.info, on_device=False)


@pytest.fixture(scope="module")
def device(plain: Pair) -> Pair:
    """The same models in rounds on the device, as they are decoded if nobody says how."""
    pair = Pair(plain.target, plain.drafter, plain.codec, plain.info)
    assert pair.on_device
    return pair


@pytest.fixture(scope="module")
def bias(plain: Pair) -> torch.Tensor:
    """What the target writes often, (V,). The graphs read it from where it is as long as they are there."""
    text = torch.tensor(ids(plain, PROMPTS[0], mode="ar"), device="cuda")
    return 4.0 * (torch.bincount(text, minlength=VOCAB) > 1)


@pytest.fixture(autouse=True)
def knowing_drafter(bias: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random drafters are never right; this one leans towards what the target writes often."""
    logits = Drafter.logits

    def biased(self: Drafter, hidden: torch.Tensor, head: torch.nn.Module) -> torch.Tensor:
        return logits(self, hidden, head) + bias

    monkeypatch.setattr(Drafter, "logits", biased)


def run(pair: Pair, prompt: str, **settings: Any) -> list[Any]:
    pair.session.reset()
    return list(generate(pair, prompt, **{"max_new_tokens": 80, **settings}))


def ids(pair: Pair, prompt: str, **settings: Any) -> list[int]:
    last = run(pair, prompt, **settings)[-1]
    assert isinstance(last, Finished)
    return last.output_ids


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_graphs_write_the_same_text(plain: Pair, device: Pair, sampling: str) -> None:
    """Also after other prompts and budgets, and a cancel, on the same graphs."""
    for prompt in PROMPTS:
        expected = ids(plain, prompt, mode="ar", **SAMPLINGS[sampling])
        for settings in SETTINGS:
            assert ids(device, prompt, **settings, **SAMPLINGS[sampling]) == expected, settings
        control = Control()
        device.session.reset()
        for event in generate(device, prompt, budget=16, control=control, **SAMPLINGS[sampling]):
            if isinstance(event, Round) and event.index == 1:
                control.cancel()


def test_rounds_accept_the_same(plain: Pair, device: Pair) -> None:
    accepted = []
    for pair in (plain, device):
        rounds = [event for event in run(pair, PROMPTS[0], budget=64) if isinstance(event, Round)]
        accepted.append([event.acceptance_length for event in rounds])
    assert accepted[0] == accepted[1]
    assert max(accepted[0]) >= 2
