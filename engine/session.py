"""The caches of one conversation, the target's and the drafter's in step.

Invariant: ``ids`` are the tokens in the target's cache, and the drafter's context plus the features still to
be handed to it are of exactly these tokens. The last committed token, the root of the next round, is in none
of them yet.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from engine.cache import Snapshot
from engine.ddtree import DraftTree
from engine.drafter import Drafter
from engine.errors import EngineError
from engine.room import SPARE_ROWS
from engine.settings import Verify
from engine.shelf import Aside, Shelf, usable
from engine.target import Target, Verified


class Drafted(NamedTuple):
    """What the drafter was really given last: references, for whoever looks at a run.

    Attributes:
        block: int64 (1, B), the ids of its block.
        positions: int64 (B,), of the block's slots.
        context_rows: rows in its context.
    """

    block: Tensor
    positions: Tensor | None
    context_rows: int


class Session:
    """Caches that only ever hold committed text.

    Attributes:
        drafted: what the last draft used, None before the first.
        path, kept: the rows (int64) that the last commit kept, and the features (rows, F) that it put aside
            for the drafter.
        shelf: where texts are kept that others follow; None keeps the last one alone.
    """

    def __init__(self, target: Target, drafter: Drafter | None) -> None:
        self.target = target
        self.drafter = drafter
        self._use = threading.Lock()
        self.cache = target.new_cache()
        longest = target.context_length + SPARE_ROWS
        self.context = drafter.new_context(limit=longest) if drafter else None
        self.shelf: Shelf | None = None
        self.reset()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Hold the caches for one answer.

        Raises:
            EngineError: ``pair_in_use`` if another answer holds them.
        """
        if not self._use.acquire(blocking=False):
            raise EngineError(
                "pair_in_use",
                "This pair is in the middle of another answer.",
                "Finish that answer or close its iterator first, or load the pair a second time.",
            )
        try:
            yield
        finally:
            self._use.release()

    @torch.inference_mode()
    def reset(self) -> None:
        """Forget the text; the buffers stay where they are."""
        self.ids: list[int] = []
        self.cache.clear()
        if self.context is not None:
            self.context.truncate(0)
        self._features: list[Tensor] = []
        self._snapshot: Snapshot | None = None
        self._verified: Verified | None = None
        self.drafted: Drafted | None = None
        self.path: Tensor | None = None
        self.kept: Tensor | None = None

    def rewind(self, prompt_ids: Sequence[int]) -> int:
        """Keep what the new prompt shares with the caches, or with a text on the shelf; how many tokens that
        is (see ``usable``)."""
        if self.shelf is not None:
            self._exchange(self.shelf, prompt_ids)
        length = usable(self.ids, self._snapshot, prompt_ids)
        if length == len(self.ids):
            return length
        if length == 0:
            self.reset()
        elif self._snapshot is not None:
            self._go_back(self._snapshot)
        return length

    def _exchange(self, shelf: Shelf, prompt_ids: Sequence[int]) -> None:
        """Take a text off the shelf from which the prompt goes on better than from this one. This one is put
        there when it is left."""
        here = usable(self.ids, self._snapshot, prompt_ids)
        found = shelf.take(prompt_ids, more_than=here)
        if here and found is None:
            return
        if self.ids:
            self.hand_over()
            shelf.put(Aside.of(self.ids, self._snapshot, self.cache, self.context))
        if found is not None:
            self.reset()
            self._snapshot = found.give_back(self.cache, self.context)
            self.ids = list(found.ids)

    def _go_back(self, snapshot: Snapshot) -> None:
        self.hand_over()
        self.cache.restore(snapshot)
        if self.context is not None:
            self.context.truncate(snapshot.length)
        self.ids = self.ids[: snapshot.length]

    @torch.inference_mode()
    def prefill(self, ids: Sequence[int], stable: int) -> Iterator[Tensor]:
        """Commit the rest of a prompt in chunks.

        Args:
            ids: what follows ``self.ids``.
            stable: length of the text at which to take the snapshot for the next turn; 0 for none.

        Yields:
            After each chunk, the logits after its last token (1, V).
        """
        border = stable - len(self.ids)
        parts = [ids[:border], ids[border:]] if 0 < border < len(ids) else [ids]
        for part in parts:
            done = 0
            for verified in self.target.prefill(self.cache, part):
                rows = self.cache.length - len(self.ids)
                self.ids += part[done : done + rows]
                done += rows
                self.hand_over(keep=1)
                self._features.append(verified.features)
                yield verified.logits
            if len(self.ids) == stable:
                self._snapshot = self.cache.snapshot()

    @torch.inference_mode()
    def draft(self, root_id: int, block_size: int | None = None) -> Tensor:
        """The drafter's logits for the positions after the root: (B - 1, V)."""
        assert self.drafter is not None
        assert self.context is not None
        self.hand_over()
        block = self.drafter.block_ids(root_id, self.target.device, block_size)
        embedded = self.target.embed(block) * self.drafter.config.input_embedding_scale
        hidden = self.drafter(embedded, self.context)
        self.drafted = Drafted(block, self.context.positions, self.context.length)
        logits = self.drafter.logits(hidden, self.target.head)[0].to(self.target.device)
        return self.target.agree(logits if logits.dtype == torch.float64 else logits.float())

    @torch.inference_mode()
    def verify(self, root_id: int, tree: DraftTree, backend: Verify) -> Tensor:
        """The target's logits at the root and all nodes (n + 1, V); their rows are pending."""
        self._verified = self.target.verify(self.cache, root_id, tree, backend)
        return self._verified.logits

    @torch.inference_mode()
    def commit(self, ids: Sequence[int], rows: Sequence[int]) -> None:
        """Keep the pending ``rows`` (a path from row 0), whose tokens are ``ids``, and drop the others."""
        assert self._verified is not None
        path = torch.tensor(rows, device=self.target.device)
        self.cache.commit(path)
        self.path = path
        self.kept = self.accepted_features(self._verified.features, path)
        self._features.append(self.kept)
        self._verified = None
        self.ids += ids

    def accepted_features(self, features: Tensor, path: Tensor) -> Tensor:
        """Of a pass's features (R, F), those of the rows of ``path``, for the drafter."""
        return features[path]

    def take_back(self, features: Tensor, ids: list[int]) -> None:
        """The text went on elsewhere, in these buffers: ``ids`` are all tokens the target's cache holds, and
        ``features`` (rows, F) those of the last ones that the drafter's context lacks."""
        self.ids = ids
        self._features = [features] if len(features) else []
        if self.context is not None:
            self.context.length = len(ids) - len(features)

    @torch.inference_mode()
    def waiting_features(self, rows: int) -> Tensor | None:
        """Copies of those of the last ``rows`` tokens that wait for the drafter; None when none do."""
        pieces: list[Tensor] = []
        for piece in reversed(self._features):
            if rows <= 0:
                break
            pieces.append(piece[-rows:])
            rows -= len(piece)
        return torch.cat(pieces[::-1]) if pieces else None

    @torch.inference_mode()
    def hand_over(self, keep: int = 0) -> None:
        """Give the drafter the features of all tokens committed since it last drafted.

        Args:
            keep: this many of the last passes' go on waiting.
        """
        handed = self._features[: max(0, len(self._features) - keep)]
        if self.drafter is not None and self.context is not None and handed:
            self.drafter.extend(self.context, torch.cat(handed))
        del self._features[: len(handed)]
