"""What the host is told of a round: one small integer tensor, floats as their bits.

``engine.kernels.record.close_round`` writes it.

The layout depends on the number of rows alone, so a record can be copied to pinned memory asynchronously
and read one round later.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.ddtree import DraftTree


@dataclass(frozen=True)
class Record:
    """A round, read on the host.

    Attributes:
        position: int64 (), of the root.
        root_id: int64 ().
        tree: n places, of which the first few are nodes.
        is_node: bool (n,).
        choices: int64 (n + 1,), the target's token at every row.
        choice_logprobs, gaps: float32 (n + 1,).
        tokens: int64 (B,), accepted tokens and bonus; ``count`` of them are committed.
        path: int64 (B,), rows from the root's down; ``accepted`` + 1 of them count.
        accepted: int64 (), nodes on the whole accepted path.
        bonus: int64 (), the target's token after that.
        count: int64 (), tokens committed, 0 when the text had ended before.
        done: bool (), the text ends with them.
        miss_rank: int64 (), the drafter's rank of the bonus token at its depth, ``NO_MISS`` beyond the block.
        miss_logprob: float32 ().
        finite: int64 (), 0 when both models' logits are finite, else ``DRAFTER`` or ``TARGET``.
    """

    position: Tensor
    root_id: Tensor
    tree: DraftTree
    is_node: Tensor
    choices: Tensor
    choice_logprobs: Tensor
    gaps: Tensor
    tokens: Tensor
    path: Tensor
    accepted: Tensor
    bonus: Tensor
    count: Tensor
    done: Tensor
    miss_rank: Tensor
    miss_logprob: Tensor
    finite: Tensor

    @classmethod
    def unpack(cls, packed: Tensor, nodes: int, block_size: int, budget: int) -> Record:
        """Read what was written for ``nodes`` places and blocks of ``block_size``."""
        sizes = [1] * 8 + [block_size, block_size, nodes + 1] + [nodes] * 5 + [1, nodes + 1, nodes + 1, nodes]
        parts = list(torch.split(packed, sizes))
        position, root_id, accepted, bonus, count, done, miss_rank, finite = (
            part[0].long() for part in parts[:8]
        )
        tokens, path, choices, ids, parents, depths, ranks, is_node = (part.long() for part in parts[8:16])
        miss_logprob, choice_logprobs, gaps, logprobs = (part.view(torch.float32) for part in parts[16:])
        return cls(
            position=position,
            root_id=root_id,
            tree=DraftTree(ids, parents, depths, logprobs, ranks, budget),
            is_node=is_node.bool(),
            choices=choices,
            choice_logprobs=choice_logprobs,
            gaps=gaps,
            tokens=tokens,
            path=path,
            accepted=accepted,
            bonus=bonus,
            count=count,
            done=done.bool(),
            miss_rank=miss_rank,
            miss_logprob=miss_logprob[0],
            finite=finite,
        )

    @staticmethod
    def length(nodes: int, block_size: int) -> int:
        """How many integers that is."""
        return 9 + 2 * block_size + 3 * (nodes + 1) + 6 * nodes
