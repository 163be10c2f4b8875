"""``ddtree-tui bench`` on the demo pair, nothing scripted."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ddtree_tui.bench.prompts import DEMO_SOURCE


@pytest.mark.slow
def test_the_demo_pair_is_measured_and_lossless(tmp_path):
    out = tmp_path / "r.json"
    options = "--limit 1 --budgets 16 --max-new-tokens 32 --floor --device cpu --dtype float32".split()
    done = subprocess.run(
        [sys.executable, "-m", "ddtree_tui", "bench", *options, "--out", str(out)],
        capture_output=True,
        timeout=240,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr.decode()
    results = json.loads(out.read_text())
    (group,) = results["groups"]
    assert group["sources"] == [DEMO_SOURCE]
    ar, chain, tree = group["rows"]
    assert ar["acceptance"]["value"] == 1
    assert chain["acceptance"]["value"] > 1
    assert ar["tokens"] == chain["tokens"] == tree["tokens"] > 0
    for row in (ar, chain, tree):
        assert row["lossless"]["same"] == row["lossless"]["compared"] == 1
        assert row["round_over_floor"] > 0
        assert row["peak_bytes"] > results["loaded"]["memory_bytes"]
        stages = [row["ms"][stage] for stage in ("draft", "build", "verify", "walk", "commit")]
        assert 0 < sum(stages) <= row["ms"]["total"]
    assert results["floor"]["target_bytes"] < results["loaded"]["memory_bytes"]
