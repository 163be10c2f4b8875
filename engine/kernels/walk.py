"""The walk down a verified tree, where the text ends on it, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from engine.ddtree import DraftTree
from engine.kernels.backend import use_triton


class Text(NamedTuple):
    """What the device knows of the text, in tensors that stay where they are.

    Attributes:
        length: int32 (), committed tokens in the caches, which is the root's position.
        root_id: int64 (1,).
        remaining: int64 (), tokens that may still be added to the text.
        done: bool (), the text has ended.
        feature_rows: int64 (), features that wait for the drafter.
        stop_ids: int64 (S,), end the text; padded with -1.
    """

    length: Tensor
    root_id: Tensor
    remaining: Tensor
    done: Tensor
    feature_rows: Tensor
    stop_ids: Tensor


@dataclass(frozen=True)
class Walk:
    """Where a walk led.

    Attributes:
        tokens: int64 (B,), accepted tokens, then the bonus token; ``count`` of them join the text.
        path: int32 (B,), rows from the root's down; behind the accepted ones the last is repeated.
        accepted: int32 (), nodes on the path.
        bonus: int64 (), the target's token after them.
        count: int32 (), tokens that join the text, 0 when it had ended before.
        ended: bool (), the text ends with them.
    """

    tokens: Tensor
    path: Tensor
    accepted: Tensor
    bonus: Tensor
    count: Tensor
    ended: Tensor


def walk_tree(choices: Tensor, tree: DraftTree, is_node: Tensor, text: Text, steps: int) -> Walk:
    """Walk from the root while the target's own choice is a child.

    Args:
        choices: int64 (n + 1,), the target's token at every row.
        tree: n places; siblings that are nodes differ in their token.
        is_node: bool (n,), which places are nodes.
        steps: B, more than the tree is deep.
    """
    if use_triton(choices):
        import engine.kernels.jit.walk as jit

        return jit.walk_tree(choices, tree, is_node, text, steps)
    return walk_tree_torch(choices, tree, is_node, text, steps)


def walk_tree_torch(choices: Tensor, tree: DraftTree, is_node: Tensor, text: Text, steps: int) -> Walk:
    """``walk_tree`` in plain torch."""
    order = torch.arange(steps, device=choices.device)
    rows = torch.arange(choices.shape[0], device=choices.device)
    above = tree.parents + 1
    # Rows that the target chose below their parent's; nobody walks to the others.
    above = torch.where((choices[above] == tree.token_ids) & is_node, above, -1)
    above = torch.cat((above.new_full((1,), -1), above))
    leaf = rows.new_zeros(())
    path = [leaf]
    for _ in range(1, steps):
        child = torch.where(above == leaf, rows, 0).max()
        leaf = torch.where(child > 0, child, leaf)
        path.append(leaf)
    rows_of_path = torch.stack(path)
    accepted = (rows_of_path[1:] != rows_of_path[:-1]).sum()
    # What the target chose at a row of the path is the token of the next, behind the last the bonus token.
    tokens = choices[rows_of_path]

    stops = (tokens[:, None] == text.stop_ids[None, :]).any(1) & (order <= accepted)
    first_stop = torch.where(stops, order, steps).min()
    whole = torch.minimum(accepted + 1, text.remaining)
    count = torch.minimum(whole, first_stop + 1)
    ended = text.done | (first_stop < whole) | (count >= text.remaining)
    count = torch.where(text.done, 0, count)
    return Walk(tokens, rows_of_path.int(), accepted.int(), tokens[-1], count.int(), ended)


def append_rows(buffer: Tensor, start: Tensor, rows: Tensor, path: Tensor) -> None:
    """Put the rows of a path into places start, start + 1, … of a buffer.

    Args:
        buffer: (P, F), written.
        start: int64 (); start + B ≤ P.
        rows: (R, F).
        path: int32 (B,).
    """
    if use_triton(buffer):
        import engine.kernels.jit.walk as jit

        jit.append_rows(buffer, start, rows, path)
    else:
        append_rows_torch(buffer, start, rows, path)


def append_rows_torch(buffer: Tensor, start: Tensor, rows: Tensor, path: Tensor) -> None:
    """``append_rows`` in plain torch."""
    places = start + torch.arange(path.shape[0], device=path.device)
    buffer.index_copy_(0, places, rows.index_select(0, path).to(buffer.dtype))


def pick(values: Tensor, place: Tensor) -> Tensor:
    """``values[place]`` for a place () on the device; indexing with it would wait for its value."""
    return values.index_select(0, place.reshape(1))[0]
