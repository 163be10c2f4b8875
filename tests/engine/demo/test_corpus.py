from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from engine.demo.chat import render_prompt
from engine.demo.conversation import example_conversation, prompt_messages, sample_conversation
from engine.demo.corpus import LONGEST, build_corpus, conversations, encode_conversation, load_corpus
from engine.demo.tasks import TASKS, sample_example


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_training_ids_meet_the_inference_prompt(demo_tokenizer: Tokenizer, task: str, thinking: bool) -> None:
    rng = random.Random(task)
    for _ in range(40):
        example = sample_example(rng, task)
        encoded = encode_conversation(demo_tokenizer, example_conversation(example, thinking))
        prompt = _ids(demo_tokenizer, render_prompt(prompt_messages(example, thinking), thinking))
        answer = f"{example.thinking}\n</think>\n\n{example.answer}" if thinking else example.answer_direct
        assert encoded.ids == [
            *prompt,
            *_ids(demo_tokenizer, answer),
            demo_tokenizer.token_to_id("<|im_end|>"),
        ]
        assert encoded.answer == [False] * len(prompt) + [True] * (len(encoded.ids) - len(prompt))


def test_every_turn_of_a_conversation_meets_its_inference_prompt(demo_tokenizer: Tokenizer) -> None:
    rng = random.Random(8)
    two_turns = systems = thoughts = 0
    for _ in range(400):
        conversation = sample_conversation(rng)
        encoded = encode_conversation(demo_tokenizer, conversation)
        turns = list(conversation.turns())
        for prompt, _ in turns:
            ids = _ids(demo_tokenizer, prompt)
            assert encoded.ids[: len(ids)] == ids
            assert encoded.answer[len(ids)]
            assert not encoded.answer[len(ids) - 1]
        assert (
            demo_tokenizer.decode(encoded.ids, skip_special_tokens=False) == "".join(turns[-1]) + "<|im_end|>"
        )
        two_turns += len(turns) == 2
        systems += conversation.messages[0]["role"] == "system"
        thoughts += conversation.thinking
    assert 20 < two_turns < 80
    assert 15 < systems < 60
    assert 150 < thoughts < 250


def test_conversations_are_short_and_the_same_for_a_seed(demo_tokenizer: Tokenizer) -> None:
    first = list(itertools.islice(conversations(demo_tokenizer, 1), 500))
    assert first == list(itertools.islice(conversations(demo_tokenizer, 1), 500))
    assert first != list(itertools.islice(conversations(demo_tokenizer, 2), 500))
    assert max(len(encoded.ids) for encoded in first) <= LONGEST


def _bytes(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("train-*"))]


def test_a_corpus_is_the_same_with_any_number_of_workers_and_after_a_kill(
    tmp_path: Path, demo_tokenizer_folder: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    done: list[tuple[int, int]] = []
    build_corpus(
        one,
        demo_tokenizer_folder,
        30_000,
        seed=4,
        workers=1,
        shard_tokens=10_000,
        progress=lambda *at: done.append(at),
    )
    assert [at for at, _ in done] == [0, 10_000, 20_000, 30_000]
    build_corpus(
        two,
        demo_tokenizer_folder,
        30_000,
        seed=4,
        workers=2,
        shard_tokens=10_000,
        cancelled=lambda: len(_files(two)) > 0,
    )
    (two / "train-00000.safetensors.123.part").write_bytes(b"half a shard")
    (two / "train-00001.safetensors").unlink(missing_ok=True)
    build_corpus(two, demo_tokenizer_folder, 30_000, seed=4, workers=2, shard_tokens=10_000)
    assert [p.read_bytes() for p in _files(one)] == [p.read_bytes() for p in _files(two)]


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("train-*.safetensors"))


def test_a_corpus_loads_as_it_was_drawn(
    tmp_path: Path, demo_tokenizer_folder: Path, demo_tokenizer: Tokenizer
) -> None:
    build_corpus(tmp_path, demo_tokenizer_folder, 8000, seed=6, shard_tokens=4000)
    corpus = load_corpus(tmp_path)
    assert corpus.ids.dtype == np.uint16
    assert corpus.starts[0] == 0
    assert corpus.starts[-1] == len(corpus.ids) == len(corpus.answer) >= 8000
    first = next(conversations(demo_tokenizer, "6 0"))
    assert corpus.ids[: corpus.starts[1]].tolist() == first.ids
    assert corpus.answer[: corpus.starts[1]].tolist() == first.answer
    begins = corpus.ids[corpus.starts[:-1]]
    assert set(begins.tolist()) == {demo_tokenizer.token_to_id("<|im_start|>")}
    assert len(load_corpus(tmp_path, shards=1).ids) < len(corpus.ids)


def test_shards_of_another_recipe_are_not_mixed_in(tmp_path: Path, demo_tokenizer_folder: Path) -> None:
    build_corpus(tmp_path, demo_tokenizer_folder, 2000, seed=6, shard_tokens=2000)
    with pytest.raises(ValueError, match="another seed"):
        build_corpus(tmp_path, demo_tokenizer_folder, 2000, seed=7, shard_tokens=2000)


def test_an_empty_folder_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_corpus(tmp_path)
