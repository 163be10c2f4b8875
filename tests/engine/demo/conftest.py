from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from engine.demo.tokenizer import build_tokenizer


@pytest.fixture(scope="session")
def demo_tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer trained on little text: the same rules as the shipped one, other merges."""
    folder = tmp_path_factory.mktemp("demo") / "tokenizer"
    build_tokenizer(folder, seed=3, conversations=2000)
    return folder


@pytest.fixture(scope="session")
def demo_tokenizer(demo_tokenizer_folder: Path) -> Tokenizer:
    return Tokenizer.from_file(str(demo_tokenizer_folder / "tokenizer.json"))
