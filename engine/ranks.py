"""The processes that hold the target together, each a part of every layer (tensor parallelism).

All ranks run the same loop over the same tokens. Whatever decides how it goes on is rank 0's: the drafter's
logits, the target's choices, the settings of a round and whether there is one. So no rank can drift from the
others by a rounding of its own. Rank 0 alone hears commands and reports; the others follow.

``torchrun`` starts the processes and ends them all when one fails. Where one is gone, the next exchange of
the others fails too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor

from engine.commands import COMMAND
from engine.errors import EngineError
from engine.model_shape import text_part
from engine.spread import require

ROUND, CANCELLED, ABORT = b"r", b"k", b"x"
"""What a message from rank 0 is about, its first byte; see also ``engine.commands``."""

COMPUTE_TIMEOUT = timedelta(minutes=5)
"""Of exchanges between layers, which all ranks reach within a round."""
CONTROL_TIMEOUT = timedelta(days=365)
"""Of waiting for rank 0, which waits for its user."""
ABORT_TIMEOUT = timedelta(seconds=10)

_joined: Ranks | None = None


class Ranks:
    """This process among the others.

    Attributes:
        rank: 0 leads.
        size: how many there are.
        device: this rank's own.
    """

    def __init__(self, rank: int, size: int, device: torch.device) -> None:
        self.rank, self.size, self.device = rank, size, device
        self._control = dist.new_group(backend="gloo", timeout=CONTROL_TIMEOUT)

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def agree(self, tensor: Tensor) -> Tensor:
        """Rank 0's values of a tensor that all ranks have, in the same shape."""
        values = tensor.clone(memory_format=torch.contiguous_format)
        dist.broadcast(values, src=0)
        return values

    def share(self, kind: bytes, content: bytes = b"") -> bytes:
        """Rank 0's content, in all ranks; only rank 0's argument counts.

        Raises:
            EngineError: ``aborted`` in the other ranks, when rank 0 gave up what was under way.
            RuntimeError: when rank 0 is gone, or is somewhere else in the loop.
        """
        if self.leads:
            self._broadcast(kind + content, CONTROL_TIMEOUT)
            return content
        message = self._broadcast(b"", CONTROL_TIMEOUT)
        if message[:1] == ABORT:
            raise EngineError("aborted", "The first process gave up what was under way.")
        if message[:1] != kind:
            raise RuntimeError(f"the ranks drifted apart: {message[:1]!r} instead of {kind!r}")
        return message[1:]

    def next_command(self) -> bytes:
        """Wait for rank 0's next command; what it gave up meanwhile is nothing to this rank any more."""
        while True:
            try:
                return self.share(COMMAND)
            except EngineError:
                continue

    def abort(self) -> None:
        """Tell the others, which wait for a command or for a round, that there will be no other round.

        Raises:
            RuntimeError: when they do not listen: they are in the middle of a pass, or gone.
        """
        self._broadcast(ABORT, ABORT_TIMEOUT)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Leave the block in all ranks at once, with an error in all of them if there is one in any.

        Raises:
            EngineError: another rank's; ``rank_failed`` for what was none there.
        """
        failed: Exception | None = None
        try:
            yield
        except Exception as error:
            failed = error
        failures = self._gather(_encode(failed, self.rank))
        if failed is not None and (self.leads or isinstance(failed, EngineError)):
            raise failed
        for failure in failures:
            if failure:
                raise EngineError(*msgspec.json.decode(failure, type=list[str])) from failed

    def _broadcast(self, message: bytes, timeout: timedelta) -> bytes:
        size = torch.tensor([len(message)])
        self._send(size, timeout)
        data = _to_tensor(message) if self.leads else torch.empty(int(size), dtype=torch.uint8)
        self._send(data, timeout)
        return bytes(data.tolist())

    def _gather(self, message: bytes) -> list[bytes]:
        """Every rank's message, in all ranks."""
        sizes = [torch.zeros(1, dtype=torch.long) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([len(message)]), group=self._control)
        longest = max(1, *(int(size) for size in sizes))
        padded = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        dist.all_gather(padded, _to_tensor(message.ljust(longest, b"\0")), group=self._control)
        return [bytes(data[: int(size)].tolist()) for data, size in zip(padded, sizes, strict=True)]

    def _send(self, tensor: Tensor, timeout: timedelta) -> None:
        work: Any = dist.broadcast(tensor, src=0, group=self._control, async_op=True)
        work.wait(timeout)


