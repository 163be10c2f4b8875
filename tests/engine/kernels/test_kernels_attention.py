from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_checks import Tree, check_attention, dispatched, one, worst

from engine.kernels.attention import LayerBuffers, kv_commit, kv_write, tree_attention
from engine.rows import Rows
from engine.target import tree_attention as eager_attention


def by_hand(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, length: int, tree: Tree, **options: Any
) -> torch.Tensor:
    """Row by row and head by head, over lists of what each row sees."""
    out = torch.empty_like(q)
    group, window, sinks = q.shape[1] // keys.shape[0], options.get("window"), options.get("sinks")
    for row in range(q.shape[0]):
        path = tree.path(row)
        columns = list(range(length)) + [length + node for node in path]
        if window is not None:  # along the path, places are positions
            columns = columns[-window:]
        for head in range(q.shape[1]):
            scores = keys[head // group][columns] @ q[row, head] / math.sqrt(q.shape[2])
            if sinks is not None:
                scores = torch.cat((scores, sinks[head : head + 1]))
            out[row, head] = scores.softmax(0)[: len(columns)] @ values[head // group][columns]
    return out


@given(st.integers(1, 24), st.integers(0, 20), st.sampled_from([None, 1, 4, 100]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_row_sees_its_path(rows: int, length: int, window: int | None, with_sinks: bool) -> None:
    generator = torch.Generator().manual_seed(rows + 100 * length)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    tree = Tree.random(rows, rows, "cpu")
    q, keys, values = draw(rows, 4, 6), draw(2, length + rows + 5, 6), draw(2, length + rows + 5, 6)
    options: dict[str, Any] = {"window": window, "sinks": draw(4) if with_sinks else None}
    got = tree_attention(
        q, keys, values, one(length, "cpu"), tree.visible, 6**-0.5, depths=tree.depths, **options
    )
    assert torch.allclose(got, by_hand(q, keys, values, length, tree, **options), atol=1e-12)


@pytest.mark.parametrize("window", [None, 7])
def test_the_same_as_the_eager_layer(window: int | None) -> None:
    torch.manual_seed(0)
    tree = Tree.random(20, 1, "cpu")
    rows = Rows(tree.parents.long(), tree.depths.long(), tree.visible, "solve")
    q, keys, values = torch.randn(20, 4, 8), torch.randn(2, 60, 8), torch.randn(2, 60, 8)
    expected, _ = eager_attention(
        torch.nn.Module(), q.transpose(0, 1)[None], keys[None, :, :32], values[None, :, :32],
        rows.attention_mask(12, window), 8**-0.5,
    )  # fmt: skip
    got = tree_attention(
        q, keys, values, one(12, "cpu"), tree.visible, 8**-0.5, depths=tree.depths, window=window
    )
    assert torch.equal(got, expected[0])


def test_without_a_length_on_the_host_the_whole_buffer_is_masked() -> None:
    """What runs on a device without Triton: the same answer, with shapes that no length enters."""
    torch.manual_seed(0)
    tree = Tree.random(9, 2, "cpu")
    q, keys, values = torch.randn(9, 4, 8), torch.randn(2, 60, 8), torch.randn(2, 60, 8)
    expected = tree_attention(q, keys, values, one(12, "cpu"), tree.visible, 8**-0.5)

    from engine.kernels.attention import _mask

    mask = _mask(60, one(12, "cpu"), tree.visible, None, None)
    assert not mask[:, 12 + 9 :].any()
    got = torch.nn.functional.scaled_dot_product_attention(
        q.transpose(0, 1)[None], keys[None], values[None], attn_mask=mask[None, None], scale=8**-0.5,
        enable_gqa=True,
    )[0].transpose(0, 1)  # fmt: skip
    assert torch.allclose(got, expected, atol=1e-6)


def test_gate_and_buffers() -> None:
    for rows in (1, 2, 30):
        for options in ({"gate": True}, {"window": 5, "sinks": True}):
            errors = check_attention(dispatched(), "cpu", rows, (4, 2), 16, 21, **options)
            assert worst(errors)[1] < 1e-6


def test_a_commit_moves_every_layer_and_only_what_was_accepted() -> None:
    buffers = torch.randn(6, 2, 40, 4)
    before = buffers.clone()
    path = torch.tensor([0, 2, 3, 9, 5], dtype=torch.int32)
    kv_commit(LayerBuffers([*buffers]), path, one(4, "cpu"), one(20, "cpu"))
    assert torch.equal(buffers[..., 20:24, :], before[..., [20, 22, 23, 29], :])
    assert torch.equal(buffers[..., 24:, :], before[..., 24:, :])
    assert torch.equal(buffers[..., :20, :], before[..., :20, :])


def test_buffers_that_one_launch_cannot_serve_are_refused() -> None:
    for unlike in (torch.zeros(2, 8, 8), torch.zeros(2, 9, 4), torch.zeros(2, 8, 8)[..., :4]):
        with pytest.raises(ValueError, match="alike"):
            LayerBuffers([torch.zeros(2, 8, 4), unlike])


def test_rows_beyond_the_buffer_are_an_error_on_the_cpu() -> None:
    keys, values = torch.zeros(2, 2, 10, 4)
    with pytest.raises((IndexError, RuntimeError)):
        kv_write(torch.ones(3, 2, 4), torch.ones(3, 2, 4), keys, values, one(8, "cpu"))
