"""Faults of the text that no cause behind it explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from engine.ddtree import DraftTree
from engine.session import Session
from engine.settings import Verify

if TYPE_CHECKING:
    from engine.faults.planting import Plant, Planting

PERIOD = 4
BEFORE = 4
"""Tokens until the text begins to repeat itself."""
LEAD = 50.0
"""Of the repeated token's logit over all others."""


class _Repeats(Session):
    """Has target and drafter want the token ``PERIOD`` before, wherever they are asked."""

    _prompt: int | None = None

    def draft(self, root_id: int, block_size: int | None = None) -> Tensor:
        logits = super().draft(root_id, block_size)
        last = [*self.ids, root_id][-PERIOD:]
        wanted = [last[depth % len(last)] for depth in range(len(logits))]
        return self._wanting(logits, wanted, torch.arange(len(logits), device=logits.device))

    def verify(self, root_id: int, tree: DraftTree, backend: Verify) -> Tensor:
        logits = super().verify(root_id, tree, backend)
        ids, parents = tree.token_ids.tolist(), tree.parents.tolist()
        before = {-1: [*self.ids, root_id][-PERIOD:]}  # per node, the last tokens of its text
        for node in tree.depths.argsort().tolist():  # another fault may have put children first
            before[node] = [*before[parents[node]][1:], ids[node]]
        return self._wanting(logits, [before[node][0] for node in range(-1, len(ids))], tree.row_depths())

    def _wanting(self, logits: Tensor, wanted: list[int], depths: Tensor) -> Tensor:
        """``logits`` (R, V) with ``wanted`` (R) above all others, where enough of an answer is there."""
        self._prompt = len(self.ids) if self._prompt is None else self._prompt
        answered = len(self.ids) + 1 - self._prompt + depths
        repeating = logits.scatter(-1, depths.new_tensor(wanted)[:, None], float(logits.max()) + LEAD)
        return torch.where((answered >= BEFORE)[:, None], repeating, logits)


def _repeat(planting: Planting) -> None:
    planting.vary(planting.pair.session, _Repeats)


PLANTS: dict[str, Plant] = {"degenerate-text": _repeat}
