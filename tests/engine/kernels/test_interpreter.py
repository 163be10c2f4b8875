"""Triton decides at its import whether it interprets, hence a process of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "interpreted"


def interpreter_works() -> bool:
    """Before 3.7 it turned arrays of one element into integers in a way NumPy no longer allows."""
    if importlib.util.find_spec("triton") is None:
        return False
    try:
        triton, numpy = (tuple(map(int, version(name).split(".")[:2])) for name in ("triton", "numpy"))
    except PackageNotFoundError:
        return False
    return triton >= (3, 7) or numpy < (2, 4)


@pytest.mark.slow
@pytest.mark.skipif(
    not interpreter_works(), reason="needs Triton 3.7 (or NumPy before 2.4) for its interpreter"
)
def test_kernels_agree_with_their_twins_under_tritons_interpreter() -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", str(FOLDER)]
    done = subprocess.run(
        command,
        env=os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout[-2000:]
    assert int(passed[1]) >= 30
