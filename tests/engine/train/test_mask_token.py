"""The token for empty slots is inside the embedding and in no text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_folders import TEMPLATE, write_tokenizer

from engine.codec import Codec
from engine.errors import EngineError
from engine.train.mask_token import choose_mask_id


def codec(folder: Path, rows: int | None = None, template: str | None = TEMPLATE) -> Codec:
    write_tokenizer(folder, template=template)
    return Codec.from_folder(folder, vocab_size=rows)


def test_a_padded_embedding_has_rows_to_spare(tmp_path: Path) -> None:
    entries = codec(tmp_path).entries
    assert choose_mask_id(codec(tmp_path, entries + 5)) == entries


def test_a_special_token_that_nothing_uses(tmp_path: Path) -> None:
    found = codec(tmp_path)
    chosen = choose_mask_id(found)
    used = found.encode_chat([{"role": "user", "content": "Hi"}], found.supports_thinking).ids
    assert chosen in found.special_ids
    assert chosen not in {*found.stop_ids, *used, found.think_open_id, found.think_close_id}


def test_a_token_named_mask_comes_first(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.add_special_tokens(["<|MASK|>", "<|spare|>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    found = Codec.from_folder(tmp_path, vocab_size=2000)
    assert choose_mask_id(found) == tokenizer.token_to_id("<|MASK|>")


def test_without_any_it_must_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = codec(tmp_path)
    monkeypatch.setattr(found, "special_ids", frozenset(found.stop_ids))
    with pytest.raises(EngineError, match="no special token to spare"):
        choose_mask_id(found)
