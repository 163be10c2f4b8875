"""The scripts of this folder at tiny sizes on a CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import bench_generate
import bench_rounds
import pytest
import torch
from round_pairs import fill, random_pair

CPU = torch.device("cpu")


def test_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "rounds.json"
    arguments = "--cpu --rounds 3 --context 32 96 --budgets 64 16 --soak 100 --out".split()
    monkeypatch.setattr(sys, "argv", ["bench_rounds.py", *arguments, str(out)])
    assert bench_rounds.main() == 0
    found = json.loads(out.read_text())["shapes"]["tiny"]
    assert set(found["contexts"]) == {"32", "96"}
    assert set(found["contexts"]["96"]) == {"ar", "chain", "tree(16)", "tree(64)"}
    assert {"ar / linears", "tree(64) / chain", "build+walk+commit share, tree(16)"} <= set(found["ratios"])
    assert "tree(64): 96 instead of 32 tokens / reading them" in found["ratios"]
    assert found["soak"]["rounds"] >= 100
    assert found["told_bytes"] > 100_000


def test_rounds_go_on_from_the_pretended_text() -> None:
    pair = random_pair("tiny", 600, CPU, torch.float32)
    for context in (300, 40):
        fill(pair, context)
        assert bench_rounds.round_times(pair, context, 2, mode="tree", budget=16)["verify"] > 0
        assert pair.session.ids[:context] == pair.codec.encode_chat([], False).ids[:context]
        assert pair.session.cache.length >= context + 1


def test_tokens_per_second_against_transformers(tmp_path: Path) -> None:
    out = tmp_path / "generate.json"
    arguments = ["--cpu", "--prompts", "2", "--max-new-tokens", "20", "--out", str(out)]
    assert bench_generate.main(arguments) == 0
    found = json.loads(out.read_text())["pairs"]["tiny-dense"]
    assert set(found["ratios"]) >= {"ar / generate", "chain / generate, dflash"}
    for way in found["ways"].values():
        assert way["tokens"] == 40
        assert way["same_text"] == 2


def test_transformers_drafts_what_our_drafter_does() -> None:
    pair = random_pair("tiny-dense", 64, CPU, torch.float32)
    drafter = pair.drafter
    assert drafter is not None
    for weight in drafter.parameters():
        weight.data.mul_(3)
    features = torch.randn(20, drafter.fc.in_features)
    block = torch.randn(1, 16, drafter.config.hidden_size)
    context = drafter.new_context()
    drafter.extend(context, features)
    model = bench_generate.assistant(drafter)
    with torch.no_grad():
        theirs = model(
            noise_embeds=block,
            context_hidden_states=features[None],
            position_ids=torch.arange(36)[None],
        )
    torch.testing.assert_close(theirs.last_hidden_state, drafter(block, context))
