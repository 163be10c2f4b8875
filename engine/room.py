"""Rows that buffers hold beyond the longest text. Imports neither torch nor transformers."""

from __future__ import annotations

from engine.settings import MAX_BUDGET

MAX_PENDING = 256
"""Features that may wait for the drafter: rounds of ``ar`` do not draft."""
SPARE_ROWS = MAX_BUDGET + MAX_PENDING + 1
"""The largest tree, its root, and features that are handed over late."""
PREFILL_CHUNK = 512
"""Tokens of known text that pass through the target at a time."""
