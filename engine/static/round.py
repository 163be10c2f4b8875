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
from engine.rows import Rows
from engine.sampling import first_argmax, gumbel_noise
from engine.settings import Mode
from engine.static import layers
from engine.static.cache import StaticCache
from engine.static.drafter import StaticDrafter
from engine.static.record import DRAFTER, NO_MISS, TARGET, Record
from engine.static.state import StaticState
from engine.target import Target


@dataclass(frozen=True)
class Bucket:
    """What fixes the shapes of a round.

    Attributes:
        nodes: places for draft nodes; 0 in ``ar``, block size - 1 in ``chain``.
        block_size: of the drafter in this round.
        greedy: no sampling.
    """

    mode: Mode
    nodes: int
    block_size: int
    greedy: bool


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
        device = state.device
        self._order = torch.arange(self.steps, device=device)
        self._rows = torch.arange(bucket.nodes + 1, device=device)

    def draft(self) -> None:
        """The drafter's logits at depths 1 .. B - 1, in its own type: (B - 1, V)."""
        if self.bucket.mode != "ar":
            assert self.drafter is not None
            self.draft_logits = self.drafter.draft(self.state, self.bucket.block_size)

    def build(self) -> None:
        """The draft tree and the rows to verify; each depth's log Σ exp, finite where its logits are."""
        bucket, state = self.bucket, self.state
        if bucket.mode == "ar":
            self.tree, self.is_node = empty_tree(device=state.device), self._rows[1:].bool()
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
        state, order, rows = self.state, self._order, self._rows
        self.choices = self._choose()
        agreed = (self.choices[self.tree.parents + 1] == self.tree.token_ids) & self.is_node
        agreed = torch.cat((agreed.new_ones(1), agreed))
        on_path = (agreed[None, :] | ~self.rows.visible).all(1)
        # Rows are in topological order, so the path's rows in ascending order are the path.
        place = on_path.cumsum(0) - 1
        leaf = torch.where(on_path, rows, 0).max()
        path = torch.full_like(order, 0).scatter_reduce(
            0, place.clamp(min=0), torch.where(on_path, rows, 0), "amax"
        )
        self.accepted = on_path.sum() - 1
        path = torch.where(order <= self.accepted, path, leaf)
        self.bonus = pick(self.choices, leaf)
        following = self.row_ids[torch.cat((path[1:], leaf[None]))]
        self.tokens = torch.where(order < self.accepted, following, self.bonus)

        in_text = order <= self.accepted
        stops = (self.tokens[:, None] == state.stop_ids[None, :]).any(1) & in_text
        first_stop = torch.where(stops, order, self.steps).min()
        whole = torch.minimum(self.accepted + 1, state.remaining)
        count = torch.minimum(whole, first_stop + 1)
        self.count = torch.where(state.done, 0, count)
        # The last token of the text stays out of the caches: n tokens commit n rows of the path.
        self.path = path
        self.ended = state.done | (first_stop < whole) | (count >= state.remaining)

    def commit(self) -> None:
        """Move the accepted rows into the committed text, and everything that follows from it."""
        state, active = self.state, ~self.state.done
        self.record = self._record().pack()
        self.cache.commit_path(self.path.int(), self.count.int())
        # Behind those still pending; what is past the count is written over by the next round.
        features = self.features[self.path].to(state.features.dtype)
        state.features.index_copy_(0, state.feature_rows + self._order, features)
        last = pick(self.tokens, (self.count - 1).clamp(min=0))
        state.root_id.copy_(torch.where(active, last, state.root_id))
        state.length.add_(self.count)
        state.feature_rows.add_(self.count)
        state.remaining.sub_(self.count)
        state.done.copy_(self.ended)

    def _choose(self) -> Tensor:
        # Where logits are NaN there is no best token: any will do, as the host refuses the round.
        return self._best().clamp(max=self.target_logits.shape[-1] - 1)

    def _finite(self) -> Tensor:
        finite = torch.where(torch.isfinite(self.target_logits.amax(-1)).all(), 0, TARGET)
        if self.bucket.mode == "ar":
            return finite
        return torch.where(torch.isfinite(self.draft_lse).all(), finite, DRAFTER)

    def _best(self) -> Tensor:
        if self.bucket.greedy:
            return first_argmax(self.target_logits)
        positions = self.state.length + 1 + self._order
        noise = gumbel_noise(self.state.sampler.seed, positions, self.target_logits.shape[-1])
        return self.state.sampler.choose_with(self.target_logits, noise, self.rows.depths)

    def _record(self) -> Record:
        logits = self.target_logits
        best = torch.topk(logits, 2, dim=-1).values
        chosen = logits.gather(-1, self.choices[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)
        rank, logprob = self._miss()
        return Record(
            position=self.state.length,
            root_id=self.state.root_id[0],
            tree=self.tree,
            is_node=self.is_node,
            choices=self.choices,
            choice_logprobs=chosen,
            gaps=best[:, 0] - best[:, 1],
            tokens=self.tokens,
            path=self.path,
            accepted=self.accepted,
            bonus=self.bonus,
            count=self.count,
            done=self.ended,
            miss_rank=rank,
            miss_logprob=logprob,
            finite=self._finite(),
        )

    def _miss(self) -> tuple[Tensor, Tensor]:
        """Rank and log-probability of the bonus token in the drafter's distribution at its depth."""
        none = torch.full_like(self.accepted, NO_MISS)
        if self.bucket.mode == "ar":
            return none, self.target_logits.new_zeros(())
        depths, vocab = self.draft_logits.shape
        depth = self.accepted.clamp(max=depths - 1)
        scores = pick(self.draft_logits, depth)
        score = pick(scores, self.bonus)
        before = torch.arange(vocab, device=scores.device) < self.bonus
        rank = (scores > score).sum() + ((scores == score) & before).sum()
        drafted = (self.accepted < depths) & (self.accepted + 1 < self.state.remaining)
        return torch.where(drafted, rank, none), score - pick(self.draft_lse, depth)


def pick(values: Tensor, place: Tensor) -> Tensor:
    """``values[place]`` for a place on the device, int64 (); indexing with it would wait for its value."""
    return values.index_select(0, place.reshape(1))[0]
