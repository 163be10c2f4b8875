"""The training text as token ids: drawn, tokenised as at inference, written in shards.

A prompt and its answer are tokenised apart, exactly as they meet at inference.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from engine.demo.chat import TURN_END
from engine.demo.conversation import Conversation, sample_conversation
from engine.demo.tokenizer import load_tokenizer
from engine.train.corpus import Corpus

SHARD_TOKENS = 1_000_000
LONGEST = 384
_FORMAT = 1

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One conversation: ``ids`` and, for each, whether the model has to write it (``TURN_END`` included)."""

    ids: list[int]
    answer: list[bool]


def encode_conversation(tokenizer: Tokenizer, conversation: Conversation) -> Encoded:
    """Token ids of a conversation, each prompt continued and each reply tokenised by itself.

    Raises:
        ValueError: the tokenizer has no turn end, or a later prompt does not extend the text before it.
    """
    turn_end = tokenizer.token_to_id(TURN_END)
    if turn_end is None:
        raise ValueError(f"The tokenizer has no token {TURN_END}.")
    ids: list[int] = []
    answer: list[bool] = []
    written = ""
    for prompt, reply in conversation.turns():
        if not prompt.startswith(written):
            raise ValueError("A later prompt does not continue the conversation so far.")
        asked = tokenizer.encode(prompt[len(written) :], add_special_tokens=False).ids
        replied = [*tokenizer.encode(reply, add_special_tokens=False).ids, turn_end]
        ids += asked + replied
        answer += [False] * len(asked) + [True] * len(replied)
        written = prompt + reply + TURN_END
    return Encoded(ids, answer)


def conversations(tokenizer: Tokenizer, seed: int | str, longest: int = LONGEST) -> Iterator[Encoded]:
    """Endless training conversations of at most ``longest`` tokens, the same for the same seed."""
    rng = random.Random(f"corpus {seed}")
    while True:
        encoded = encode_conversation(tokenizer, sample_conversation(rng))
        if len(encoded.ids) <= longest:
            yield encoded


def _write_shard(tokenizer_folder: str, path: str, seed: str, tokens: int) -> int:
    """Draw one shard and write it whole or not at all; returns its number of tokens."""
    tokenizer = load_tokenizer(Path(tokenizer_folder))
    ids: list[int] = []
    answer: list[bool] = []
    starts = [0]
    for encoded in conversations(tokenizer, seed):
        ids += encoded.ids
        answer += encoded.answer
        starts.append(len(ids))
        if len(ids) >= tokens:
            break
    tensors: dict[str, npt.NDArray[np.generic]] = {
        "ids": np.asarray(ids, dtype=np.uint16),
        "answer": np.asarray(answer, dtype=np.uint8),
        "starts": np.asarray(starts, dtype=np.int64),
    }
    part = f"{path}.{os.getpid()}.part"
    save_file(tensors, part)
    Path(part).replace(path)
    return len(ids)


def build_corpus(
    folder: Path,
    tokenizer_folder: Path,
    tokens: int,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    shard_tokens: int = SHARD_TOKENS,
) -> Path:
    """Write at least ``tokens`` tokens in shards of about ``shard_tokens``; shards already there are kept.

    The content depends on seed, tokenizer and shard size alone, not on the number of workers.
    ``progress(done, total)`` counts tokens. A cancelled build returns early and can be resumed.

    Raises:
        ValueError: the folder holds shards of another recipe.
    """
    folder.mkdir(parents=True, exist_ok=True)
    recipe = {
        "format": _FORMAT,
        "seed": seed,
        "shard_tokens": shard_tokens,
        "tokenizer": hashlib.sha256((tokenizer_folder / "tokenizer.json").read_bytes()).hexdigest(),
    }
    manifest = folder / "corpus.json"
    if manifest.exists() and json.loads(manifest.read_text(encoding="utf-8")) != recipe:
        raise ValueError(
            f"{folder} holds a corpus of another seed, tokenizer or shard size: delete it or "
            f"choose another folder."
        )
    manifest.write_text(json.dumps(recipe, indent=2) + "\n", encoding="utf-8")
    count = -(-tokens // shard_tokens)
    paths = [folder / f"train-{index:05d}.safetensors" for index in range(count)]
    missing = [index for index, path in enumerate(paths) if not path.exists()]
    done = (count - len(missing)) * shard_tokens
    total = count * shard_tokens
    if progress is not None:
        progress(done, total)
    stop = cancelled or (lambda: False)
    with ProcessPoolExecutor(max(1, workers), mp_context=multiprocessing.get_context("spawn")) as pool:
        pending = {
            pool.submit(
                _write_shard, str(tokenizer_folder), str(paths[index]), f"{seed} {index}", shard_tokens
            )
            for index in missing
        }
        while pending and not stop():
            finished, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in finished:
                future.result()
                done += shard_tokens
                if progress is not None:
                    progress(done, total)
        for future in pending:
            future.cancel()
    return folder


def load_corpus(folder: Path, shards: int | None = None) -> Corpus:
    """Read the first ``shards`` shards (default all) of a corpus.

    Raises:
        FileNotFoundError: the folder holds no shards.
    """
    paths = sorted(folder.glob("train-*.safetensors"))[:shards]
    if not paths:
        raise FileNotFoundError(f"{folder} holds no corpus shards.")
    ids, answer, starts, offset = [], [], [np.zeros(1, dtype=np.int64)], 0
    for path in paths:
        tensors = load_file(path)
        ids.append(tensors["ids"])
        answer.append(tensors["answer"].astype(np.bool_))
        starts.append(tensors["starts"][1:] + offset)
        offset += len(tensors["ids"])
    return Corpus(np.concatenate(ids), np.concatenate(answer), np.concatenate(starts))
