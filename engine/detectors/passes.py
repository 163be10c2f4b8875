"""Whether a pass over a tree computed every row from its own ancestors, at its own position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from engine.detectors.found import found
from engine.events import Finding, Round
from engine.observer import Observation, Observer, Start
from engine.rounds import RoundResult

if TYPE_CHECKING:
    from engine.cache import DeltaState, Pass
    from engine.rows import Rows
    from engine.static.result import StaticResult

Array = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


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
        tree, order = result.tree, np.arange(len(result.tree) + 1)
        parents = np.concatenate(([-1], tree.parents.numpy(force=True) + 1))
        yield from _tokens(event, passed.ids.tolist(), [result.root_id, *tree.token_ids.tolist()])
        if (parents >= order).any():
            yield _out_of_order(event, parents, order)
        depths = np.concatenate(([0], tree.depths.numpy(force=True)))
        positions = passed.positions.numpy(force=True)
        if (positions != result.position + depths).any():
            yield _misplaced(event, positions - result.position, depths)
        if self._states:
            yield from self._recurrent(event, result, passed, parents, order)

    def _recurrent(
        self, event: Round, result: RoundResult, passed: Pass, parents: Array, order: Array
    ) -> Iterator[Finding]:
        """The layers with a recurrent state."""
        checked: Tensor | None = None
        for layer, state in zip(self._layers, self._states, strict=True):
            if state.rows is None or state.index is None:
                continue
            if state.rows is not passed.rows and state.rows.backend != passed.rows.backend:
                if finding := _shared_state(event, layer, state, passed.rows):
                    yield finding
                return
            if state.index is checked:
                continue
            checked = state.index
            index = checked.numpy(force=True)
            kept = index.shape[1] - 1
            # A row convolves its own input and what its parent convolves; the first row, the window.
            before = np.where(parents[:, None] < 0, np.arange(kept), index[parents, 1:])
            if (index[:, :-1] != before).any() or (index[:, -1] != order + kept).any():
                yield _mixed(event, layer, index, before)
                return


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


def _out_of_order(event: Round, parents: Array, order: Array) -> Finding:
    row = int((parents >= order).argmax())
    return found(
        "tree-order",
        f"Row {row} of the pass comes before its parent, row {parents[row]}; so do "
        f"{int((parents >= order).sum()) - 1} others.",
        round=event.index,
        row=row,
        parent=int(parents[row]),
    )


def _misplaced(event: Round, offsets: Array, depths: Array) -> Finding:
    row = int((offsets != depths).argmax())
    return found(
        "rope-by-index",
        f"Row {row} of the pass stood {offsets[row]} positions behind the root; its depth is {depths[row]}.",
        round=event.index,
        row=row,
        offset=int(offsets[row]),
        depth=int(depths[row]),
        by_index=bool((offsets == np.arange(len(offsets))).all()),
    )


def _shared_state(event: Round, layer: int, state: DeltaState, rows: Rows) -> Finding | None:
    """The first row whose state had seen a node that is no ancestor, in the pass or in what it left; None if
    this round's rows were a chain that was accepted whole."""
    assert state.rows is not None
    assert state.index is not None
    assert state.path is not None
    strangers = state.rows.visible.numpy(force=True) & ~rows.visible.numpy(force=True)
    if strangers.any():
        row = int(strangers.any(1).argmax())
        seen = int(strangers[row].argmax())
        return found(
            "naive-verify",
            f"In layer {layer} the state of row {row} had seen row {seen}, which is none of its ancestors; "
            f"so had {int(strangers.any(1).sum())} of {len(rows)} rows.",
            round=event.index,
            row=row,
            node=row - 1,
            saw=seen,
            contaminated=int(strangers.any(1).sum()),
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


def _mixed(event: Round, layer: int, index: Array, before: Array) -> Finding:
    kept = index.shape[1] - 1
    row = int((index[:, :-1] != before).any(1).argmax())
    mixed = index[row, :-1][index[row, :-1] != before[row]] - kept
    return found(
        "conv-siblings",
        f"In layer {layer} row {row} convolved the input of row {mixed[-1]}, which is none of its ancestors.",
        round=event.index,
        layer=layer,
        row=row,
        node=row - 1,
        convolved=[int(value) - kept for value in index[row]],
        ancestors=[int(value) - kept for value in before[row]],
    )
