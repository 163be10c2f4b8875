"""The target's own replies to training prompts: what the drafter has to foresee.

Greedy text is what decoding at temperature 0 writes, so most batches are greedy; every few are sampled, as
the drafter must also help above temperature 0.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import Qwen3_5ForCausalLM

from engine.demo.recipe import Recipe
from engine.train.corpus import Corpus, answered, joined, last_prompt, load_corpus, save_corpus
from engine.train.generate_batch import generate_batch
from engine.train.progress import Progress


def load_replies(folder: Path) -> Corpus:
    """Everything that was written; only the last reply of each conversation is marked as written."""
    return joined([load_corpus(path) for path in sorted(folder.glob("replies-*.npz"))])


def write_replies(model: Qwen3_5ForCausalLM, corpus: Corpus, recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Let the target answer prompts of the corpus, batch by batch into files; those already there count.

    Returns:
        Facts for the report.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_float32_matmul_precision("high")
    progress = Progress("replies")
    started, tokens, conversations = time.monotonic(), 0, 0
    for number, rows in enumerate(_groups(corpus, recipe)):
        path = folder / f"replies-{number:05d}.npz"
        fraction = max(tokens / recipe.reply_tokens, (time.monotonic() - started) / recipe.reply_seconds)
        if fraction >= 1 and not path.is_file() and tokens:
            break
        if not path.is_file():
            sampled = number % recipe.sampled_every == recipe.sampled_every - 1
            temperature = recipe.sampled_temperature if sampled else 0.0
            save_corpus(path, _write(model, corpus, rows, recipe, temperature, number))
        part = load_corpus(path)
        tokens, conversations = tokens + int(part.answer.sum()), conversations + len(part.starts) - 1
        rate = tokens / (time.monotonic() - started)
        progress.update(min(fraction, 0.99), f"{tokens:,} tokens  {rate:,.0f} tokens/s")
    progress.update(1.0, f"{tokens:,} tokens")
    return {
        "reply_tokens": tokens,
        "conversations": conversations,
        "seconds": round(time.monotonic() - started, 1),
    }


def _write(
    model: Qwen3_5ForCausalLM,
    corpus: Corpus,
    rows: npt.NDArray[np.int64],
    recipe: Recipe,
    temperature: float,
    number: int,
) -> Corpus:
    prompts = [last_prompt(corpus, row) for row in rows]
    replies = generate_batch(
        model, prompts, recipe.reply_limit, temperature=temperature, seed=recipe.seed + number
    )
    return answered(prompts, replies)


def _groups(corpus: Corpus, recipe: Recipe) -> list[npt.NDArray[np.int64]]:
    """Batches of conversations, in random order, whose replies are about equally long in the corpus: a batch
    takes as long as its longest reply."""
    rng = np.random.default_rng([recipe.seed, 1])
    lengths = np.diff(corpus.starts)
    rows = rng.permutation(np.flatnonzero(lengths <= recipe.max_length))
    rows = rows[: max(recipe.reply_batch, 4 * recipe.reply_tokens // int(lengths.mean() + 1))]
    marked = np.concatenate([[0], np.cumsum(corpus.answer)])
    amounts = marked[corpus.starts[rows + 1]] - marked[corpus.starts[rows]]
    rows = rows[np.argsort(amounts, kind="stable")]
    groups = [rows[i : i + recipe.reply_batch] for i in range(0, len(rows), recipe.reply_batch)]
    return [groups[i] for i in rng.permutation(len(groups))]
