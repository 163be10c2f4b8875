"""Conversations put aside for others: what target and drafter remember of each, in main memory.

A turn of a conversation that was put aside goes on from there, as the next turn of the last one does: with
the same rows and states, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from engine.cache import Snapshot, TargetCache
from engine.drafter import DrafterContext

KeyValues = tuple[Tensor, Tensor]
"""Keys and values of one layer, (1, H, length, d) each."""


def usable(ids: list[int], snapshot: Snapshot | None, prompt_ids: Sequence[int]) -> int:
    """How many tokens of a prompt need no prefill where caches hold the text ``ids``.

    A recurrent state cannot be cropped, so only two points can be gone on from: the end of the text, and the
    snapshot. At least one token is left to prefill, for its logits.
    """
    for length in (len(ids), snapshot.length if snapshot else 0):
        if length < len(prompt_ids) and list(prompt_ids[:length]) == ids[:length]:
            return length
    return 0


@dataclass(frozen=True)
class Aside:
    """One conversation.

    Attributes:
        ids: its text, all of it in both caches.
        end, snapshot: the recurrent states there, and where the next turn may begin.
        rows: of the target's attention layers.
        context: of the drafter's layers; none without a drafter.
        devices: where the recurrent states belong, one per layer that has one.
    """

    ids: list[int]
    end: Snapshot
    snapshot: Snapshot | None
    rows: list[KeyValues]
    context: list[KeyValues]
    devices: list[torch.device]

    @classmethod
    def of(
        cls, ids: list[int], snapshot: Snapshot | None, cache: TargetCache, context: DrafterContext | None
    ) -> Aside:
        """What the caches hold, not copied yet: good until they change."""
        end = cache.snapshot()
        return cls(
            ids=list(ids),
            end=end,
            snapshot=snapshot,
            rows=[layer.committed() for layer in cache.key_values],
            context=context.rows() if context is not None else [],
            devices=[state.device for _, state in end.delta if state is not None],
        )

    @property
    def nbytes(self) -> int:
        """Of all its tensors."""
        return sum(tensor.nbytes for tensor in self._tensors())

    def copied(self) -> Aside:
        """In main memory. Recurrent states are never written in place: there a reference will do."""

        def copy(pair: KeyValues) -> KeyValues:
            keys, values = (tensor.to("cpu", copy=True) for tensor in pair)
            return keys, values

        cpu = [torch.device("cpu")] * len(self.devices)
        return replace(
            self,
            end=_moved(self.end, cpu),
            snapshot=_moved(self.snapshot, cpu) if self.snapshot else None,
            rows=[*map(copy, self.rows)],
            context=[*map(copy, self.context)],
        )

    def give_back(self, cache: TargetCache, context: DrafterContext | None) -> Snapshot | None:
        """Have the caches hold this text and no other; its snapshot, fit for them."""
        for layer, (keys, values) in zip(cache.key_values, self.rows, strict=True):
            layer.replace(keys, values)
        cache.restore(_moved(self.end, self.devices))
        if context is not None:
            context.replace(self.context)
        return _moved(self.snapshot, self.devices) if self.snapshot else None

    def _tensors(self) -> Iterator[Tensor]:
        for pair in (*self.rows, *self.context):
            yield from pair
        for snapshot in (self.end, self.snapshot):
            for state in snapshot.delta if snapshot else ():
                yield from (tensor for tensor in state if tensor is not None)


class Shelf:
    """What was put aside, within ``limit`` bytes; what was not asked for longest goes first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.nbytes = 0
        self._held: list[Aside] = []

    def __len__(self) -> int:
        return len(self._held)

    def put(self, aside: Aside) -> None:
        """Keep a copy, unless it is too large by itself."""
        size = aside.nbytes
        if size > self.limit:
            return
        while self.nbytes + size > self.limit:
            self.nbytes -= self._held.pop(0).nbytes
        self._held.append(aside.copied())
        self.nbytes += size

    def take(self, prompt_ids: Sequence[int], *, more_than: int) -> Aside | None:
        """Take out the one that spares a prompt the most prefill, if it spares more than so many tokens."""
        spared = [usable(aside.ids, aside.snapshot, prompt_ids) for aside in self._held]
        if max(spared, default=0) <= more_than:
            return None
        best = self._held.pop(spared.index(max(spared)))
        self.nbytes -= best.nbytes
        return best


def _moved(snapshot: Snapshot, devices: Sequence[torch.device]) -> Snapshot:
    """The same point, its states on these devices."""
    delta = tuple(
        (None if window is None else window.to(device), None if state is None else state.to(device))
        for (window, state), device in zip(snapshot.delta, devices, strict=True)
    )
    return Snapshot(snapshot.length, delta)
