"""Whether a pass over a tree computed every row from its own ancestors, at its own position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from operator import ge
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine import causal_conv
from engine.detectors.found import found
from engine.events import Finding, Round
from engine.observer import Observation, Observer, Start
from engine.rounds import RoundResult

if TYPE_CHECKING:
    from engine.cache import DeltaState, Pass
    from engine.rows import Rows
    from engine.static.result import StaticResult


class Passes(Observer):
    """Compares the rows that the target's layers really ran over with the tree."""

    def started(self, start: Start) -> Iterable[Observation]:
        self._cache = start.pair.session.cache
        self._states = self._cache.states
        self._layers = [
            number for number, kind in enumerate(start.pair.target.layer_kinds) if kind == "linear_attention"
        ]
        return ()

    def round(self, event: Round, result: RoundResult | StaticResult) -> Iterator[Finding]:
        if not isinstance(result, RoundResult):
            if event.mode != "ar" and result.row_ids is not None:
                yield from _tokens(event, result.row_ids.tolist(), [event.root_id, *event.nodes.ids])
            return
        passed = self._cache.passed
        if passed is None:
            return
        tree, position = result.tree, result.position
        yield from _tokens(event, passed.ids.tolist(), [result.root_id, *tree.token_ids.tolist()])
        parents = passed.rows.parents.tolist()
        if any(map(ge, parents, count())):
            yield _out_of_order(event, parents)
        positions = passed.positions.tolist()
        right = [position, *map(position.__add__, tree.depths.tolist())]
        if positions != right:
            yield _misplaced(event, positions, right, position)
        if self._states:
            yield from self._recurrent(event, passed)

    def _recurrent(self, event: Round, passed: Pass) -> Iterator[Finding]:
        """The layers with a recurrent state."""
        rows, checked = passed.rows, None
        for layer, state in zip(self._layers, self._states, strict=True):
            if state.rows is not rows and state.rows is not None and state.rows.backend != rows.backend:
                if finding := _shared_state(event, layer, state, rows):
                    yield finding
                return
            if state.index is checked or state.index is None:
                continue
            checked = state.index
            if not _own_ancestors(checked, rows.parents.to(checked.device)):
                yield _mixed(event, layer, checked, rows.parents)
                return


def _own_ancestors(index: Tensor, parents: Tensor) -> bool:
    """Whether every row convolves its own input and what its parent convolves, and the first one the window.

    Args:
        index: int64 (R, K), into the concatenation of K - 1 inputs of the window and the rows' own.
        parents: int64 (R,), -1 for the first row.
    """
    rows, kernel = index.shape
    own = list(range(kernel - 1, kernel - 1 + rows))
    if index[0].tolist() != list(range(kernel)) or index[:, -1].tolist() != own:
        return False
    return torch.equal(index[1:, :-1], index.index_select(0, parents[1:])[:, 1:])


def _tokens(event: Round, verified: list[int], drafted: list[int]) -> Iterator[Finding]:
    """Whether what was verified begins with what was drafted; on the device places without a node follow."""
    if verified[: len(drafted)] == drafted:
        return
    row = next(row for row, token in enumerate(drafted) if verified[row] != token)
    yield found(
        "stale-buffers",
        f"Row {row} of the pass held token {verified[row]}; drafted there was token {drafted[row]}.",
        round=event.index,
        row=row,
        verified=list(verified[: len(drafted)]),
        drafted=list(drafted),
    )


def _out_of_order(event: Round, parents: list[int]) -> Finding:
    early = [row for row, parent in enumerate(parents) if parent >= row]
    others = f"; so do {len(early) - 1} others." if len(early) > 1 else "."
    return found(
        "tree-order",
        f"Row {early[0]} of the pass comes before its parent, row {parents[early[0]]}" + others,
        round=event.index,
        row=early[0],
        parent=parents[early[0]],
        early=len(early),
    )


def _misplaced(event: Round, positions: list[int], right: list[int], root: int) -> Finding:
    row = next(row for row, position in enumerate(right) if positions[row] != position)
    return found(
        "rope-by-index",
        f"Row {row} of the pass stood {positions[row] - root} positions behind the root; its depth is "
        f"{right[row] - root}.",
        round=event.index,
        row=row,
        offset=positions[row] - root,
        depth=right[row] - root,
        by_index=positions == list(range(root, root + len(positions))),
    )


def _shared_state(event: Round, layer: int, state: DeltaState, rows: Rows) -> Finding | None:
    """The first row whose state had seen a node that is no ancestor, in the pass or in what it left; None if
    this round's rows were a chain that was accepted whole."""
    assert state.rows is not None
    assert state.index is not None
    assert state.path is not None
    strangers = state.rows.visible & ~rows.visible.to(state.rows.visible.device)
    contaminated = strangers.any(1).nonzero()[:, 0].tolist()
    if contaminated:
        row = contaminated[0]
        seen = int(strangers[row].nonzero()[0, 0])
        return found(
            "naive-verify",
            f"In layer {layer} the state of row {row} had seen row {seen}, which is none of its ancestors; "
            f"so had {len(contaminated)} of {len(rows)} rows.",
            round=event.index,
            row=row,
            node=row - 1,
            saw=seen,
            contaminated=len(contaminated),
            layer=layer,
        )
    leaf, last = int(state.path[-1]), len(rows) - 1
    if leaf == last:
        return None
    return found(
        "naive-verify",
        f"In layer {layer} the state that was kept had seen all {len(rows)} rows; accepted was the path to "
        f"row {leaf}.",
        round=event.index,
        row=leaf,
        node=leaf - 1,
        saw=last,
        contaminated=last - leaf,
        layer=layer,
    )


def _mixed(event: Round, layer: int, index: Tensor, parents: Tensor) -> Finding:
    """The first row with an input of another than its ancestors; those of the window are rows below 0."""
    kept = index.shape[1] - 1
    right = (causal_conv.gather_index(parents, kept) - kept).tolist()
    convolved = (index - kept).tolist()
    row = next(row for row, inputs in enumerate(right) if convolved[row] != inputs)
    pairs = zip(convolved[row][::-1], right[row][::-1], strict=True)
    wrong = next(one for one, other in pairs if one != other)
    return found(
        "conv-siblings",
        f"In layer {layer} row {row} convolved the input of row {wrong}, which is none of its ancestors.",
        round=event.index,
        layer=layer,
        row=row,
        node=row - 1,
        convolved=convolved[row],
        ancestors=right[row],
    )
