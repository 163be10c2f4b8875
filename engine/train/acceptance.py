"""Acceptance lengths along known greedy text, exactly as decoding would have had them.

Greedy decoding writes the same text whatever is drafted, so the text can be written first. At every place a
round can start, the drafter's block follows from the text before it; chain and trees are then walked along
the text that is known to come. Nothing is verified by the target here, which makes this an independent
check of the decode loop's own numbers.
"""

from __future__ import annotations

import multiprocessing
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.ddtree import build_tree_from_candidates, follow_verified_tree, top_candidates
from engine.drafter import Drafter
from engine.train.frozen import embedding_matrix, tap
from engine.train.progress import Progress

CHAIN = "chain"
_ROOTS_AT_ONCE = 64


@dataclass(frozen=True)
class Reply:
    """A greedy reply of the target, to one prompt of a group of prompts (a task, a file)."""

    group: str
    prompt_ids: list[int]
    ids: list[int]


@dataclass(frozen=True)
class Drafts:
    """What the drafter says at every root of one reply.

    Attributes:
        ids: int32 (roots, B - 1, candidates), best first; root r is token r of the reply.
        logprobs: float32, same shape.
    """

    ids: npt.NDArray[np.int32]
    logprobs: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Tally:
    """Tokens committed in rounds (the prefill's first token is in none), and rounds."""

    tokens: int
    rounds: int


@torch.inference_mode()
def draft_everywhere(
    model: Any, drafter: Drafter, prompt: Sequence[int], reply: Sequence[int], candidates: int
) -> Drafts:
    """The drafter's best candidates for every token of the reply that has a successor as root."""
    device = model.device
    ids = torch.tensor([[*prompt, *reply]], device=device)
    features = tap(model, ids, drafter.config.target_layer_ids)
    size, embedding = drafter.config.block_size, embedding_matrix(model)
    kept_ids, kept_logprobs = [], []
    for first in range(0, len(reply) - 1, _ROOTS_AT_ONCE):
        stop = min(first + _ROOTS_AT_ONCE, len(reply) - 1)
        roots = torch.arange(len(prompt) + first, len(prompt) + stop, device=device)
        block = torch.full((1, len(roots), size), drafter.config.mask_token_id, device=device)
        block[0, :, 0] = ids[0, roots]
        hidden = drafter.forward_blocks(drafter.embed(block, embedding), features, roots[None])[0]
        logits = drafter.logits(hidden, model.get_output_embeddings())  # (roots, B - 1, V)
        best, logprobs = top_candidates(logits.flatten(0, 1), candidates)
        kept_ids.append(best.view(len(roots), size - 1, -1).int().cpu())
        kept_logprobs.append(logprobs.view(len(roots), size - 1, -1).float().cpu())
    return Drafts(torch.cat(kept_ids).numpy(), torch.cat(kept_logprobs).numpy())


def walk_rounds(drafts: Drafts, reply: Sequence[int], budget: int | None) -> Tally:
    """Decode the reply round by round: draft at the root, accept what agrees, take the bonus token, go on.

    Args:
        budget: most nodes of the tree; None walks the chain.
    """
    at, rounds = 0, 0
    depths = drafts.ids.shape[1]
    while at < len(reply) - 1:
        following = [*reply[at + 1 : at + 1 + depths]]
        accepted = _accepted(drafts.ids[at], drafts.logprobs[at], following, budget)
        # The reply's last token ends it: nothing is committed behind it, no bonus token either.
        at += min(accepted + 1, len(reply) - 1 - at)
        rounds += 1
    return Tally(len(reply) - 1, rounds)


def _accepted(
    ids: npt.NDArray[np.int32], logprobs: npt.NDArray[np.float32], following: list[int], budget: int | None
) -> int:
    if budget is None:
        agreed = 0
        while agreed < len(following) and int(ids[agreed, 0]) == following[agreed]:
            agreed += 1
        return agreed
    tree = build_tree_from_candidates(
        torch.from_numpy(ids[:, :budget]).long(), torch.from_numpy(logprobs[:, :budget]), budget
    )
    # On the known text the target's choice depends on the depth alone; -1 is no token: the text is over.
    padded = torch.tensor([*following, *[-1] * (ids.shape[0] + 1 - len(following))])
    return len(follow_verified_tree(tree, padded[tree.row_depths()])[0])


def measure_acceptance(
    model: Any,
    drafter: Drafter,
    replies: Sequence[Reply],
    budgets: Sequence[int],
    workers: int,
) -> dict[str, dict[str, float]]:
    """Mean acceptance length per mode: overall under ``all``, then per group of replies.

    Args:
        workers: processes that walk trees.

    Returns:
        ``{"chain": {"all": 4.2, "arithmetic": 5.0, ...}, "tree(16)": ...}``.
    """
    modes: dict[str, int | None] = {CHAIN: None, **{f"tree({budget})": budget for budget in budgets}}
    totals: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    progress = Progress("rounds")
    usable = [reply for reply in replies if len(reply.ids) > 1]
    with _pool(workers) as pool:
        waiting = []
        for done, reply in enumerate(usable):
            drafts = draft_everywhere(model, drafter, reply.prompt_ids, reply.ids, max(budgets, default=1))
            waiting.append((reply, pool.submit(_all_modes, drafts, reply.ids, list(modes.values()))))
            progress.update(done / len(usable))
        for reply, future in waiting:
            for mode, tally in zip(modes, future.result(), strict=True):
                for group in ("all", reply.group):
                    totals[mode, group][0] += tally.tokens
                    totals[mode, group][1] += tally.rounds
    progress.update(1.0)
    result: dict[str, dict[str, float]] = {mode: {} for mode in modes}
    for (mode, group), (tokens, rounds) in sorted(totals.items()):
        result[mode][group] = round(tokens / rounds, 3)
    return result


def _all_modes(drafts: Drafts, reply: list[int], budgets: list[int | None]) -> list[Tally]:
    torch.set_num_threads(1)
    return [walk_rounds(drafts, reply, budget) for budget in budgets]


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    if workers <= 1:
        with ThreadPoolExecutor(1) as threads:
            yield threads
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as processes:
        yield processes
