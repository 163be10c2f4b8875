"""How a tokenizer spells its tokens in bytes. Imports neither torch nor transformers.

A token of a byte-level or byte-fallback vocabulary need not be a whole character, so text is put together
from bytes. The rules are read from the decoder section of ``tokenizer.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import EngineError

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def byte_alphabet() -> dict[str, int]:
    """The printable stand-ins byte-level BPE (GPT-2) writes for the 256 bytes: character -> byte.

    Bytes that are visible Latin-1 characters stand for themselves; the rest are numbered from U+0100.
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = sorted(set(range(256)) - set(visible))
    return {chr(byte): byte for byte in visible} | {chr(256 + i): byte for i, byte in enumerate(hidden)}


_ALPHABET = byte_alphabet()


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """What turns a vocabulary entry into bytes.

    Attributes:
        byte_level: entries are written in ``byte_alphabet``.
        byte_fallback: entries ``<0xNN>`` are single bytes.
        replacements: (what an entry writes, what it means), in order; SentencePiece writes spaces as U+2581.
        strips_first_space: the space before the first word of a text is not part of it.
    """

    byte_level: bool = False
    byte_fallback: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    strips_first_space: bool = False

    @classmethod
    def from_decoder(cls, decoder: Mapping[str, Any] | None) -> Spelling:
        """Read the ``decoder`` section of ``tokenizer.json``.

        Raises:
            EngineError: ``tokenizer_unsupported`` for a decoder whose text is not the bytes of its tokens
                one after the other (WordPiece, for example).
        """
        if decoder is None:
            raise _unsupported("no decoder")
        steps = decoder["decoders"] if decoder.get("type") == "Sequence" else [decoder]
        byte_level = byte_fallback = strips = False
        replacements: list[tuple[str, str]] = []
        for step in steps:
            match step:
                case {"type": "ByteLevel"}:
                    byte_level = True
                case {"type": "ByteFallback"}:
                    byte_fallback = True
                case {"type": "Fuse"}:
                    pass
                case {"type": "Replace", "pattern": {"String": str(written)}, "content": str(meant)}:
                    replacements.append((written, meant))
                case {"type": "Strip", "content": " ", "start": 0 | 1 as start, "stop": 0}:
                    strips = strips or start == 1
                case {"type": "Metaspace", "replacement": str(written), **rest}:
                    replacements.append((written, " "))
                    strips = strips or rest.get("prepend_scheme", "always") != "never"
                case _:
                    raise _unsupported(f"a decoder step of type {step.get('type')}")
        return cls(
            byte_level=byte_level,
            byte_fallback=byte_fallback,
            replacements=tuple(replacements),
            strips_first_space=strips,
        )

    def bytes_of(self, entry: str) -> bytes:
        """The bytes a vocabulary entry stands for (not for added tokens, which stand for themselves)."""
        if self.byte_level:
            if all(character in _ALPHABET for character in entry):
                return bytes(_ALPHABET[character] for character in entry)
            return entry.encode()
        if self.byte_fallback and (match := _BYTE_TOKEN.fullmatch(entry)):
            return bytes([int(match[1], 16)])
        for written, meant in self.replacements:
            entry = entry.replace(written, meant)
        return entry.encode()


def _unsupported(what: str) -> EngineError:
    return EngineError(
        "tokenizer_unsupported",
        f"The target's tokenizer has {what}, so its tokens cannot be shown as bytes.",
        "Choose a target with a byte-level or SentencePiece BPE tokenizer.",
    )
