"""Recordings in blocks: gzip'd JSON Lines of which each part can be read alone. Imports no torch.

A recording is a chain of gzip members (RFC 1952), so ``zcat`` shows its events as plain lines. Each member
is a block: some events, with a ``tokens`` event that spells all their ids. Its header's extra field
(subfield ``DT``) says how long the member is and what it holds, so that following the headers finds any round
without unpacking what lies before it. What a killed writer leaves is whole up to the last block.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import BinaryIO, NamedTuple

from engine.errors import EngineError

LEVEL = 4
"""Of the compression: 0.3 ms for a round of 256 nodes; the levels above take 1 ms and save 5 %."""
MAX_BLOCK_BYTES = 128 * 2**20
"""Of unpacked text. More is no block: a full one of 1024 nodes with all details has a quarter of that."""

_PREFIX = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x10\x00DT\x0c\x00"
"""gzip, deflate, an extra field, no time, unknown system; 16 bytes of it: the subfield ``DT`` of 12 bytes."""
_HEAD = struct.Struct("<16sIHHI")
"""The prefix, then what is ours: bytes of the member, its events and rounds, the tokens these committed."""
_TAIL = struct.Struct("<II")
"""CRC-32 and length of the unpacked text."""


class Block(NamedTuple):
    """Where a block is, and what it holds. ``first_round`` counts from 0 through the whole file."""

    offset: int
    size: int
    events: int
    first_round: int
    rounds: int
    tokens: int


def encode_block(lines: Iterable[bytes], *, rounds: int, tokens: int) -> bytes:
    """A gzip member of encoded events. ``tokens``: how many its rounds committed."""
    lines = list(lines)
    text = b"".join(line + b"\n" for line in lines)
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(text) + deflate.flush()
    size = _HEAD.size + len(body) + _TAIL.size
    head = _HEAD.pack(_PREFIX, size, len(lines), rounds, tokens)
    return head + body + _TAIL.pack(zlib.crc32(text), len(text))


def is_gzip(head: bytes) -> bool:
    """Whether a file that begins like this is packed; an unpacked trace never begins so."""
    return head.startswith(_PREFIX[:2])


def find_blocks(file: BinaryIO) -> tuple[list[Block], bool]:
    """Follow the headers through a file; also whether it ends inside a block.

    Raises:
        EngineError: ``bad_trace`` where something else than a block begins.
        OSError: as the file's.
    """
    end = file.seek(0, 2)
    blocks: list[Block] = []
    offset = first_round = 0
    while offset < end:
        file.seek(offset)
        head = file.read(_HEAD.size)
        if not head.startswith(_PREFIX[: len(head)]):
            raise _no_block(len(blocks))
        if len(head) < _HEAD.size:
            return blocks, True
        _, size, events, rounds, tokens = _HEAD.unpack(head)
        if size <= _HEAD.size + _TAIL.size or rounds > events:
            raise _no_block(len(blocks))
        if offset + size > end:
            return blocks, True
        blocks.append(Block(offset, size, events, first_round, rounds, tokens))
        offset += size
        first_round += rounds
    return blocks, False


def read_block(file: BinaryIO, block: Block) -> list[bytes]:
    """The lines of a block, without their line breaks.

    Raises:
        EngineError: ``bad_trace`` if its bytes are damaged.
        OSError: as the file's.
    """
    file.seek(block.offset)
    member = file.read(block.size)
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        text = inflate.decompress(member[_HEAD.size : -_TAIL.size], MAX_BLOCK_BYTES)
    except zlib.error as error:
        raise _damaged(block, str(error)) from error
    if not inflate.eof or inflate.unused_data:
        raise _damaged(block, "it does not end where its header says")
    if _TAIL.unpack(member[-_TAIL.size :]) != (zlib.crc32(text), len(text)):
        raise _damaged(block, "its checksum is another")
    *lines, after = text.split(b"\n")
    if len(lines) != block.events or after:
        raise _damaged(block, f"it has {len(lines)} events, not {block.events}")
    return lines


def _no_block(number: int) -> EngineError:
    if number:
        message = f"The recording is broken behind block {number}."
        return EngineError("bad_trace", message, "The file was changed after it was written.")
    return EngineError(
        "bad_trace",
        "The file is packed, but not by ddtree-tui.",
        "If it is a trace, unpack it first, for example with gunzip.",
    )


def _damaged(block: Block, detail: str) -> EngineError:
    rounds = f"rounds {block.first_round + 1} to {block.first_round + block.rounds}"
    where = f"where {rounds} are" if block.rounds else f"at byte {block.offset}"
    return EngineError(
        "bad_trace",
        f"The recording is damaged {where}.",
        "The file was changed after it was written; copy it again if there is another copy.",
        detail,
    )
