from __future__ import annotations

import pytest
import torch
from tiny_models import tiny_pair

from engine.codec import EncodedPrompt
from engine.decode import generate
from engine.divergence import choices
from engine.kernel_noise import Noise
from engine.pair import Pair

ROUNDING = 5.1e-5
"""Events give gaps with four decimals."""


def noise(family: str, dtype: torch.dtype, rows: tuple[int, ...], on_device: bool) -> Noise:
    pair = tiny_pair(family, dtype=dtype, stop_ids=())
    pair = Pair(pair.target, pair.drafter, pair.codec, pair.info, on_device=on_device)
    _, ar = choices(generate(pair, "abcde", mode="ar", max_new_tokens=30))
    found = Noise()
    prompt: EncodedPrompt = pair.codec.encode_chat([{"role": "user", "content": "abcde"}], False)
    found.measure(pair, prompt, ar, rows)
    return found


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("family", ["qwen3_5", "llama"])
def test_there_is_none_in_float64(family: str, on_device: bool) -> None:
    found = noise(family, torch.float64, (1, 5, 8, 40), on_device)
    assert {rows: len(changes) for rows, changes in found.changes.items()} == dict.fromkeys((1, 5, 8, 40), 29)
    assert found.largest < ROUNDING


@pytest.mark.parametrize("on_device", [False, True])
def test_the_same_rows_make_none_and_more_rows_do(on_device: bool) -> None:
    found = noise("qwen3_5", torch.bfloat16, (1, 40), on_device)
    assert max(found.changes[1]) < ROUNDING
    assert ROUNDING < max(found.changes[40]) < 1
    assert found.largest == max(found.changes[40])
    assert found.summary()["40"]["largest"] == found.largest
