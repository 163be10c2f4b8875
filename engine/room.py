"""How many rows there is room for. Imports neither torch nor transformers."""

from __future__ import annotations

from engine.settings import MAX_BUDGET

MAX_PENDING = 256
"""Features that may wait for the drafter: rounds of ``ar`` do not draft."""
SPARE_ROWS = MAX_BUDGET + MAX_PENDING + 1
"""The largest tree, its root, and features that are handed over late."""
BUCKETS = (16, 32, 64, 128, 256, 512, MAX_BUDGET)
"""Places for draft nodes that a round on the device can have."""
PREFILL_CHUNK = 512
"""Tokens of known text that pass through the target at a time."""
SINK_SCORES = 2**25
"""Most scores of a piece of attention with sinks, all heads counted: more rows are taken piece by piece."""
