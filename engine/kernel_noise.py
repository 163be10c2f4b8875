"""How much a change of kernel and of the number of rows changes the target's leads, measured.

Texts that ``ar`` wrote, row after row, are run through the target again in passes of more rows, each the
parent of the next: no branches, so a fault in how branches are kept apart cannot pass for noise. As in a
round, a pass commits at most as many rows as a block has. Leads: see ``engine.divergence``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from engine.codec import EncodedPrompt
from engine.ddtree import DraftTree, chain
from engine.divergence import Choice
from engine.kernels.backend import wide
from engine.pair import Pair
from engine.rows import Rows
from engine.sampling import Sampler
from engine.session import Session
from engine.static.round import Bucket, StaticRound

QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass
class Noise:
    """Absolute changes of leads against those in ``ar``, by the number of rows of a pass."""

    changes: dict[int, list[float]] = field(default_factory=dict)

    @property
    def largest(self) -> float:
        """Over all positions and numbers of rows; 0 when nothing was measured."""
        return max((max(changes) for changes in self.changes.values() if changes), default=0.0)

    def summary(self) -> dict[str, dict[str, float]]:
        """Positions, quantiles and largest change by number of rows."""
        return {str(rows): _summary(changes) for rows, changes in self.changes.items() if changes}

    def measure(self, pair: Pair, prompt: EncodedPrompt, ar: Sequence[Choice], rows: Sequence[int]) -> None:
        """Add the positions of one text, in passes of each of these numbers of rows."""
        ids = [choice.id for choice in ar]
        gaps = [choice.gap for choice in ar[1:]]
        for count in rows:
            through = passes(pair, prompt, ids, count)
            found = [lead for logits, chosen in through for lead in leads(logits, chosen)]
            self.changes.setdefault(count, []).extend(
                abs(lead - gap) for lead, gap in zip(found, gaps, strict=True) if gap is not None
            )


def _summary(changes: list[float]) -> dict[str, float]:
    values = torch.tensor(changes, dtype=torch.float64)
    found = {f"{quantile:.1%}": float(values.quantile(quantile)) for quantile in QUANTILES}
    return {"positions": len(changes), **found, "largest": float(values.max())}


def leads(logits: Tensor, chosen: Sequence[int]) -> list[float]:
    """The chosen tokens' leads in rows of logits (k, V)."""
    logits = logits.to(wide(logits.dtype))
    ids = torch.tensor(chosen, device=logits.device)[:, None]
    others = logits.scatter(1, ids, -torch.inf).amax(1)
    found: list[float] = (logits.gather(1, ids)[:, 0] - others).tolist()
    return found


@torch.inference_mode()
def passes(
    pair: Pair,
    prompt: EncodedPrompt,
    ids: list[int],
    rows: int,
    ended: Callable[[Session], None] | None = None,
) -> Iterator[tuple[Tensor, list[int]]]:
    """Logits of the rows that are committed, and the tokens that follow them, pass after pass.

    Args:
        ids: of an answer to the prompt.
        ended: is shown the session when it holds all of the text but its last token.
    """
    pair.session.reset()
    for _ in pair.session.prefill(prompt.ids, prompt.stable):
        pass
    step = min(rows, pair.drafter.config.block_size if pair.drafter else rows)
    run = _OnDevice(pair, len(ids), rows) if pair.on_device else _Plain(pair)
    for start in range(0, len(ids) - 1, step):
        kept = min(step, len(ids) - 1 - start)
        # Whatever stands behind the text is seen by nothing that counts.
        tokens = [*ids[start : start + rows], *ids[-1:] * rows][:rows]
        yield run(tokens, kept), ids[start + 1 : start + 1 + kept]
    if ended is not None:
        run.leave([*prompt.ids, *ids[:-1]])
        ended(pair.session)
    pair.session.reset()


class _Plain:
    """Passes by the loop that waits for every stage."""

    def __init__(self, pair: Pair) -> None:
        self._session = pair.session

    def __call__(self, ids: list[int], kept: int) -> Tensor:
        session = self._session
        logits = session.verify(ids[0], _chain(ids[1:], session.target.device), "solve")
        session.commit(ids[:kept], list(range(kept)))
        return logits[:kept]

    def leave(self, ids: list[int]) -> None:
        """The caches are the session's already."""


class _OnDevice:
    """Passes with the kernels of rounds on the device."""

    def __init__(self, pair: Pair, room: int, rows: int) -> None:
        runner = self._runner = pair.runner
        runner.enter(0, room, Sampler(), [])
        self._state, self._cache = runner.state, runner.cache
        block = self._state.block_size
        bucket = Bucket("chain" if rows > 1 else "ar", rows - 1, block, greedy=True)
        self._round = StaticRound(bucket, pair.target, runner.drafter, runner.cache, runner.state)
        self._path = torch.arange(block, device=self._state.device).clamp(max=rows - 1).int()

    def __call__(self, ids: list[int], kept: int) -> Tensor:
        state, stages = self._state, self._round
        stages.row_ids = torch.tensor(ids, device=state.device)
        stages.rows = Rows.tree(_chain(ids[1:], state.device), "solve")
        stages.verify()
        self._cache.commit_path(self._path, torch.tensor([kept], dtype=torch.int32, device=state.device))
        state.length.add_(kept)
        return stages.target_logits[:kept]

    def leave(self, ids: list[int]) -> None:
        """Give the caches back."""
        self._runner.leave(ids)


def _chain(ids: Sequence[int], device: torch.device) -> DraftTree:
    """Known tokens, each the child of the one before."""
    return chain(torch.tensor(ids, dtype=torch.int64, device=device), torch.zeros(len(ids), device=device))
