"""What a round on the device reads and writes: lengths, root, settings, features, all as tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.kernels.walk import Text
from engine.room import MAX_PENDING
from engine.sampling import Sampler

MAX_STOP_IDS = 16

NO_STOP = -1


class StaticState:
    """Tensors at fixed addresses that outlive a round.

    Attributes:
        length: int32 (), committed tokens in the caches, which is the root's position.
        root_id: int64 (1,).
        remaining: int64 (), tokens that may still be added to the text.
        done: bool (), the text has ended: further rounds change nothing.
        budget: int64 (), nodes wanted, at most those of the graph's bucket.
        stop_ids: int64 (MAX_STOP_IDS,), padded with -1.
        features: (``MAX_PENDING`` + B, F), target features of committed tokens, for the drafter to take over.
        feature_rows: int64 (), how many of them there are.
        text: those of them that a walk reads and the end of a round moves on.
    """

    def __init__(self, device: torch.device, block_size: int, width: int, dtype: torch.dtype) -> None:
        def number(value: float, kind: torch.dtype = torch.int64) -> Tensor:
            return torch.tensor(value, dtype=kind, device=device)

        self.device = device
        self.block_size = block_size
        self.length = number(0, torch.int32)
        self.root_id = torch.zeros(1, dtype=torch.int64, device=device)
        self.remaining = number(0)
        self.done = number(0, torch.bool)
        self.budget = number(1)
        self.stop_ids = torch.full((MAX_STOP_IDS,), NO_STOP, device=device)
        self.features = torch.zeros(MAX_PENDING + block_size, width, dtype=dtype, device=device)
        self.feature_rows = number(0)
        self.text = Text(
            self.length, self.root_id, self.remaining, self.done, self.feature_rows, self.stop_ids
        )
        self.sampler = Sampler(
            temperature=number(1.0, torch.float64),
            top_p=number(1.0, torch.float64),
            top_k=number(0),
            min_p=number(0.0, torch.float64),
            seed=number(0),
        )

    def set_sampler(self, sampler: Sampler) -> None:
        """Copy sampling settings to the device; greedy ones have a graph of their own."""
        if not sampler.greedy:
            for name in ("temperature", "top_p", "top_k", "min_p", "seed"):
                getattr(self.sampler, name).fill_(getattr(sampler, name))

    def set_stop_ids(self, ids: list[int]) -> None:
        """Copy the ids that end a text to the device.

        Raises:
            ValueError: there are more than ``MAX_STOP_IDS``.
        """
        if len(ids) > MAX_STOP_IDS:
            raise ValueError(f"{len(ids)} stop ids, room for {MAX_STOP_IDS}")
        self.stop_ids.fill_(NO_STOP)
        self.stop_ids[: len(ids)] = torch.tensor(ids, device=self.device)
