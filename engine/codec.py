"""Conversations to ids and ids to bytes, as the target's own tokenizer and chat template have it.

The template is rendered by transformers' ``apply_chat_template`` itself (sandboxed jinja2); the tokenizer is
the folder's ``tokenizer.json`` as it stands.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from jinja2 import TemplateSyntaxError
from transformers import PreTrainedTokenizerFast

from engine.conversation import check_messages, check_text, empty_prompt
from engine.errors import EngineError
from engine.events import Tokens
from engine.json_file import read_json
from engine.settings import Message
from engine.spelling import Spelling
from engine.text_stream import THINK_CLOSE, THINK_OPEN

_PROBE = "ddtree"


@dataclass(frozen=True, kw_only=True)
class EncodedPrompt:
    """A conversation ready for the target.

    Attributes:
        ids: what the target reads.
        text: the same, rendered.
        stable: how many leading ids are also those of the conversation without the generation prompt.
            The next turn's prompt begins with them, so a snapshot of the caches there pays; 0 when the
            template renders something else entirely.
        in_thinking: the prompt ends inside an open ``<think>``.
        plain: it is a text to be gone on with, with no chat template around it.
    """

    ids: list[int]
    text: str
    stable: int
    in_thinking: bool
    plain: bool = False


class Codec:
    """One target's tokenizer.

    Attributes:
        vocab_size: rows of the target's embedding; ids the tokenizer does not name are shown as ``⟨id N⟩``.
        stop_ids: ids that end an answer.
        special_ids: control tokens (think tags included), which are not text.
        think_open_id, think_close_id: ids of ``<think>`` and ``</think>`` where both are single tokens;
            without them thinking cannot be told from the answer.
        has_template: whether there is a chat template; without one a prompt is the last user message as
            plain text (a base model).
        supports_thinking: whether ``enable_thinking`` changes what the template renders.
        strips_first_space: whether a text's first space is layout (SentencePiece).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        *,
        vocab_size: int | None = None,
        stop_ids: Iterable[int] = (),
    ) -> None:
        self._tokenizer = tokenizer
        backend = tokenizer.backend_tokenizer
        decoder = backend.decoder
        self._spelling = Spelling.from_decoder(decoder and json.loads(decoder.__getstate__()))
        self._bytes: dict[int, bytes] = {}
        self._added = {int(token_id): token for token_id, token in tokenizer.added_tokens_decoder.items()}
        self.entries = max(backend.get_vocab_size(with_added_tokens=True), *(i + 1 for i in self._added), 0)
        self.vocab_size = self.entries if vocab_size is None else vocab_size
        opened, closed = backend.token_to_id(THINK_OPEN), backend.token_to_id(THINK_CLOSE)
        both = opened is not None and closed is not None
        self.think_open_id: int | None = opened if both else None
        self.think_close_id: int | None = closed if both else None
        self.special_ids = self._find_special_ids()
        self.strips_first_space = self._spelling.strips_first_space
        self.has_template = bool(tokenizer.chat_template)
        self.supports_thinking = self._find_thinking_support()
        self.stop_ids = frozenset(stop_ids) | self._find_stop_ids()

    @classmethod
    def from_folder(cls, folder: Path, *, vocab_size: int | None = None) -> Codec:
        """Read ``tokenizer.json``, its configuration, the chat template and the stop ids of a model folder.

        Args:
            vocab_size: rows of the target's embedding; None takes the tokenizer's size.

        Raises:
            EngineError: ``tokenizer_missing``, ``bad_tokenizer``, ``tokenizer_unsupported``,
                ``tokenizer_mismatch`` when the tokenizer has more entries than the embedding rows,
                ``bad_json``.
        """
        if not (folder / "tokenizer.json").is_file():
            raise EngineError(
                "tokenizer_missing",
                f"The model folder {folder} has no tokenizer.json.",
                "Copy tokenizer.json and tokenizer_config.json of the same model into it.",
            )
        try:
            tokenizer = PreTrainedTokenizerFast.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
        except Exception as error:  # the tokenizers library raises bare Exception for a broken file
            raise EngineError(
                "bad_tokenizer",
                f"The tokenizer in {folder} cannot be read.",
                "Copy tokenizer.json and tokenizer_config.json of the same model into it again.",
                repr(error),
            ) from error
        codec = cls(tokenizer, vocab_size=vocab_size, stop_ids=_configured_stop_ids(folder))
        if codec.entries > codec.vocab_size:
            raise EngineError(
                "tokenizer_mismatch",
                f"The tokenizer in {folder} has {codec.entries} entries, but the target's embedding has only "
                f"{codec.vocab_size} rows.",
                "Use the tokenizer that belongs to this target.",
            )
        return codec

    def encode_chat(
        self, messages: Sequence[Message], thinking: bool = False, *, context: int | None = None
    ) -> EncodedPrompt:
        """Render the conversation up to where the target goes on, and tokenise it.

        Args:
            context: tokens that the target can read; a text that has more for certain is not tokenised.

        Raises:
            EngineError: ``empty_prompt``, ``bad_prompt`` for what is no text, ``bad_setting``,
                ``thinking_unsupported``, ``template_refused`` with the template's own words,
                ``bad_template`` for one that is not Jinja, ``prompt_too_long``.
        """
        self._check(messages, thinking)
        if not self.has_template:
            text = next(message["content"] for message in reversed(messages) if message["role"] == "user")
            return self.encode_plain(text, context=context)
        text = self._render(messages, thinking, generation_prompt=True)
        self._check_bound(text, context)
        shared = self._render(messages, thinking, generation_prompt=False)
        ids, shared_ids = self._encode(text), self._encode(shared)
        _check_not_empty(ids)
        tail = text.removeprefix(shared)
        if tail == text:  # the template renders something else: what was said is in it, and opens nothing
            tail = text.rpartition(messages[-1]["content"].strip())[2]
        return EncodedPrompt(
            ids=ids,
            text=text,
            stable=len(shared_ids) if ids[: len(shared_ids)] == shared_ids else 0,
            in_thinking=self.think_open_id is not None and tail.rfind(THINK_OPEN) > tail.rfind(THINK_CLOSE),
        )

    def encode_plain(self, text: str, *, context: int | None = None) -> EncodedPrompt:
        """Tokenise a text to be gone on with, with no chat template around it.

        Raises:
            EngineError: ``empty_prompt``, ``bad_prompt`` for half a character, ``prompt_too_long``.
        """
        check_text(text)
        self._check_bound(text, context)
        ids = cast("list[int]", self._tokenizer(text)["input_ids"])
        _check_not_empty(ids)
        opened = self.think_open_id is not None and text.rstrip().endswith(THINK_OPEN)
        return EncodedPrompt(ids=ids, text=text, stable=len(ids), in_thinking=opened, plain=True)

    @property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer as it was loaded, for those who check what comes of it."""
        return self._tokenizer

    def tokenise(self, text: str) -> list[int]:
        """The ids of a text, nothing added, without what transformers does around a batch."""
        return list(self._tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)

    def token_bytes(self, token_id: int) -> bytes:
        """The token's bytes; special tokens as they are spelled."""
        known = self._bytes.get(token_id)
        if known is None:
            known = self._bytes[token_id] = self._spell(token_id)
        return known

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ``ids``, one after the other, special tokens as they are spelled."""
        return b"".join(self.token_bytes(token_id) for token_id in ids)

    def tokens_event(self, ids: Iterable[int]) -> Tokens:
        """How ``ids`` are spelled, for readers without a tokenizer."""
        pieces: dict[str, str] = {}
        raw: dict[str, str] = {}
        wanted = set(ids)
        for token_id in sorted(wanted):
            data = self.token_bytes(token_id)
            pieces[str(token_id)] = piece = data.decode("utf-8", "replace")
            if piece.encode() != data:
                raw[str(token_id)] = data.hex()
        return Tokens(pieces=pieces, raw=raw, special=sorted(wanted & self.special_ids))

    def _check(self, messages: Sequence[Message], thinking: bool) -> None:
        check_messages(messages)
        if not any(message["role"] == "user" for message in messages) or not messages[-1]["content"].strip():
            raise empty_prompt()
        if not isinstance(thinking, bool):  # the string "false" is true: a known way to garble a run
            raise EngineError("bad_setting", f"Thinking cannot be {thinking!r}.", "Choose True or False.")
        if thinking and not self.supports_thinking:
            raise EngineError(
                "thinking_unsupported",
                "This target's chat template has no thinking mode.",
                "Switch thinking off, or choose a target that can think.",
            )

    def fewest_tokens(self, text: str) -> int:
        """A lower bound of a text's tokens: its bytes over those of the longest token. Costs no tokenising.

        0 where the tokenizer may drop some of the text first.
        """
        longest = self._longest_token
        if longest is None:
            return 0
        read = unicodedata.normalize("NFC", text) if self._normalizer == "NFC" else text
        return -(-len(read.encode()) // longest)

    @cached_property
    def _longest_token(self) -> int | None:
        """Bytes; None if tokens do not keep every byte of a text."""
        drops = any(token.lstrip or token.rstrip for token in self._added.values())
        if not self._spelling.byte_level or self._normalizer not in (None, "NFC") or drops:
            return None
        vocabulary = self._tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False)
        added = (len(str(token.content).encode()) for token in self._added.values())
        return max(1, *map(len, vocabulary), *added)  # an entry writes every byte as one character

    @cached_property
    def _normalizer(self) -> str | None:
        """What is done to a text before it is cut into tokens, by the tokenizers library's name."""
        normalizer = self._tokenizer.backend_tokenizer.normalizer
        return None if normalizer is None else str(json.loads(normalizer.__getstate__())["type"])

    def _check_bound(self, text: str, context: int | None) -> None:
        if context is not None and (fewest := self.fewest_tokens(text)) >= context:
            raise prompt_too_long(f"at least {fewest}", context)

    def _render(self, messages: Sequence[Message], thinking: bool, *, generation_prompt: bool) -> str:
        try:
            rendered = self._tokenizer.apply_chat_template(
                cast("list[dict[str, str]]", [*messages]),
                tokenize=False,
                add_generation_prompt=generation_prompt,
                enable_thinking=thinking,
            )
        except TemplateSyntaxError as error:
            raise EngineError(
                "bad_template",
                f"The target's chat template is broken in line {error.lineno}: {_sentence(error.message)}",
                "Copy chat_template.jinja or tokenizer_config.json of the same model into its folder again.",
                repr(error),
            ) from error
        except Exception as error:  # a template is a program, and fails in as many ways
            raise EngineError(
                "template_refused",
                f"The target's chat template refuses this conversation: {_sentence(error)}",
                "Change the order or the roles of its messages, or choose another target.",
                repr(error),
            ) from error
        return str(rendered)

    def _encode(self, text: str) -> list[int]:
        # The template writes the BOS token where the model wants one: nothing may be added here.
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _spell(self, token_id: int) -> bytes:
        added = self._added.get(token_id)
        if added is not None:
            return str(added.content).encode()
        entry = self._tokenizer.backend_tokenizer.id_to_token(token_id)
        return f"⟨id {token_id}⟩".encode() if entry is None else self._spelling.bytes_of(entry)

    def _find_special_ids(self) -> frozenset[int]:
        ids = {token_id for token_id, token in self._added.items() if token.special}
        ids |= set(self._tokenizer.all_special_ids)
        ids |= {token_id for token_id in (self.think_open_id, self.think_close_id) if token_id is not None}
        return frozenset(ids)

    def _find_thinking_support(self) -> bool:
        if not self.has_template:
            return False
        try:
            question: list[Message] = [{"role": "user", "content": _PROBE}]
            on, off = (self._render(question, on, generation_prompt=True) for on in (True, False))
        except EngineError:
            return False
        return on != off

    def _find_stop_ids(self) -> frozenset[int]:
        """The tokenizer's EOS and what the template writes behind an assistant's turn."""
        ids = {self._tokenizer.eos_token_id} - {None}
        if self.has_template and (marker := self._turn_end()) is not None:
            ids.add(marker)
        return frozenset(ids)

    def _turn_end(self) -> int | None:
        turns: list[Message] = [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": _PROBE},
        ]
        try:
            rendered = self._render(turns, False, generation_prompt=False)
        except EngineError:
            return None
        ids = self._encode(rendered.rpartition(_PROBE)[2].lstrip())
        return ids[0] if ids and ids[0] in self.special_ids else None


