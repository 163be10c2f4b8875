"""The tokenizer that a GGUF file describes.

Made from the file's own lists, not by transformers: that forgets the digit splitting, which GGUF knows only
by a name, and some of its versions take the beginning-of-text token for the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.json_file import write_json

_CONTROL = 3
"""GGUF's type of a token that is no text."""


@dataclass(frozen=True)
class GgufTokenizer:
    """A byte-level BPE whose digits stand alone (``smollm`` in GGUF's words).

    Attributes:
        tokens: spelled in the byte-level alphabet, by id.
        merges: two tokens with a space between, the earliest first.
        control: ids of the tokens that are no text.
        ids: ``bos_token_id``, ``eos_token_id``, ``pad_token_id``.
        chat_template: Jinja.
    """

    tokens: list[str]
    merges: list[str]
    control: list[int]
    ids: dict[str, int]
    context_length: int
    chat_template: str

    @classmethod
    def read(cls, path: Path) -> GgufTokenizer:
        """Read a file's metadata.

        Raises:
            ImportError: without the package gguf.
            ValueError: for a tokenizer of another kind, or none.
        """
        from gguf import GGUFReader

        fields = GGUFReader(path).fields

        def value(name: str) -> Any:
            if name not in fields:
                raise ValueError(f"no {name}")
            return fields[name].contents()

        kind = value("tokenizer.ggml.model"), value("tokenizer.ggml.pre")
        if kind != ("gpt2", "smollm"):
            raise ValueError(f"a tokenizer of kind {kind}")
        names = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
        types = value("tokenizer.ggml.token_type")
        return cls(
            tokens=value("tokenizer.ggml.tokens"),
            merges=value("tokenizer.ggml.merges"),
            control=[token_id for token_id, kind in enumerate(types) if kind == _CONTROL],
            ids={name: int(value(f"tokenizer.ggml.{short}_token_id")) for name, short in names.items()},
            context_length=int(value("llama.context_length")),
            chat_template=value("tokenizer.chat_template"),
        )

    def write(self, folder: Path) -> None:
        """``tokenizer.json``, its configuration, the chat template and the generation config."""
        from tokenizers import AddedToken, Tokenizer, decoders, models
        from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

        merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in self.merges)]
        tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(self.tokens)}, merges))
        tokenizer.pre_tokenizer = Sequence(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
        )
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.add_special_tokens(
            [AddedToken(self.tokens[i], special=True, normalized=False) for i in self.control]
        )
        tokenizer.save(str(folder / "tokenizer.json"))
        spelled = {name.removesuffix("_id"): self.tokens[token_id] for name, token_id in self.ids.items()}
        write_json(
            folder / "tokenizer_config.json",
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": self.context_length,
                **spelled,
            },
        )
        (folder / "chat_template.jinja").write_text(self.chat_template, encoding="utf-8")
        write_json(folder / "generation_config.json", self.ids)
