"""Builds the demo's tokenizer: a small byte-level BPE in which digits and line breaks stand alone."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from engine.demo.chat import END_OF_TEXT, MASK, THINK_CLOSE, THINK_OPEN, TURN_END, TURN_START, template_text
from engine.demo.conversation import sample_conversation

VOCAB_SIZE = 2048
MAX_LENGTH = 2048

CONTROL_TOKENS = (END_OF_TEXT, TURN_START, TURN_END, MASK)
THINK_TOKENS = (THINK_OPEN, THINK_CLOSE)

# Every line break is a piece of its own, so no token spans the border between a prompt and its answer:
# text tokenised apart or as a whole gives the same ids. A digit never shares a token with anything.
_PIECES = r"\n|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|[^\S\n]+(?=\S)|[^\S\n]+"


def _texts(seed: int, conversations: int, progress: Callable[[int, int], None] | None) -> Iterator[str]:
    rng = random.Random(f"tokenizer {seed}")
    for index in range(conversations):
        for prompt, reply in sample_conversation(rng).turns():
            yield prompt
            yield reply
        if progress is not None and index % 500 == 0:
            progress(index, conversations)


def train_tokenizer(
    seed: int = 0,
    conversations: int = 30_000,
    vocab_size: int = VOCAB_SIZE,
    progress: Callable[[int, int], None] | None = None,
) -> Tokenizer:
    """Train on freshly drawn conversations. All 256 bytes are in the vocabulary; control tokens come last.

    Raises:
        ValueError: the vocabulary has no room for 256 bytes and the control tokens.
    """
    added = len(CONTROL_TOKENS) + len(THINK_TOKENS)
    if vocab_size < 256 + added:
        raise ValueError(f"A byte-level vocabulary needs at least {256 + added} entries, not {vocab_size}.")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - added,
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    marker_free = (_without_markers(text) for text in _texts(seed, conversations, progress))
    tokenizer.train_from_iterator(marker_free, trainer)
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in CONTROL_TOKENS]
    )
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in THINK_TOKENS])
    return tokenizer


def _without_markers(text: str) -> str:
    for marker in (*CONTROL_TOKENS, *THINK_TOKENS):
        text = text.replace(marker, "\n")
    return text


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write ``tokenizer.json``, its config and ``chat_template.jinja`` as transformers reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": TURN_END,
        "pad_token": END_OF_TEXT,
        "unk_token": None,
        "mask_token": MASK,
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": MAX_LENGTH,
        "chat_template": template_text(),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(template_text(), encoding="utf-8")


def build_tokenizer(
    folder: Path,
    seed: int = 0,
    conversations: int = 30_000,
    progress: Callable[[int, int], None] | None = None,
) -> Tokenizer:
    """Train and save; a tokenizer already in the folder is loaded instead (delete it to train anew)."""
    if (folder / "tokenizer_config.json").exists():
        return load_tokenizer(folder)
    tokenizer = train_tokenizer(seed, conversations, progress=progress)
    save_tokenizer(tokenizer, folder)
    return tokenizer


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder, as ``tokenizers`` object."""
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
