"""How many threads the engine computes with on a CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache

from engine.events import Loaded

SMALL = 40_000_000
"""Parameters of target and drafter together, up to which the engine computes with one thread.

Each of a round's some thousand small operations waits for all threads. On two cores with the app beside it,
two threads made a pair of 24 million parameters slower in ar (1.45 times) and no faster in tree(64); with a
third program at work they came to a standstill. A pair of 150 million gained 1.3 times in tree(64).
"""
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""What users set who know better; torch reads them as it starts."""


def threads_for(
    wanted: int | None, loaded: Loaded, environment: Mapping[str, str] = os.environ
) -> int | None:
    """Threads to compute with, where ``wanted`` is what the user asked for.

    Returns:
        None for torch's own choice: one for each core, or what ``environment`` says.
    """
    if wanted is not None:
        return wanted
    if any(variable in environment for variable in VARIABLES):
        return None
    models = [model for model in (loaded.target, loaded.drafter) if model is not None]
    small = sum(model.parameters for model in models) <= SMALL
    return 1 if small and loaded.device == "cpu" else None


def use_threads(wanted: int | None, loaded: Loaded) -> None:
    """Have torch, in this process, compute with as many threads as ``threads_for`` says."""
    import torch

    own = _torchs_own()
    torch.set_num_threads(threads_for(wanted, loaded) or own)


@cache
def _torchs_own() -> int:
    """Threads as torch has chosen them, asked before anything is set."""
    import torch

    return torch.get_num_threads()
