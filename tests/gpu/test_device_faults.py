"""Faults and detectors on a GPU: the plain loop seen from inside, and stale buffers of captured graphs."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from tiny_models import tiny_pair

from engine import generate
from engine.causes import CAUSES
from engine.errors import EngineError
from engine.events import AnyEvent, Finding
from engine.faults.catalogue import FAULTS
from engine.faults.planting import PLANTS
from engine.pair import Pair

pytestmark = pytest.mark.gpu
AREAS = ("verify", "commit", "drafter", "model")
INSIDE = [
    name
    for name, fault in FAULTS.items()
    if CAUSES[name].area in ("verify", "commit") and name != "stop-in-path"
]


@pytest.fixture(scope="module")
def pair() -> Pair:
    pair = tiny_pair("qwen3_5")
    assert pair.drafter is not None
    pair.target.model.cuda()
    return Pair(pair.target, pair.drafter.cuda(), pair.codec, pair.info)


def findings(pair: Pair, **settings: Any) -> list[Finding]:
    events: list[AnyEvent] = []
    with contextlib.suppress(EngineError):  # of what is not finite
        events.extend(generate(pair, "The quick brown fox", max_new_tokens=24, **settings))
    return [event for event in events if isinstance(event, Finding) and CAUSES[event.cause].area in AREAS]


@pytest.mark.parametrize(
    "name", [*INSIDE, "drafter-root-masked", "mask-id", "tap-layers", "tap-norm", "not-finite"]
)
def test_a_fault_is_named_first(pair: Pair, name: str) -> None:
    assert name in PLANTS
    found = findings(pair, inject=(name,))
    assert (found[0].cause, found[0].round) == (name, 0)


@pytest.mark.parametrize("mode", ["ar", "chain", "tree"])
@pytest.mark.parametrize("verify", ["solve", "sequential"])
def test_healthy_runs_show_nothing(pair: Pair, mode: str, verify: str) -> None:
    assert pair.on_device
    causes = {finding.cause for finding in findings(pair, mode=mode, verify=verify)}
    assert not causes & {*INSIDE, "drafter-positions", "drafter-rejected-rows", "tap-layers", "tap-norm"}
