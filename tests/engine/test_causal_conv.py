from __future__ import annotations

import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.causal_conv import convolve, gather_index


@given(st.lists(st.integers(0, 10**6), max_size=30), st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_each_row_convolves_its_own_path(choices: list[int], window: int) -> None:
    parents = [-1] + [choice % (row + 1) for row, choice in enumerate(choices)]
    generator = torch.Generator().manual_seed(len(choices))
    inputs = torch.randn(window + len(parents), 6, generator=generator, dtype=torch.float64)
    weight = torch.randn(6, window + 1, generator=generator, dtype=torch.float64)
    bias = torch.randn(6, generator=generator, dtype=torch.float64)
    index = gather_index(torch.tensor(parents), window)
    out = convolve(inputs, index, weight, bias)
    for row in range(len(parents)):
        path, at = [], row
        while at >= 0:
            path.append(window + at)
            at = parents[at]
        text = inputs[[*range(window), *path[::-1]]]
        alone = F.conv1d(text.T[None], weight[:, None], bias, groups=6)[0, :, -1]
        assert torch.allclose(out[row], alone, atol=1e-12)
        # What a commit of this path keeps: the last inputs of the sequence.
        assert torch.equal(inputs[index[row, 1:]], text[-window:])


def test_half_precision_is_accumulated_in_float32() -> None:
    inputs = torch.full((8, 2), 256.0, dtype=torch.bfloat16)
    inputs[-1] = 1.0
    out = convolve(inputs, torch.arange(8)[None], torch.ones(2, 8, dtype=torch.bfloat16), None)
    assert out.dtype == torch.float32
    assert out.tolist() == [[7 * 256.0 + 1, 7 * 256.0 + 1]]
