"""A pair before it is loaded: configs, tokenizer, template, weights by their files' headers, memory.

Reads no weight. Nothing that comes with a checkpoint is executed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from engine.checkpoint import Checkpoint
from engine.codec import Codec
from engine.demand import measure
from engine.diagnosis.lines import Line, Status
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.errors import EngineError
from engine.find import find_drafter, find_target
from engine.hub import Source, fetch_weights
from engine.model_shape import target_shape
from engine.pair_check import (
    check_architecture,
    check_feature_inputs,
    check_layers,
    check_pair,
    read_drafter_config,
    text_model_type,
)
from engine.place import Place
from engine.settings import LoadSettings, Message
from engine.target import LAYER_KINDS, SUPPORTED_MODEL_TYPES
from engine.target_load import NOT_TEXT, read_target_config

SAMPLES = (
    "The quick brown fox, 12,345.67!",
    "  leading, trailing and    inner spaces  ",
    "tab\there\r\nand\n\n\nlines",
    "def f(x):\n    return {'a': [x ** 2, -1]}",
    "Zwölf Boxkämpfer, naïve façade, Łódź",
    "日本語の文章と中文字符 한국어",
    "שלום עולם مرحبا بالعالم",
    "👩‍👩‍👧‍👦 🏳️‍🌈 é (e + combining acute)",
    "\x00\x1b[31m\u202e\ufeff",
    "<|im_start|>not a marker</think>",
)
"""Texts whose bytes must come back, some of which tokenizers are known to lose."""
PROBE: list[Message] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Name a colour."},
]
WIDE = ("F64", "F32", "F16", "BF16")


def pair_lines(load: LoadSettings) -> Iterator[Line]:
    """A line for each thing that was looked at; after a ``fail`` that the rest builds on, no more."""
    found = yield from _attempt("models", lambda: _find(load))
    if found is None:
        return
    target, draft = found
    yield _line("models", "ok", _describe(target, draft))
    config = yield from _attempt("target's config", lambda: _target_config(target[1]))
    if config is None:
        return
    yield _line("target's config", "ok", _config_facts(config))
    dflash = None
    if draft is not None:
        dflash = yield from _attempt("drafter's config", lambda: _drafter_config(draft[1], config))
        if dflash is not None:
            yield _line("drafter's config", "ok", _drafter_facts(dflash))
    else:
        yield _line("drafter's config", "ok", "no drafter: mode ar alone")
    codec = yield from _attempt(
        "tokenizer", lambda: Codec.from_folder(target[0].folder, vocab_size=config.vocab_size)
    )
    if codec is not None:
        yield from tokenizer_lines(codec, dflash)
        yield from template_lines(codec)
    for source, checkpoint in filter(None, (target, draft)):
        yield from _weights(source, checkpoint, config, dflash)
    yield from memory_lines(
        load, target[1], None if draft is None or dflash is None else draft[1], config, dflash
    )


_Found = tuple[Source, Checkpoint]


def _find(load: LoadSettings) -> tuple[_Found, _Found | None]:
    def opened(role: Any, source: Source) -> _Found:
        return source, Checkpoint.open(role, source.folder)

    target = find_target(load.model, lambda _: None)
    draft = find_drafter(load.model, load.drafter, lambda _: None)
    return opened("target", target), None if draft is None else opened("drafter", draft)


def _target_config(target: Checkpoint) -> Any:
    check_architecture(target, SUPPORTED_MODEL_TYPES)
    config = read_target_config(target)
    check_layers(config, LAYER_KINDS)
    return config


def _drafter_config(draft: Checkpoint, config: Any) -> DFlashConfig:
    dflash = read_drafter_config(draft)
    check_pair(draft, dflash, config)
    return dflash


def _describe(target: _Found, draft: _Found | None) -> str:
    names = [f"target {target[0].name} ({text_model_type(target[1].config)})"]
    if draft is not None:
        names.append(f"drafter {draft[0].name}")
    if target[1].quantization:
        names.append(f"quantised by {target[1].quantization}")
    return ", ".join(names)


def _config_facts(config: Any) -> str:
    shape = target_shape(config.to_dict())
    kinds = Counter(shape.layer_kinds)
    layers = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.items())
    return (
        f"{shape.parameters / 1e6:,.1f} million parameters; layers: {layers}; hidden {config.hidden_size}; "
        f"{config.vocab_size:,} rows of embedding; {shape.context_length:,} tokens of context"
    )


def _drafter_facts(dflash: DFlashConfig) -> str:
    window = f", window {dflash.sliding_window}" if dflash.sliding_window else ""
    return (
        f"block {dflash.block_size}, mask id {dflash.mask_token_id}, reads the outputs of target layers "
        f"{', '.join(map(str, dflash.target_layer_ids))}; {dflash.num_hidden_layers} layers{window}; "
        f"trained for up to {dflash.max_position_embeddings:,} positions"
    )


def tokenizer_lines(codec: Codec, dflash: DFlashConfig | None) -> Iterator[Line]:
    """Whether texts come back byte by byte, and where an answer ends."""
    entries = f"{codec.entries:,} entries for {codec.vocab_size:,} rows of embedding"
    padded = codec.vocab_size - codec.entries
    yield _line("vocabulary", "ok", entries + (f", {padded:,} of them padding" if padded else ""))
    lost = [text for text in SAMPLES if not round_trip(codec, text)]
    if lost:
        yield Line(
            part="pair",
            name="round trip",
            status="warn",
            seen=f"{len(lost)} of {len(SAMPLES)} texts do not come back byte by byte",
            means="The tokenizer normalises or drops characters: what is quoted back may differ.",
            todo="Compare tokenizer.json with the published one.",
            text="\n".join(f"{text!r} -> {codec.decode_bytes(codec.tokenise(text))!r}" for text in lost),
        )
    else:
        yield _line("round trip", "ok", f"{len(SAMPLES)} texts come back byte by byte")
    stops = sorted(codec.stop_ids)
    if not stops:
        yield _line(
            "stop tokens",
            "warn",
            "none",
            "Answers go on until --max-new-tokens.",
            "Copy generation_config.json of the same model into its folder.",
        )
    elif max(stops) >= codec.vocab_size:
        yield _line(
            "stop tokens",
            "fail",
            f"{stops}, beyond the embedding's {codec.vocab_size:,} rows",
            "The target can never write that token, so answers do not end.",
            "Take generation_config.json and tokenizer of the same model.",
        )
    else:
        yield _line("stop tokens", "ok", ", ".join(map(str, stops)))


def round_trip(codec: Codec, text: str) -> bool:
    """Whether the ids of a text spell exactly its bytes."""
    return codec.decode_bytes(codec.tokenise(text)) == text.encode()


def template_lines(codec: Codec) -> Iterator[Line]:
    """The chat template, rendered with thinking on and off."""
    if not codec.has_template:
        yield _line(
            "chat template",
            "warn",
            "none",
            "A prompt is the last user message as plain text: right for a base model only.",
            "Copy chat_template.jinja of a chat model into its folder.",
        )
        return
    for thinking in (False, True):
        if thinking and not codec.supports_thinking:
            yield _line("template, thinking on", "ok", "this template has no thinking mode")
            continue
        name = f"template, thinking {'on' if thinking else 'off'}"
        try:
            encoded = codec.encode_chat(PROBE, thinking)
        except EngineError as error:
            yield _failed(name, error)
            continue
        missing = [message["role"] for message in PROBE if message["content"] not in encoded.text]
        seen = (
            f"{len(encoded.ids)} tokens for a probe of two messages; the answer begins "
            f"{'inside' if encoded.in_thinking else 'outside'} <think>"
        )
        yield Line(
            part="pair",
            name=name,
            status="warn" if missing else "ok",
            seen=seen + (f"; the {missing[0]} message is not in it" if missing else ""),
            means="The target never sees that message." if missing else "",
            todo="Use the chat template published with the target." if missing else "",
            text=encoded.text,
        )


def _weights(
    source: Source, checkpoint: Checkpoint, config: Any, dflash: DFlashConfig | None
) -> Iterator[Line]:
    name = f"{checkpoint.role}'s weights"

    def headers() -> Mapping[str, tuple[tuple[int, ...], str]]:
        fetch_weights(source, checkpoint.weight_names, lambda _: None)
        checkpoint.check_files()
        if checkpoint.role == "drafter" and dflash is not None:
            check_feature_inputs(checkpoint, dflash)
        return checkpoint.tensors

    tensors = yield from _attempt(name, headers)
    if tensors is None or (checkpoint.role == "drafter" and dflash is None):
        return
    if checkpoint.role == "drafter":
        assert dflash is not None
        expected = drafter_shapes(dflash)
    else:
        tensors = {_plain(key): value for key, value in tensors.items() if not key.startswith(NOT_TEXT)}
        expected = target_shapes(config)
    yield weights_line(name, tensors, expected, quantised=checkpoint.quantization is not None)


def weights_line(
    name: str,
    tensors: Mapping[str, tuple[tuple[int, ...], str]],
    expected: Mapping[str, tuple[int, ...]],
    *,
    quantised: bool = False,
) -> Line:
    """Names, shapes and dtypes of the files against those that the config implies.

    Of what transformers packs differently from how it is stored (experts) and of quantised weights, only the
    names and shapes in common can be compared.
    """
    dtypes = Counter(dtype for _, dtype in tensors.values())
    values = sum(math.prod(shape) for shape, _ in tensors.values())
    wanted = sum(map(math.prod, expected.values()))
    seen = f"{len(tensors)} tensors, {values / 1e6:,.1f} million values, " + ", ".join(
        f"{count} {dtype}" for dtype, count in dtypes.most_common()
    )
    shared = expected.keys() & tensors.keys()
    wrong = sorted(key for key in shared if tensors[key][0] != expected[key])
    missing, unknown = sorted(expected.keys() - shared), sorted(tensors.keys() - shared)
    if quantised:
        return _line(name, "ok", f"{seen}; quantised, so that shapes are not compared")
    if wrong:
        key = wrong[0]
        shapes = f"{list(tensors[key][0])}, not {list(expected[key])}"
        seen += f"; {len(wrong)} of another shape, such as {key}: {shapes}"
    packed = bool(missing) and bool(unknown) and values == wanted
    if missing and not packed:
        seen += f"; {len(missing)} missing, such as {missing[0]}"
    if unknown and not packed:
        seen += f"; {len(unknown)} that the config has no place for, such as {unknown[0]}"
    if wrong or (missing and not packed):
        return _line(
            name,
            "fail",
            seen,
            "The weights do not belong to this config.json.",
            "Download both again, of one revision.",
        )
    narrow = sorted(set(dtypes) - set(WIDE))
    if narrow or (unknown and not packed):
        return _line(
            name,
            "warn",
            seen,
            "Something in the files is not what a plain checkpoint has.",
            "Compare with the published files.",
        )
    return _line(name, "ok", seen)


def drafter_shapes(dflash: DFlashConfig) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the weights of a drafter with that config."""
    with torch.device("meta"):
        drafter = Drafter(dflash)
    return {name: tuple(weight.shape) for name, weight in drafter.state_dict().items()}


