"""What a pair shows by itself: names, sizes, weights, and whether the drafter knows the target."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from engine.detectors.drafter_choice import check_names, surprise_at_easy_text
from engine.detectors.pair import check_pair
from engine.detectors.quantised import check_quantised
from engine.detectors.vocabulary import check_vocabulary
from engine.events import Finding
from engine.pair import Pair
from engine.presets import PRESETS


def named(target: str, drafter: str) -> list[str]:
    models = SimpleNamespace(target=SimpleNamespace(name=target), drafter=SimpleNamespace(name=drafter))
    pair: Any = SimpleNamespace(info=models)
    return [finding.cause for finding in check_names(pair)]


def test_published_pairs_have_names_that_fit() -> None:
    for preset in PRESETS.values():
        assert named(preset.target, preset.drafter) == []
        assert named(preset.name, preset.drafter) == []


@pytest.mark.parametrize(
    ("target", "drafter"),
    [
        ("Qwen/Qwen3.6-27B", "z-lab/Qwen3.5-27B-DFlash"),
        ("Qwen/Qwen3-8B", "z-lab/Qwen3-4B-DFlash-b16"),
        ("Qwen3-80B", "Qwen3-8B-DFlash"),
        ("Qwen/Qwen3-30B-A3B", "z-lab/Qwen3-Coder-30B-A3B-DFlash"),
    ],
)
def test_a_drafter_named_after_another_target(target: str, drafter: str) -> None:
    assert named(target, drafter) == ["other-drafter"]


def test_names_that_say_nothing() -> None:
    assert named("demo", "drafter") == []
    assert named("Qwen/Qwen3-8B-AWQ", "z-lab/Qwen3-8B-DFlash-b16") == []
    assert named("my-finetune", "z-lab/Qwen3-8B-DFlash-b16") == []


def test_a_healthy_pair_shows_nothing(demo_pair: Pair) -> None:
    assert check_pair(demo_pair) == []
    assert demo_pair.findings == ()


def seen(pair: Pair, **changes: Any) -> list[Finding]:
    codec = SimpleNamespace(
        entries=pair.codec.entries,
        stop_ids=pair.codec.stop_ids,
        has_template=pair.codec.has_template,
        encode_chat=pair.codec.encode_chat,
    )
    codec.__dict__.update(changes)
    other: Any = SimpleNamespace(codec=codec, target=pair.target, drafter=pair.drafter)
    return [*check_vocabulary(other)]


def test_sizes_that_do_not_match(demo_pair: Pair) -> None:
    rows = demo_pair.target.vocab_size
    assert seen(demo_pair) == []
    assert "has 2049 entries" in seen(demo_pair, entries=rows + 1)[0].seen
    assert [each.severity for each in seen(demo_pair, entries=rows - 1100, stop_ids={3})] == ["note"]
    assert "ends with id" not in seen(demo_pair, entries=2040)[0].seen
    assert seen(demo_pair, entries=2040)[0].evidence["stop_ids"] == [2042, 2044]


def test_weights_turned_back_into_plain_ones_are_told(demo_pair: Pair) -> None:
    layer = torch.nn.Linear(96, 80)
    with torch.no_grad():
        layer.weight.copy_((layer.weight * 80).round())  # 17 levels at most, 16 or fewer in a stretch
    model = torch.nn.Sequential(layer)
    target = SimpleNamespace(quantised=False, model=model, head=None)
    pair: Any = SimpleNamespace(target=target, drafter=demo_pair.drafter, info=demo_pair.info)
    assert [(each.cause, each.severity) for each in check_quantised(pair)] == [("quantised-target", "note")]
    assert not [*check_quantised(demo_pair)]
    pair.drafter = None
    assert not [*check_quantised(pair)]


def test_the_drafter_knows_an_easy_text(demo_pair: Pair) -> None:
    surprise = surprise_at_easy_text(demo_pair)
    assert surprise is not None
    assert surprise < 1.0
