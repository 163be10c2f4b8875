"""What the tests share that compare texts written in different ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

SAMPLINGS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampled": {"temperature": 0.8, "top_p": 0.95, "seed": 5},
}


@pytest.fixture(autouse=True)
def exact_float32() -> Iterator[None]:
    """No TF32 in matrix products; in every test of a module that imports this."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before
