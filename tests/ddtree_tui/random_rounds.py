"""Rounds of random trees under a random target, with the truth about them kept: what it chose everywhere."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from engine.ddtree import (
    DraftTree,
    build_chain_from_logits,
    build_ddtree_tree_from_logits,
    empty_tree,
    follow_verified_tree,
)
from engine.events import Miss, Nodes, Round, StageTimes, TargetRows
from engine.settings import Mode

VOCABULARY = 12


@dataclass(frozen=True)
class RandomRound:
    """Drafter's logits (D, V), and a target that chooses by the tokens before: ``choose``."""

    logits: torch.Tensor
    seed: int
    likely: float

    @classmethod
    def make(cls, seed: int) -> RandomRound:
        """A drafter of some sharpness, a target of some likeness to it."""
        rng = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        depths = rng.randrange(1, 9)
        logits = torch.randn(depths, VOCABULARY, generator=generator) * rng.choice((0.5, 2.0, 5.0))
        return cls(logits, seed, rng.choice((0.2, 0.6, 0.9)))

    def choose(self, path: tuple[int, ...]) -> int:
        """The target's token after ``path``, often the drafter's first choice at that depth."""
        rng = random.Random(f"{self.seed} {path}")
        if len(path) < len(self.logits) and rng.random() < self.likely:
            return int(self.logits[len(path)].argmax())
        return rng.randrange(VOCABULARY)

    def tree(self, mode: Mode, budget: int) -> DraftTree:
        """What the engine would verify."""
        if mode == "ar":
            return empty_tree()
        if mode == "chain":
            return build_chain_from_logits(self.logits)
        return build_ddtree_tree_from_logits(self.logits, budget)

    def walk(self, tree: DraftTree) -> tuple[list[int], int]:
        """The engine's own walk: accepted nodes, and the token after them."""
        tokens = tree.token_ids.tolist()
        paths = [(), *(tuple(tokens[step] for step in tree.path_to(node)) for node in range(len(tree)))]
        return follow_verified_tree(tree, [self.choose(path) for path in paths])

    def event(self, mode: Mode, budget: int, *, cut: int | None = None, ms: float = 10.0) -> Round:
        """The round as the engine reports it. ``cut``: the text ends on that many accepted tokens."""
        tree = self.tree(mode, budget)
        accepted, bonus = self.walk(tree)
        complete = cut is None or not 0 < cut <= len(accepted)
        accepted = accepted if complete else accepted[:cut]
        tokens = tree.token_ids.tolist()
        committed = [tokens[node] for node in accepted] + ([bonus] if complete else [])
        depth = len(accepted) + 1
        miss = None
        if complete and mode != "ar" and depth <= len(self.logits):
            scores = self.logits[depth - 1]
            rank = int((scores > scores[bonus]).sum())
            logprob = float(scores.log_softmax(-1)[bonus])
            miss = Miss(depth=depth, id=bonus, rank=rank, logprob=logprob, beyond=rank >= budget)
        rows = len(tree) + 1
        return Round(
            index=0,
            mode=mode,
            position=0,
            root_id=0,
            nodes=Nodes(
                ids=tokens,
                parents=tree.parents.tolist(),
                depths=tree.depths.tolist(),
                logprobs=tree.logprobs.tolist(),
                ranks=tree.ranks.tolist(),
            ),
            target=TargetRows(ids=[0] * rows, logprobs=[0.0] * rows, gaps=[1.0] * rows),
            accepted=accepted,
            bonus_id=bonus if complete else None,
            miss=miss,
            committed_ids=committed,
            acceptance_length=len(committed),
            ms=StageTimes(draft=0.2 * ms, verify=0.6 * ms, total=ms),
            budget=budget if mode == "tree" else len(tree),
        )
