"""Attention of a tree's rows over preallocated keys and values.

Buffers are (Hkv, capacity, d): first the columns of the committed text, ``length`` of them, then the tree's
own rows. A row attends to the committed text, as far as a sliding window reaches, and to its ancestors.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.kernels.backend import use_triton, wide


def tree_attention(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    length: Tensor,
    visible: Tensor,
    scale: float,
    *,
    depths: Tensor | None = None,
    window: int | None = None,
    sinks: Tensor | None = None,
    gate: Tensor | None = None,
) -> Tensor:
    """Softmax attention; reads the committed length and the tree's columns, never the whole buffer.

    Args:
        q: (R, Hq, d). Rows and heads may be strided.
        keys: (Hkv, capacity, d); Hq / Hkv query heads share one of them.
        values: (Hkv, capacity, d).
        length: int32, one element: columns of the committed text. length + R ≤ capacity.
        visible: bool (R, R), ancestor-or-self.
        scale: of the scores, before the softmax.
        depths: int32 (R,), for a window: row r stands at position length + depths[r].
        window: positions a row sees, its own included; all by default.
        sinks: (Hq,), a score per head that takes part in the softmax without a value (gpt-oss).
        gate: (R, Hq, d), the result is multiplied by its sigmoid (Qwen3.5).

    Returns:
        (R, Hq, d) in the type of ``q``; scores and sums in float32.
    """
    if use_triton(q):
        import engine.kernels.jit.attention as jit

        return jit.tree_attention(
            q, keys, values, length, visible, scale,
            depths=depths, window=window, sinks=sinks, gate=gate,
        )  # fmt: skip
    return tree_attention_torch(
        q, keys, values, length, visible, scale, depths=depths, window=window, sinks=sinks, gate=gate
    )


def tree_attention_torch(
    q: Tensor,
    keys: Tensor,
    values: Tensor,
    length: Tensor,
    visible: Tensor,
    scale: float,
    *,
    depths: Tensor | None = None,
    window: int | None = None,
    sinks: Tensor | None = None,
    gate: Tensor | None = None,
) -> Tensor:
    """``tree_attention`` in plain torch."""
    rows = q.shape[0]
    columns = _columns(length, rows, keys.shape[1])
    mask = _mask(columns, length, visible, depths, window)
    keys, values = keys[:, :columns], values[:, :columns]
    if sinks is None:
        attended = F.scaled_dot_product_attention(
            q.transpose(0, 1)[None], keys[None], values[None], attn_mask=mask[None, None], scale=scale,
            enable_gqa=True,
        )[0].transpose(0, 1)  # fmt: skip
    else:
        attended = _with_sinks(q, keys, values, mask, scale, sinks)
    if gate is not None:
        attended = attended * torch.sigmoid(gate)
    return attended.contiguous()


def _columns(length: Tensor, rows: int, capacity: int) -> int:
    """Columns to look at. Reading a length costs nothing on the CPU; elsewhere no shape may depend on it."""
    return int(length) + rows if length.device.type == "cpu" else capacity


def _mask(columns: int, length: Tensor, visible: Tensor, depths: Tensor | None, window: int | None) -> Tensor:
    """Which columns each row sees: bool (R, columns)."""
    places = torch.arange(columns, device=visible.device)
    rows = places - length  # of the tree; negative in the committed text
    node = rows.clamp(min=0, max=visible.shape[0] - 1).long()
    mask = (rows < 0) | (visible[:, node] & (rows < visible.shape[0]))
    if window is not None:
        assert depths is not None, "a window needs the rows' depths"
        positions = torch.where(rows < 0, places, length + depths[node])
        mask = mask & ((length + depths)[:, None] - positions[None, :] < window)
    return mask


def _with_sinks(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float, sinks: Tensor) -> Tensor:
    dtype = wide(q.dtype)
    group = q.shape[1] // keys.shape[0]
    keys, values = (x.to(dtype).repeat_interleave(group, dim=0) for x in (keys, values))  # (Hq, columns, d)
    scores = torch.einsum("rhd,hcd->hrc", q.to(dtype), keys) * scale
    scores = scores.masked_fill(~mask, -torch.inf)
    sink = sinks.to(dtype)[:, None, None].expand(-1, q.shape[0], 1)
    weights = torch.cat((scores, sink), dim=-1).softmax(-1)[..., :-1]
    return torch.einsum("hrc,hcd->rhd", weights, values).to(q.dtype)


def kv_write(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, length: Tensor) -> None:
    """Put the rows' keys and values into columns length, length + 1, … of the buffers.

    Args:
        k: (R, Hkv, d). Rows and heads may be strided.
        v: (R, Hkv, d).
        keys: (Hkv, capacity, d), written.
        values: (Hkv, capacity, d), written.
        length: int32, one element; length + R ≤ capacity.
    """
    if use_triton(keys):
        import engine.kernels.jit.attention as jit

        jit.kv_write(k, v, keys, values, length)
    else:
        kv_write_torch(k, v, keys, values, length)


def kv_write_torch(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, length: Tensor) -> None:
    """``kv_write`` in plain torch."""
    places = (torch.arange(k.shape[0], device=k.device) + length).long()
    keys.index_copy_(1, places, k.transpose(0, 1).to(keys.dtype))
    values.index_copy_(1, places, v.transpose(0, 1).to(values.dtype))


class LayerBuffers:
    """Key and value buffers of several layers, and where each of them lies: they stay there.

    Args:
        buffers: (Hkv, capacity, d) each, all alike, contiguous, at multiples of 16 bytes as torch allocates
            them.

    Raises:
        ValueError: they are not.
    """

    def __init__(self, buffers: Sequence[Tensor]) -> None:
        kinds = {(buffer.shape, buffer.dtype, buffer.device) for buffer in buffers}
        aligned = all(buffer.is_contiguous() and buffer.data_ptr() % 16 == 0 for buffer in buffers)
        if len(kinds) != 1 or not aligned:
            raise ValueError("the key and value buffers of all layers must be alike, contiguous and aligned")
        self.buffers = tuple(buffers)
        self.addresses = torch.tensor([buffer.data_ptr() for buffer in buffers], device=buffers[0].device)


def kv_commit(layers: LayerBuffers, path: Tensor, count: Tensor, length: Tensor) -> None:
    """Move the first ``count`` rows of a path to the front of the tree's columns, in all layers at once.

    Args:
        path: int32 (B,), strictly increasing from the root's row down; entries from ``count`` on are
            not looked at.
        count: int32, one element.
        length: int32, one element: the columns before the tree's.
    """
    if use_triton(layers.buffers[0]):
        import engine.kernels.jit.attention as jit

        jit.kv_commit(layers, path, count, length)
    else:
        kv_commit_torch(layers, path, count, length)


def kv_commit_torch(layers: LayerBuffers, path: Tensor, count: Tensor, length: Tensor) -> None:
    """``kv_commit`` in plain torch."""
    # Steps beyond the path repeat its last, whose writing twice changes nothing; with no path at all,
    # row 0 stays where it is.
    steps = torch.minimum(torch.arange(path.shape[0], device=path.device), (count - 1).clamp(min=0)).long()
    rows = torch.where(count > 0, path[steps], 0)
    for buffer in layers.buffers:
        buffer.index_copy_(1, (length + steps).long(), buffer.index_select(1, (length + rows).long()))
