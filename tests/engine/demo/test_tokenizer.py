from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers
from transformers import AutoTokenizer

from engine.demo.tokenizer import CONTROL_TOKENS, THINK_TOKENS, VOCAB_SIZE, build_tokenizer, train_tokenizer

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


def test_every_byte_and_every_marker_is_one_token(demo_tokenizer: Tokenizer) -> None:
    assert demo_tokenizer.get_vocab_size() == VOCAB_SIZE
    assert all(demo_tokenizer.token_to_id(byte) is not None for byte in pre_tokenizers.ByteLevel.alphabet())
    markers = [_ids(demo_tokenizer, marker) for marker in (*CONTROL_TOKENS, *THINK_TOKENS)]
    assert markers == [[VOCAB_SIZE - 6 + index] for index in range(6)]


@given(text=TEXT)
@settings(max_examples=300)
def test_any_text_comes_back(demo_tokenizer: Tokenizer, text: str) -> None:
    assert demo_tokenizer.decode(_ids(demo_tokenizer, text), skip_special_tokens=False) == text


@pytest.mark.parametrize(
    "text",
    ["你好，世界", "👩‍👩‍👧 ok", "tab\there\r\n\n  end ", "\x00\x1b[0m", "naïve café", "<think> x </think>"],
)
def test_unusual_text_comes_back(demo_tokenizer: Tokenizer, text: str) -> None:
    assert demo_tokenizer.decode(_ids(demo_tokenizer, text), skip_special_tokens=False) == text


@given(text=TEXT, number=st.integers(0, 10**9))
def test_digits_and_line_breaks_stand_alone(demo_tokenizer: Tokenizer, text: str, number: int) -> None:
    pieces = demo_tokenizer.encode(f"{text}\n{number}\n\n{text}", add_special_tokens=False).tokens
    for piece in pieces:
        assert len(piece) == 1 or not any(c in "0123456789Ċ" for c in piece)


@given(prompt=TEXT, reply=TEXT)
def test_a_border_at_a_line_break_changes_no_token(
    demo_tokenizer: Tokenizer, prompt: str, reply: str
) -> None:
    """What the chat template relies on: prompts end in a line break."""
    head = f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert _ids(demo_tokenizer, head) + _ids(demo_tokenizer, reply) == _ids(demo_tokenizer, head + reply)


def test_training_is_the_same_for_a_seed() -> None:
    first, again = (train_tokenizer(seed=1, conversations=300, vocab_size=700) for _ in range(2))
    assert first.to_str() == again.to_str()
    assert first.to_str() != train_tokenizer(seed=2, conversations=300, vocab_size=700).to_str()


def test_transformers_loads_the_folder(demo_tokenizer_folder: Path, demo_tokenizer: Tokenizer) -> None:
    loaded = AutoTokenizer.from_pretrained(demo_tokenizer_folder)
    assert (loaded.eos_token, loaded.pad_token, loaded.mask_token) == (
        "<|im_end|>",
        "<|endoftext|>",
        "<|mask|>",
    )
    text = "Sort [3, 1, 2] — bitte! 你好\n"
    assert loaded.encode(text) == _ids(demo_tokenizer, text)
    assert loaded.decode(loaded.encode(text)) == text
    assert not {"<think>", "</think>"} & set(loaded.all_special_tokens)


def test_a_tokenizer_that_is_there_is_kept(demo_tokenizer_folder: Path) -> None:
    before = (demo_tokenizer_folder / "tokenizer.json").read_bytes()
    build_tokenizer(demo_tokenizer_folder, seed=99, conversations=10)
    assert (demo_tokenizer_folder / "tokenizer.json").read_bytes() == before


def test_a_vocabulary_too_small_for_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 262"):
        train_tokenizer(conversations=1, vocab_size=100)
