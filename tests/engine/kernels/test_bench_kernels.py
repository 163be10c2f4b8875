from __future__ import annotations

import json
from pathlib import Path

import bench_kernels


def test_the_benchmark_runs_dry(tmp_path: Path) -> None:
    out = tmp_path / "kernels.json"
    assert bench_kernels.main([str(out), "--cpu"]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["failures"] == []
    assert {"tree_delta", "attention", "delta_inputs", "swiglu"} <= {t["kernel"] for t in found["times"]}
    assert all(check["ok"] for check in found["checks"])
