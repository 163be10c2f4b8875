"""Recordings of runs: one file a run, in blocks (``engine.blocks``). Imports no torch.

A run is one answer, or one race. Its file holds ``loaded``, ``prefilled``, the rounds, and ``finished`` or
``failed``; of a race ``loaded``, ``racing``, and the same of every lane. Each block spells the ids it uses,
so any block can be shown without the others.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from engine.blocks import Block, encode_block, find_blocks, read_block
from engine.errors import EngineError
from engine.event_check import check_event
from engine.event_lines import decode_event, encode_event
from engine.events import (
    AnyEvent,
    Candidates,
    Checked,
    Divergence,
    Failed,
    Finished,
    Lane,
    Loaded,
    Piece,
    Prefilled,
    Racing,
    Round,
    Tokens,
)

BLOCK_ROUNDS = 32
BLOCK_BYTES = 4 * 2**20
"""A block is full at so many rounds or bytes of text, whichever comes first."""


class Announced:
    """How the ids announced so far are spelled."""

    def __init__(self) -> None:
        self._pieces: dict[str, str] = {}
        self._raw: dict[str, str] = {}
        self._special: set[int] = set()

    def learn(self, event: Tokens) -> None:
        """Take in what an event announces."""
        self._pieces.update(event.pieces)
        self._raw.update(event.raw)
        self._special.update(event.special)

    def of(self, ids: Iterable[int]) -> Tokens:
        """The announcement of ``ids``, as far as they are known."""
        keys = {token_id: str(token_id) for token_id in sorted(set(ids))}
        return Tokens(
            pieces={key: self._pieces[key] for key in keys.values() if key in self._pieces},
            raw={key: self._raw[key] for key in keys.values() if key in self._raw},
            special=[token_id for token_id in keys if token_id in self._special],
        )


class BlockBuilder:
    """Gathers the events of a run until they make a block."""

    def __init__(self, announced: Announced) -> None:
        self._announced = announced
        self._start()

    def _start(self) -> None:
        self._lines: list[bytes] = []
        self._ids: set[int] = set()
        self._bytes = self._rounds = self._tokens = 0
        self._plain = 0  # lines in front that use no ids

    @property
    def empty(self) -> bool:
        """Whether nothing is gathered."""
        return not self._lines

    @property
    def full(self) -> bool:
        """Whether the block is to be taken before more comes."""
        return self._rounds >= BLOCK_ROUNDS or self._bytes >= BLOCK_BYTES

    def add(self, event: AnyEvent) -> None:
        """Gather one more event; ``tokens`` are learned."""
        inner = own(event)
        if isinstance(inner, Tokens):
            self._announced.learn(inner)
            return
        line = encode_event(event)
        self._lines.append(line)
        self._bytes += len(line)
        self._ids.update(ids_of(event))
        self._plain += not self._ids
        if isinstance(inner, Round):
            self._rounds += 1
            self._tokens += inner.acceptance_length

    def take(self) -> bytes:
        """What is gathered, as a block: its ids are spelled before they are used. Begins a new one."""
        spelled = self._announced.of(self._ids)
        if spelled.pieces or spelled.raw:
            self._lines.insert(self._plain, encode_event(spelled))
        block = encode_block(self._lines, rounds=self._rounds, tokens=self._tokens)
        self._start()
        return block


class RunWriter:
    """Writes one run into a new file that only its owner can read.

    ``loaded`` and ``prefilled`` or ``racing`` are a block, then every ``BLOCK_ROUNDS`` rounds, then the end,
    of every lane in a block of its own: the first block and those without rounds say what the run was.

    Raises:
        OSError: from every method; after one the file ends with its last whole block, and is closed.
    """

    def __init__(self, path: Path, loaded: Loaded, announced: Announced) -> None:
        self.path = path
        self.size = 0
        self._builder = BlockBuilder(announced)
        self._builder.add(loaded)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd: int | None = os.open(path, flags, 0o600)

    @property
    def pending(self) -> bool:
        """Whether events wait for their block to be full."""
        return not self._builder.empty

    def write(self, event: AnyEvent) -> None:
        """Take one event."""
        ends = isinstance(own(event), Finished | Failed)
        if ends and not self._builder.empty:
            self.flush()
        self._builder.add(event)
        if ends or isinstance(event, Prefilled | Racing) or self._builder.full:
            self.flush()

    def flush(self) -> None:
        """Write what has been gathered."""
        if self._fd is None or self._builder.empty:
            return
        block = self._builder.take()
        try:
            rest = memoryview(block)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            self._close()
            raise
        self.size += len(block)

    def close(self) -> None:
        """Write what has been gathered, and end. Idempotent."""
        try:
            self.flush()
        finally:
            self._close()

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if self.size == 0:
                self.path.unlink(missing_ok=True)


class Recording:
    """A recorded run, open for reading.

    Attributes:
        blocks: its whole blocks, in order; their headers are not yet checked against what they hold.
        cut_short: whether there is the beginning of one more, as a killed run leaves it.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Follow the blocks of an open file.

        Raises:
            EngineError: ``bad_trace`` if it is no recording.
            OSError: as the file's.
        """
        self._file = file
        self.blocks, self.cut_short = find_blocks(file)

    @classmethod
    def open(cls, path: Path) -> Recording:
        """Open the recording at ``path``; raises as the constructor."""
        file = path.open("rb")
        try:
            return cls(file)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the file. Idempotent."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def rounds(self) -> int:
        """How many rounds there are."""
        return self.blocks[-1].first_round + self.blocks[-1].rounds if self.blocks else 0

    @property
    def tokens(self) -> int:
        """How many tokens the rounds have committed."""
        return sum(block.tokens for block in self.blocks)

    def block_of(self, round_number: int) -> Block:
        """The block that holds a round, counted from 0.

        Raises:
            IndexError: if there is no such round.
        """
        number = range(self.rounds)[round_number]
        return self.blocks[bisect_right(self.blocks, number, key=lambda block: block.first_round) - 1]

    def events(self, block: Block) -> list[AnyEvent]:
        """The events of one block; those of unknown types are left out.

        Raises:
            EngineError: ``bad_trace`` if the block is damaged, ``trace_version`` if another schema wrote it.
            OSError: as the file's.
        """
        events = [checked_event(line) for line in read_block(self._file, block)]
        known = [event for event in events if event is not None]
        if sum(isinstance(own(event), Round) for event in known) != block.rounds:
            raise EngineError("bad_trace", "A block of the recording holds other rounds than it says.")
        return known

    def round(self, round_number: int) -> tuple[list[AnyEvent], Round]:
        """A round, counted from 0, and the events of its block, which spell its tokens.

        Raises:
            IndexError, EngineError, OSError: as ``block_of`` and ``events``.
        """
        block = self.block_of(round_number)
        events = self.events(block)
        rounds = [inner for inner in map(own, events) if isinstance(inner, Round)]
        return events, rounds[range(self.rounds)[round_number] - block.first_round]


def checked_event(line: bytes) -> AnyEvent | None:
    """One event that agrees with itself; None for a type this version does not know.

    Raises:
        EngineError: ``bad_trace``, ``trace_version``.
    """
    event = decode_event(line)
    if event is not None:
        check_event(event)
    return event


def own(event: AnyEvent) -> AnyEvent:
    """What happened in a lane of a race; any other event itself."""
    return event.event if isinstance(event, Lane) else event


def ids_of(event: AnyEvent) -> set[int]:
    """All token ids an event mentions."""
    match event:
        case Lane():
            return ids_of(event.event)
        case Prefilled():
            best = event.first_topk.ids if event.first_topk is not None else []
            return {*event.prompt_ids, event.first_id, *(token_id for row in best for token_id in row)}
        case Piece():
            return {event.id}
        case Finished():
            return set(event.output_ids)
        case Divergence():
            return {event.id, event.target_id}
        case Checked():
            return ids_of(event.first) if event.first is not None else set()
        case Round():
            ids = {event.root_id, *event.nodes.ids, *event.target.ids, *event.committed_ids}
            if event.bonus_id is not None:
                ids.add(event.bonus_id)
            if event.miss is not None:
                ids.add(event.miss.id)
            for listed in (event.drafter_topk, event.target_topk):
                if isinstance(listed, Candidates):
                    ids.update(*listed.ids)
            return ids
    return set()
