"""One decode round, a function per stage: draft → build → verify → walk → commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.ddtree import (
    DraftTree,
    build_chain_from_logits,
    build_ddtree_tree_from_logits,
    empty_tree,
    follow_verified_tree,
)
from engine.detail import DIGITS, TopRows, rounded, top_rows
from engine.errors import EngineError
from engine.events import TOP_CANDIDATES, Miss, Nodes, Round, StageTimes, TargetRows
from engine.sampling import Sampler
from engine.session import Session
from engine.settings import DecodeSettings


@dataclass(frozen=True)
class RoundResult:
    """What a round found out; ``event`` makes it public.

    Attributes:
        position: absolute position of the root.
        draft_logits: (D, V), or None in ``ar``.
        target_logits: (n + 1, V).
        choices: int64 (n + 1,), the target's token at every row.
        bonus: the target's token after the whole accepted path, also when the text was cut before it.
        committed: the tokens added to the text.
        accepted: accepted nodes whose tokens were committed.
        drafter_top, target_top: best candidates of either model's rows, with ``detail`` on.
    """

    position: int
    root_id: int
    tree: DraftTree
    draft_logits: Tensor | None
    target_logits: Tensor
    choices: Tensor
    bonus: int
    committed: list[int]
    accepted: list[int]
    ms: StageTimes
    drafter_top: TopRows | None
    target_top: TopRows | None

    @property
    def drafted(self) -> int:
        return len(self.tree)

    def event(self, index: int, settings: DecodeSettings, now: float) -> Round:
        tree = self.tree
        return Round(
            t=now,
            index=index,
            mode=settings.mode,
            budget=settings.budget if settings.mode == "tree" else len(tree),
            position=self.position,
            root_id=self.root_id,
            nodes=Nodes(
                ids=tree.token_ids.tolist(),
                parents=tree.parents.tolist(),
                depths=tree.depths.tolist(),
                logprobs=rounded(tree.logprobs),
                ranks=tree.ranks.tolist(),
            ),
            target=self._target_rows(),
            accepted=self.accepted,
            bonus_id=self.bonus if self._complete else None,
            miss=self._miss(settings.budget if settings.mode == "tree" else 1),
            committed_ids=self.committed,
            acceptance_length=len(self.committed),
            ms=self.ms,
            drafter_topk=self.drafter_top.candidates() if self.drafter_top else None,
            target_topk=self.target_top.candidates() if self.target_top else None,
        )

    def token_ids(self) -> list[int]:
        """All ids the event mentions."""
        ids = [self.root_id, self.bonus, *self.tree.token_ids.tolist(), *self.choices.tolist()]
        for top in (self.drafter_top, self.target_top):
            if top is not None:
                ids += top.ids.flatten().tolist()
        return ids

    @property
    def _complete(self) -> bool:
        """Whether the bonus token was committed, so that the path was not cut."""
        return len(self.committed) > len(self.accepted)

    def _target_rows(self) -> TargetRows:
        logits = self.target_logits
        chosen = logits.gather(-1, self.choices[:, None])[:, 0] - torch.logsumexp(logits, dim=-1)
        best = torch.topk(logits, 2, dim=-1).values
        return TargetRows(
            ids=self.choices.tolist(), logprobs=rounded(chosen), gaps=rounded(best[:, 0] - best[:, 1])
        )

    def _miss(self, candidates: int) -> Miss | None:
        depth = len(self.accepted)  # place of the missed token's depth in draft_logits
        if self.draft_logits is None or not self._complete or depth >= self.draft_logits.shape[0]:
            return None
        scores = self.draft_logits[depth]
        score = scores[self.bonus]
        rank = int((scores > score).sum() + (scores[: self.bonus] == score).sum())
        logprob = float(torch.log_softmax(scores, dim=-1)[self.bonus])
        return Miss(
            depth=depth + 1,
            id=self.bonus,
            rank=rank,
            logprob=round(max(logprob, -1e4), DIGITS),
            beyond=rank >= candidates,
        )


class Stages:
    """The decisions of a round on the host, so that a planted fault can take others."""

    def build(self, draft_logits: Tensor | None, settings: DecodeSettings, device: torch.device) -> DraftTree:
        """The tree to verify."""
        return build(draft_logits, settings, device)

    def walk(self, tree: DraftTree, choices: Tensor) -> tuple[list[int], int]:
        """The accepted path and the bonus token."""
        return follow_verified_tree(tree, choices)

    def ends(self, token_id: int, stop_ids: Collection[int]) -> bool:
        """Whether the answer ends with this token."""
        return token_id in stop_ids

    def tell(self, result: RoundResult) -> RoundResult:
        """The result as it is told."""
        return result


STAGES = Stages()


def decode_round(
    session: Session,
    root_id: int,
    settings: DecodeSettings,
    sampler: Sampler,
    room: int,
    take: Callable[[int], bool],
    stages: Stages = STAGES,
    candidates: int = TOP_CANDIDATES,
) -> RoundResult:
    """Decode one round and commit it.

    Args:
        root_id: the last token of the text, not in the caches yet.
        room: most tokens that may be added to the text, at least 1.
        take: appends a token to the text, True when the text ends with it.
        stages: what builds the tree and walks it.
        candidates: so many of the best are told a row, with ``settings.detail``.
    """
    clock = Clock(session.target.device)
    position = len(session.ids)
    with clock.stage("draft"):
        draft_logits = draft(session, root_id, settings, room)
    with clock.stage("build"):
        tree = stages.build(draft_logits, settings, session.target.device)
    with clock.stage("verify"):
        target_logits = session.verify(root_id, tree, settings.verify)
    with clock.stage("walk"):
        choices = session.target.agree(choose(target_logits, tree, sampler, position))
        accepted, bonus = stages.walk(tree, choices)
    with clock.stage("commit"):
        committed, accepted = commit(session, root_id, tree, accepted, bonus, take)
    result = RoundResult(
        position=position,
        root_id=root_id,
        tree=tree,
        draft_logits=draft_logits,
        target_logits=target_logits,
        choices=choices,
        bonus=bonus,
        committed=committed,
        accepted=accepted,
        ms=clock.times(),
        drafter_top=top_rows(draft_logits, candidates)
        if settings.detail and draft_logits is not None
        else None,
        target_top=top_rows(target_logits, candidates) if settings.detail else None,
    )
    return stages.tell(result)


def draft(session: Session, root_id: int, settings: DecodeSettings, room: int) -> Tensor | None:
    """The drafter's logits for depths 1..D, (D, V); None where nothing is to be drafted.

    The bonus token takes one place of ``room``, so nothing deeper than ``room`` - 1 could be committed.
    The drafter still fills the block it was trained with.
    """
    depth = room - 1
    if settings.mode == "ar" or depth < 1:
        return None
    return session.draft(root_id, settings.block_size)[:depth]


def build(draft_logits: Tensor | None, settings: DecodeSettings, device: torch.device) -> DraftTree:
    """The draft tree, the chain, or the root alone."""
    if draft_logits is None:
        return empty_tree(device=device)
    check_finite(draft_logits, "drafter")
    if settings.mode == "chain":
        return build_chain_from_logits(draft_logits)
    return build_ddtree_tree_from_logits(draft_logits, settings.budget)


def choose(target_logits: Tensor, tree: DraftTree, sampler: Sampler, position: int) -> Tensor:
    """The target's token at every row: int64 (n + 1,). Row r stands for the text's position + depth + 1."""
    check_finite(target_logits, "target")
    return sampler.choose(target_logits, position + tree.row_depths() + 1)


def commit(
    session: Session,
    root_id: int,
    tree: DraftTree,
    accepted: list[int],
    bonus: int,
    take: Callable[[int], bool],
) -> tuple[list[int], list[int]]:
    """Add the accepted tokens and the bonus token to the text, up to where it ends, then to the caches.

    The last token of the text is the next root and stays out of the caches: of n tokens, the rows of
    the root and of the first n - 1 accepted nodes are committed.

    Returns:
        The tokens added, and the accepted nodes among them.
    """
    token_ids = tree.token_ids.tolist()
    committed: list[int] = []
    for token_id in [*(token_ids[node] for node in accepted), bonus]:
        committed.append(token_id)
        if take(token_id):
            break
    rows = [0, *(node + 1 for node in accepted[: len(committed) - 1])]
    session.commit([root_id, *committed[:-1]], rows)
    return committed, accepted[: len(committed)]


class Clock:
    """Times the stages of a round in milliseconds, waiting for the device at their borders."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._started = time.perf_counter()
        self._ms: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        self._ms[name] = 1000 * (time.perf_counter() - began)

    def times(self) -> StageTimes:
        return StageTimes(total=1000 * (time.perf_counter() - self._started), **self._ms)


def check_finite(logits: Tensor, which: str) -> None:
    """Raise ``not_finite`` unless every row of logits (R, V) has a finite largest entry."""
    if not bool(torch.isfinite(logits.amax(-1)).all()):  # NaN is the largest of a row that has it
        raise not_finite(which)


def not_finite(which: str) -> EngineError:
    """The error for logits that no token can be chosen from."""
    return EngineError(
        "not_finite",
        f"The {which}'s logits are not finite numbers.",
        "Check the checkpoint, and try another --dtype.",
    )