def _configured_stop_ids(folder: Path) -> frozenset[int]:
    """``eos_token_id`` (one or several) of generation_config.json, or else of config.json."""
    for name in ("generation_config.json", "config.json"):
        path = folder / name
        if not path.is_file():
            continue
        config = read_json(path)
        value = config.get("eos_token_id")
        if value is None and isinstance(config.get("text_config"), Mapping):
            value = config["text_config"].get("eos_token_id")
        values = value if isinstance(value, list) else [value]
        ids = frozenset(i for i in values if isinstance(i, int) and not isinstance(i, bool))
        if ids:
            return ids
    return frozenset()


def prompt_too_long(tokens: int | str, context: int) -> EngineError:
    """What to say of a prompt that leaves no room in the context."""
    return EngineError(
        "prompt_too_long",
        f"The prompt has {tokens} tokens and the model's context ends at {context}.",
        "Shorten the prompt or start a new conversation.",
    )


def _check_not_empty(ids: Sequence[int]) -> None:
    if not ids:
        raise EngineError(
            "empty_prompt",
            "The target's tokenizer and chat template leave nothing of the prompt.",
            "Type something else, or check the target's chat template.",
        )


def _sentence(words: object) -> str:
    """What somebody else's error says, with a full stop of ours where it has none."""
    text = str(words).rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