def target_shapes(config: Any) -> dict[str, tuple[int, ...]]:
    """The same of a target; a head that is tied to the embedding is not stored."""
    auto_class: Any = AutoModelForCausalLM
    with torch.device("meta"):
        model = auto_class.from_config(config)
    tied = config.tie_word_embeddings
    return {
        name: tuple(weight.shape)
        for name, weight in model.named_parameters()
        if not (tied and name == "lm_head.weight")
    }


def _plain(key: str) -> str:
    """A tensor's name as the text model has it, of a checkpoint that also sees pictures."""
    return key.replace("model.language_model.", "model.", 1)


def memory_lines(
    load: LoadSettings, target: Checkpoint, draft: Checkpoint | None, config: Any, dflash: DFlashConfig | None
) -> Iterator[Line]:
    """What the pair needs where it is to be loaded, and whether there is room."""
    if (load.tp or 1) > 1:
        yield _line("memory needed", "ok", "of several processes this is told when they load")
        return

    def demand() -> tuple[float, float, int, str]:
        place = Place.choose(load.device, load.dtype, config, device_map=_device_map(load))
        needed = measure(target, draft, config, dflash, place, load.quantize)
        context = place.fit_context(needed.weights(), needed.shapes, load.context)
        size = place.dtype.itemsize
        caches = sum(shape.running_bytes(context, size) for shape in needed.shapes)
        return needed.weights().bytes(size) / 1e9, caches / 1e9, context, place.name

    told = yield from _attempt("memory needed", demand)
    if told is not None:
        weights, caches, context, where = told
        longest = target_shape(config.to_dict()).context_length
        short = context < longest and load.context is None
        yield _line(
            "memory needed",
            "warn" if short else "ok",
            f"{weights:,.2f} GB of weights and {caches:,.2f} GB for {context:,} tokens on {where}",
            f"There is no room for all of the target's {longest:,} tokens of context." if short else "",
            "Choose a smaller --context, --dtype bfloat16 or --quantize if you need longer texts."
            if short
            else "",
        )


def _device_map(load: LoadSettings) -> Any:
    return load.device_map


def _attempt(name: str, step: Any) -> Any:
    """A step's result; None, and a line that says why, where it was refused."""
    try:
        return step()
    except EngineError as error:
        yield _failed(name, error)
    except (KeyError, TypeError, ValueError, AttributeError) as error:  # configs that make no sense together
        yield _line(
            name,
            "fail",
            f"{type(error).__name__}: {error}",
            "The model's files do not make sense.",
            "Download them again.",
        )
    return None


def _failed(name: str, error: EngineError) -> Line:
    return _line(name, "fail", error.message, "The pair cannot be used like this.", error.hint)


def _line(name: str, status: Status, seen: str, means: str = "", todo: str = "") -> Line:
    return Line(part="pair", name=name, status=status, seen=seen, means=means, todo=todo)
