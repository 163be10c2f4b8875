"""The rows of one pass through the target."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from engine import causal_conv
from engine.ddtree import DraftTree
from engine.settings import Verify


@dataclass(frozen=True)
class Rows:
    """What the layers need to know about the rows they are given.

    Attributes:
        parents: int64 (R,), over rows; -1 continues the committed text.
        depths: int64 (R,), 0 for a row that continues the committed text; its position is the committed
            length plus its depth.
        visible: bool (R, R), ancestor-or-self.
        backend: how the layers with a recurrent state treat branches; None for a chain whose rows are
            all committed (prefill).
    """

    parents: Tensor
    depths: Tensor
    visible: Tensor
    backend: Verify | None
    _conv_index: Tensor | None = field(default=None, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return int(self.parents.shape[0])

    @classmethod
    def chain(cls, count: int, device: torch.device) -> Rows:
        """Rows of known text, each the parent of the next."""
        order = torch.arange(count, device=device)
        return cls(order - 1, order, order[:, None] >= order[None, :], None)

    @classmethod
    def tree(cls, tree: DraftTree, backend: Verify) -> Rows:
        """The root and the nodes of a draft tree."""
        return cls(tree.row_parents(), tree.row_depths(), tree.visibility(), backend)

    def to(self, device: torch.device) -> Rows:
        """The same rows for a layer on ``device``."""
        if self.parents.device == device:
            return self
        return type(self)(
            self.parents.to(device), self.depths.to(device), self.visible.to(device), self.backend
        )

    @cached_property
    def as_chain(self) -> Rows:
        """The same number of rows, each taken for the child of the one before."""
        return Rows.chain(len(self), self.parents.device)

    def conv_index(self, window: int) -> Tensor:
        """``causal_conv.gather_index`` of the rows, made once for all layers."""
        if self._conv_index is None or self._conv_index.shape[1] != window + 1:
            object.__setattr__(self, "_conv_index", causal_conv.gather_index(self.parents, window))
        assert self._conv_index is not None
        return self._conv_index

    def attention_mask(self, committed: int, window: int | None = None) -> Tensor:
        """Which keys each row attends to: bool (1, 1, R, committed + R).

        Args:
            committed: key rows of the committed text before these rows.
            window: a sliding window covers this many positions, the row's own included.
        """
        prefix = self.visible.new_ones(len(self), committed)
        mask = torch.cat((prefix, self.visible), dim=1)
        if window is not None:
            keys = torch.cat((torch.arange(committed, device=mask.device), committed + self.depths))
            mask = mask & ((committed + self.depths)[:, None] - keys[None, :] < window)
        return mask[None, None]
