"""Measurements to compute with."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from ddtree_tui.bench.configuration import AR, CHAIN, Condition, Configuration
from ddtree_tui.bench.measurement import Measurement
from engine.events import StageTimes

TREE = Configuration("tree", 64)
WAYS = (AR, CHAIN, TREE)


def measurement(
    prompt: str = "p",
    way: Configuration = AR,
    *,
    lengths: Sequence[int] = (1, 1),
    ms: float = 10.0,
    ids: Sequence[int] | None = None,
    gaps: Sequence[float | None] | None = None,
    condition: Condition | None = None,
    source: str = "s",
    ttft_s: float = 0.1,
) -> Measurement:
    tokens = 1 + sum(lengths)
    return Measurement(
        prompt=prompt,
        source=source,
        number=0,
        condition=condition or Condition(),
        way=way,
        seed=0,
        session=0,
        order=0,
        prompt_tokens=10,
        reason="stop",
        output_ids=list(range(tokens)) if ids is None else list(ids),
        gaps=[None, *[1.0] * (tokens - 1)] if gaps is None else list(gaps),
        lengths=list(lengths),
        drafted=3 * len(lengths),
        accepted=sum(lengths) - len(lengths),
        ms=StageTimes(draft=ms / 4, verify=ms / 2, total=ms),
        ttft_s=ttft_s,
        seconds=ms / 1000 + ttft_s,
        peak_bytes=1000 + len(lengths),
    )


answers = st.builds(
    lambda lengths, ms: {"lengths": lengths, "ms": ms},
    st.lists(st.integers(1, 16), min_size=1, max_size=12),
    st.floats(0.5, 1000.0),
)
"""What a measurement may be made of."""