def join(size: int, device: str = "auto") -> Ranks:
    """Find the other processes that ``torchrun`` started; made once, and the same from then on.

    Args:
        size: how many there must be.
        device: ``auto`` or ``cuda`` (this process's own GPU), or ``cpu`` where there is no GPU.

    Raises:
        EngineError: ``not_under_torchrun``, ``no_gpu``, ``bad_setting``, ``missing_package``.
    """
    global _joined
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if size != world or not dist.is_available():
        raise EngineError(
            "not_under_torchrun",
            f"{size} processes are to hold the target, and there are {world}.",
            f"Start them with: ddtree-tui --tp {size}, or torchrun --nproc-per-node {size} -m ddtree_tui.",
        )
    require("accelerate", "loading a part of the target", "'ddtree-tui[large]'")
    if _joined is None:
        own = _own_device(device)
        # Each rank's GPU, so that what libraries put on "the" GPU lies there too.
        if own.type == "cuda":
            torch.cuda.set_device(own)
        if not dist.is_initialized():
            on_gpu = own.type == "cuda"
            dist.init_process_group(
                "nccl" if on_gpu else "gloo", timeout=COMPUTE_TIMEOUT, device_id=own if on_gpu else None
            )
        _joined = Ranks(dist.get_rank(), world, own)
    return _joined


def check_shares(config: Any, size: int) -> None:
    """Refuse a target that cannot be divided among ``size`` ranks.

    Args:
        config: the target's text config, as transformers reads it.

    Raises:
        EngineError: ``unsupported_tp``.
    """
    plan = getattr(config, "base_model_tp_plan", None) or {}
    if not any(rule.startswith("layers.") for rule in plan):
        raise EngineError(
            "unsupported_tp",
            f"transformers has no plan to divide the layers of a target of type {config.model_type}.",
            "Leave --tp away, or spread whole layers with --device-map auto.",
        )
    values = text_part(config.to_dict())
    for name in _DIVIDED:
        count = values.get(name) or 0
        if count % size:
            raise EngineError(
                "unsupported_tp",
                f"{size} processes cannot share the target evenly: its {name} is {count}.",
                "Choose a number for --tp that divides it.",
            )


_DIVIDED = (
    "num_key_value_heads",
    "num_attention_heads",
    "intermediate_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
    "linear_num_value_heads",
    "vocab_size",
)


def _own_device(device: str) -> torch.device:
    if not torch.cuda.is_available():
        if device not in ("auto", "cpu"):
            raise EngineError(
                "no_gpu", f"The device {device} was asked for, but torch sees no GPU.", "Use --device auto."
            )
        return torch.device("cpu")
    if device not in ("auto", "cuda"):
        raise EngineError(
            "bad_setting",
            f"With --tp the device cannot be {device}.",
            "Leave --device away: every process takes a GPU of its own.",
        )
    here, count = int(os.environ["LOCAL_WORLD_SIZE"]), torch.cuda.device_count()
    if here > count:
        raise EngineError(
            "no_gpu",
            f"There are {here} processes on this machine, and torch sees {count} GPU(s).",
            f"Choose --tp {count}, or less.",
        )
    return torch.device("cuda", int(os.environ["LOCAL_RANK"]))


def _encode(error: Exception | None, rank: int) -> bytes:
    if error is None:
        return b""
    if isinstance(error, EngineError):
        return msgspec.json.encode([error.kind, error.message, error.hint, error.detail])
    message = f"Process {rank} failed ({type(error).__name__})."
    return msgspec.json.encode(["rank_failed", message, "The log says more.", repr(error)])


def _to_tensor(message: bytes) -> Tensor:
    return torch.tensor(list(message), dtype=torch.uint8)
