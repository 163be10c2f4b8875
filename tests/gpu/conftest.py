"""The demo pair on a GPU, once for each file of tests that asks for it."""

from __future__ import annotations

import pytest

from engine import load_pair
from engine.pair import Pair


@pytest.fixture(scope="module")
def device() -> Pair:
    """Decoded in rounds on the device."""
    return load_pair("demo", device="cuda", dtype="float32")


@pytest.fixture(scope="module")
def plain(device: Pair) -> Pair:
    """The same models, decoded by the loop that waits for every stage."""
    return Pair(device.target, device.drafter, device.codec, device.info, on_device=False)
