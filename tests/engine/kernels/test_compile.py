from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")
def test_every_kernel_compiles_for_hopper() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "compile_kernels.py")],
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "engine/kernels/jit").glob("*.py"))
    # Those that a launcher starts: the others are inlined into them.
    launched = set(re.findall(r"\b(_\w+)\[\(", sources))
    assert len(launched) >= 15
    assert set(done.stdout.split()) == launched
