from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from engine.errors import EngineError
from engine.spelling import Spelling, byte_alphabet

LLAMA = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)


def spelling_of(decoder: decoders.Decoder) -> Spelling:
    return Spelling.from_decoder(json.loads(decoder.__getstate__()))


def test_the_byte_alphabet_is_that_of_the_tokenizers_library() -> None:
    alphabet = byte_alphabet()
    assert sorted(alphabet.values()) == list(range(256))
    assert set(alphabet) == set(pre_tokenizers.ByteLevel.alphabet())
    # The byte each character stands for: encode every byte that is a character of its own.
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for code in range(0x20, 0x250):
        (written, _), *_ = split.pre_tokenize_str(chr(code))
        assert bytes(alphabet[character] for character in written) == chr(code).encode()


@pytest.mark.parametrize("text", ["Grüße, 世界", " a b", "\t\r\n\x00", "🏳️‍🌈"])
def test_byte_level_entries_spell_the_bytes_of_the_text(text: str) -> None:
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    spelling = spelling_of(decoders.ByteLevel())
    pieces = [spelling.bytes_of(piece) for piece, _ in split.pre_tokenize_str(text)]
    assert b"".join(pieces) == text.encode()
    assert not spelling.strips_first_space


def test_byte_level_entries_outside_the_alphabet_stand_for_themselves() -> None:
    assert spelling_of(decoders.ByteLevel()).bytes_of("a b") == b"a b"


def test_sentencepiece_entries_and_byte_tokens() -> None:
    spelling = spelling_of(LLAMA)
    assert spelling.bytes_of("▁the▁end") == b" the end"
    assert spelling.bytes_of("<0xE4>") == b"\xe4"
    assert spelling.bytes_of("<0xE4>x") == b"<0xE4>x"
    assert spelling.strips_first_space


def test_byte_tokens_are_ordinary_text_without_byte_fallback() -> None:
    assert spelling_of(decoders.Metaspace()).bytes_of("<0xE4>") == b"<0xE4>"


@pytest.mark.parametrize(("scheme", "strips"), [("always", True), ("first", True), ("never", False)])
def test_metaspace_says_whether_the_first_space_counts(scheme: str, strips: bool) -> None:
    decoder = decoders.Metaspace(replacement="▁", prepend_scheme=scheme)
    assert spelling_of(decoder).strips_first_space is strips
    tokenizer = Tokenizer(models.BPE({"▁a": 0, "▁b": 1}, []))
    tokenizer.decoder = decoder
    assert tokenizer.decode([0, 1]) == ("a b" if strips else " a b")


@pytest.mark.parametrize("decoder", [None, decoders.WordPiece(), decoders.CTC()])
def test_other_decoders_are_refused(decoder: decoders.Decoder | None) -> None:
    with pytest.raises(EngineError) as refused:
        Spelling.from_decoder(decoder and json.loads(decoder.__getstate__()))
    assert refused.value.kind == "tokenizer_unsupported"
