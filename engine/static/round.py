"""One decode round on the device: draft → build → verify → walk → commit, nothing waits for the host.

The same stages as ``engine.rounds``, with fixed shapes: a tree always has as many places as its bucket, a
path always ``block_size`` rows (its last one repeated), and what does not count is masked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.ddtree import empty_tree
from engine.kernels.draft_tree import build_tree, tree_candidates
from engine.kernels.logits import count_better, row_statistics
from engine.kernels.record import Chosen, Drafted, close_round
from engine.kernels.walk import append_rows, walk_tree
from engine.rows import Rows
from engine.sampling import gumbel_noise
from engine.settings import Mode
from engine.static import layers
from engine.static.cache import StaticCache
from engine.static.drafter import StaticDrafter
from engine.static.state import StaticState
from engine.target import Target


@dataclass(frozen=True)
class Bucket:
    """What fixes the shapes of a round.

    Attributes:
        nodes: places for draft nodes; 0 in ``ar``, block size - 1 in ``chain``.
        block_size: of the drafter in this round.
        greedy: no sampling.
        revocable: the host may take back part of what a round committed.
    """

    mode: Mode
    nodes: int
    block_size: int
    greedy: bool
    revocable: bool = False


class StaticRound:
    """The stages of one bucket. Each reads the tensors that the one before left on ``self``."""

    def __init__(
        self,
        bucket: Bucket,
        target: Target,
        drafter: StaticDrafter | None,
        cache: StaticCache,
        state: StaticState,
    ) -> None:
        self.bucket, self.target, self.drafter = bucket, target, drafter
        self.cache, self.state = cache, state
        self.steps = state.block_size
        """Most tokens a round can commit, the length of paths."""
        self._fused = layers.fusable(target)
        self._order = torch.arange(self.steps, device=state.device)

    def draft(self) -> None:
        """The drafter's logits at depths 1 .. B - 1, in its own type: (B - 1, V)."""
        if self.bucket.mode != "ar":
            assert self.drafter is not None
            self.draft_logits = self.drafter.draft(self.state, self.bucket.block_size)

    def build(self) -> None:
        """The draft tree and the rows to verify; each depth's log Σ exp, finite where its logits are."""
        bucket, state = self.bucket, self.state
        if bucket.mode == "ar":
            self.tree = empty_tree(device=state.device)
            self.is_node = torch.empty(0, dtype=torch.bool, device=state.device)
            self.row_ids, self.rows = state.root_id, Rows.tree(self.tree, "solve")
            return
        wanted, budget = (bucket.nodes, state.budget) if bucket.mode == "tree" else (1, None)
        candidates = tree_candidates(self.draft_logits, wanted)
        built = build_tree(candidates, bucket.nodes, state.root_id, state.remaining, budget)
        self.draft_lse, self.tree, self.is_node = candidates.lse, built.tree, built.is_node
        self.row_ids = built.row_ids
        self.rows = Rows(built.row_parents, built.row_depths, built.visible, "solve")

    def verify(self) -> None:
        """The target's logits at all rows: (n + 1, V)."""
        self.cache.rows = self.rows
        if self._fused:
            hidden, self.features = layers.forward(self.target, self.cache, self.row_ids)
        else:
            hidden, self.features = self.target.forward(self.cache, self.row_ids, self.rows)
        self.target_logits = self.target.logits(hidden)

    def walk(self) -> None:
        """The accepted path, the tokens it adds, and where the text ends."""
        statistics = row_statistics(self.target_logits)
        choices = statistics.best_id if self.bucket.greedy else self._sampled()
        self.chosen = Chosen(self.target_logits, statistics, choices)
        self.walked = walk_tree(choices, self.tree, self.is_node, self.state.text, self.steps)

    def commit(self) -> None:
        """Move the accepted rows into the committed text, and everything that follows from it."""
        state, walk = self.state, self.walked
        # The last token of the text stays out of the caches: n tokens commit n rows of the path.
        self.cache.commit_path(walk.path, walk.count, self.bucket.revocable)
        # Behind those still pending; what is past the count is written over by the next round.
        append_rows(state.features, state.feature_rows, self.features, walk.path)
        self.record = close_round(self.tree, self.is_node, self.chosen, self._drafted(), walk, state.text)

    def _sampled(self) -> Tensor:
        """The sampled token at every row."""
        vocab = self.target_logits.shape[-1]
        positions = self.state.length + 1 + self._order
        noise = gumbel_noise(self.state.sampler.seed, positions, vocab)
        choices = self.state.sampler.choose_with(self.target_logits, noise, self.rows.depths)
        # Where logits are NaN there is no best token: any will do, as the host refuses the round.
        return choices.clamp(max=vocab - 1)

    def _drafted(self) -> Drafted | None:
        """The drafter's part of the record."""
        if self.bucket.mode == "ar":
            return None
        logits = self.draft_logits
        better = count_better(logits, self.walked.accepted, self.walked.bonus)
        return Drafted(logits, self.draft_lse, better)
