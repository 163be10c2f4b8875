"""What a DFlash checkpoint's ``config.json`` says (z-lab's format; DFlash: arXiv 2602.06036).

Nothing the drafter depends on is guessed: a wrong mask id or tap layer gives a drafter that runs and is
never right, so their absence is an error, while true defaults of the Qwen3 family are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import EngineError

MAX_BLOCK_SIZE = 256
FULL, SLIDING = "full_attention", "sliding_attention"
ROPE_TYPES = ("default", "linear", "yarn", "llama3")
_HINT = "Take the config.json that belongs to the drafter's weights, or choose another drafter."


@dataclass(frozen=True, kw_only=True)
class DFlashConfig:
    """One drafter's shape.

    Attributes:
        block_size: positions per block ``B``; slot 0 is the root token, slots 1..B-1 are masks.
        mask_token_id: the id whose target embedding stands for "to be drafted".
        target_layer_ids: the target's layers whose *outputs* are read (transformers' hidden_states[id + 1]).
        layer_types: one per layer, ``full_attention`` or ``sliding_attention``.
        sliding_window: tokens a sliding layer sees in each direction, itself included; None: no window.
        is_causal: None makes exactly the sliding layers causal, True or False decides for all layers.
        rope: ``rope_type``, ``rope_theta`` and what the type needs besides.
        input_embedding_scale: factor on the block's embeddings (applied by whoever embeds the block).
        output_multiplier, final_logit_softcapping: applied to the head's output, in this order.
    """

    block_size: int
    mask_token_id: int
    target_layer_ids: tuple[int, ...]
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    layer_types: tuple[str, ...]
    sliding_window: int | None
    is_causal: bool | None
    rope: dict[str, Any]
    max_position_embeddings: int
    rms_norm_eps: float = 1e-6
    hidden_act: str = "silu"
    attention_bias: bool = False
    input_embedding_scale: float = 1.0
    output_multiplier: float = 1.0
    final_logit_softcapping: float | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DFlashConfig:
        """Check and normalise a ``config.json``; keys may stand at top level or in ``dflash_config``.

        Raises:
            EngineError: ``drafter_config`` for a value that is missing or absurd, ``drafter_unsupported``
                for a kind of drafter this class does not compute.
        """
        fields = _Fields(data)
        for key in ("selector_rank", "conv_kernel_size"):
            if fields.get(key) is not None:
                raise EngineError(
                    "drafter_unsupported",
                    "This is a DFlash 2 drafter (candidate selector, convolutions), which is not supported.",
                    "Choose a first-generation DFlash drafter of the same target.",
                )
        heads = fields.positive("num_attention_heads")
        hidden = fields.positive("hidden_size")
        layers = fields.positive("num_hidden_layers")
        kv_heads = fields.positive("num_key_value_heads", heads)
        head_dim = fields.positive("head_dim", hidden // heads)
        if heads % kv_heads:
            raise _bad(
                f"The drafter has {heads} attention heads, which {kv_heads} key/value heads do not divide."
            )
        if head_dim % 2:
            raise _bad(f"The drafter's head_dim is {head_dim}; rotary embeddings need an even number.")
        block_size = fields.positive("block_size")
        if block_size < 2:
            raise _bad(
                f"The drafter's block_size is {block_size}; it must be at least 2 (root and one draft slot)."
            )
        if block_size > MAX_BLOCK_SIZE:
            raise _bad(f"The drafter's block_size is {block_size}; it must be at most {MAX_BLOCK_SIZE}.")
        layer_types, window = _attention_kinds(fields, layers)
        vocab_size = fields.positive("vocab_size")
        softcap = fields.number("final_logit_softcapping", 0.0)
        return cls(
            block_size=block_size,
            mask_token_id=_mask_id(fields, vocab_size),
            target_layer_ids=_target_layers(fields),
            hidden_size=hidden,
            intermediate_size=fields.positive("intermediate_size"),
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            head_dim=head_dim,
            vocab_size=vocab_size,
            layer_types=layer_types,
            sliding_window=window,
            is_causal=fields.flag("is_causal"),
            rope=_rope(fields),
            max_position_embeddings=fields.positive("max_position_embeddings", 32768),
            rms_norm_eps=fields.number("rms_norm_eps", 1e-6),
            hidden_act=str(fields.get("hidden_act") or "silu"),
            attention_bias=bool(fields.flag("attention_bias")),
            input_embedding_scale=fields.number("input_embedding_scale", 1.0),
            output_multiplier=fields.number("output_multiplier", 1.0),
            final_logit_softcapping=softcap if softcap > 0 else None,
        )

    def causal(self, layer: int) -> bool:
        """Whether a block's slot may see only slots up to itself in this layer."""
        return self.layer_types[layer] == SLIDING if self.is_causal is None else self.is_causal

    def window(self, layer: int) -> int | None:
        """The sliding window of this layer, None for a layer that sees everything."""
        return self.sliding_window if self.layer_types[layer] == SLIDING else None

    def check_target(self, *, hidden_size: int, num_layers: int, vocab_size: int) -> None:
        """Refuse a target this drafter was not made for; ``vocab_size`` counts the embedding's rows.

        Raises:
            EngineError: ``drafter_mismatch``.
        """
        if hidden_size != self.hidden_size:
            raise _mismatch(f"hidden size {self.hidden_size}", f"the target's is {hidden_size}")
        if max(self.target_layer_ids) >= num_layers:
            raise _mismatch(
                f"the output of target layer {max(self.target_layer_ids)}",
                f"the target has layers 0 to {num_layers - 1}",
            )
        if self.mask_token_id >= vocab_size:
            raise _mismatch(
                f"mask token id {self.mask_token_id}", f"the target's embedding has {vocab_size} rows"
            )
        if self.vocab_size != vocab_size:
            raise _mismatch(
                f"a vocabulary of {self.vocab_size}", f"the target's embedding has {vocab_size} rows"
            )


class _Fields:
    """A config's values, looked up in ``dflash_config`` first and then at top level."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        nested = data.get("dflash_config")
        if nested is not None and not isinstance(nested, Mapping):
            raise _bad("The drafter's dflash_config is not a JSON object.")
        self._data: dict[str, Any] = {**data, **(nested or {})}

    def get(self, name: str) -> Any:
        return self._data.get(name)

    def positive(self, name: str, default: int | None = None) -> int:
        value = self.get(name)
        if value is None:
            value = default
        if value is None:
            raise _bad(f"The drafter's config.json does not say its {name}.")
        if not _is_int(value) or value < 1:
            raise _bad(f"The drafter's {name} is {value!r}; it must be a positive whole number.")
        return int(value)

    def number(self, name: str, default: float) -> float:
        value = self.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _bad(f"The drafter's {name} is {value!r}; it must be a number.")
        return float(value)

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise _bad(f"The drafter's {name} is {value!r}; it must be true or false.")
        return value


def _mask_id(fields: _Fields, vocab_size: int) -> int:
    value = fields.get("mask_token_id")
    if value is None:
        raise _bad("The drafter's config.json does not say its mask_token_id, and it is never guessed.")
    if not _is_int(value) or not 0 <= value < vocab_size:
        raise _bad(f"The drafter's mask_token_id is {value!r}, outside its vocabulary of {vocab_size}.")
    return int(value)


def _target_layers(fields: _Fields) -> tuple[int, ...]:
    value = fields.get("target_layer_ids")
    if value is None:
        raise _bad("The drafter's config.json does not say its target_layer_ids, and they are never guessed.")
    if not isinstance(value, list | tuple) or not value or not all(_is_int(i) and i >= 0 for i in value):
        raise _bad(
            f"The drafter's target_layer_ids are {value!r}; they must be a list of layer numbers from 0."
        )
    ids = tuple(int(i) for i in value)
    total = fields.get("num_target_layers")
    if _is_int(total) and max(ids) >= total:
        raise _bad(f"The drafter reads target layer {max(ids)}, but its num_target_layers is {total}.")
    return ids


def _attention_kinds(fields: _Fields, layers: int) -> tuple[tuple[str, ...], int | None]:
    """Layer types and the window. ``use_sliding_window: false`` takes the window away but leaves the layer
    types, and with them causality, as Qwen3's own config class does."""
    value = fields.get("layer_types")
    if value is None:
        value = [FULL] * layers
    if not isinstance(value, list | tuple) or len(value) != layers:
        raise _bad(f"The drafter's layer_types do not name one type for each of its {layers} layers.")
    for kind in value:
        if kind not in (FULL, SLIDING):
            raise _bad(f"The drafter has a layer of type {kind!r}; known are {FULL} and {SLIDING}.")
    window = None
    if SLIDING in value and fields.flag("use_sliding_window") is not False:
        window = fields.positive("sliding_window")
    return tuple(value), window


def _rope(fields: _Fields) -> dict[str, Any]:
    """Both spellings: ``rope_parameters`` (new) and ``rope_theta`` + ``rope_scaling`` (old)."""
    rope: dict[str, Any] = {}
    for key in ("rope_scaling", "rope_parameters"):
        value = fields.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise _bad(f"The drafter's {key} is not a JSON object.")
        rope.update(value or {})
    if any(key in rope for key in (FULL, SLIDING)):
        raise EngineError(
            "drafter_unsupported",
            "The drafter has other rotary embeddings per layer type, which is not supported.",
            "Choose a drafter with one rotary embedding for all layers.",
        )
    kind = rope.pop("type", None)
    rope.setdefault("rope_type", kind or "default")
    if rope.get("rope_theta") is None:
        rope["rope_theta"] = fields.number("rope_theta", 10000.0)
    if rope["rope_type"] not in ROPE_TYPES:
        raise EngineError(
            "drafter_unsupported",
            f"The drafter uses rotary embeddings of type {rope['rope_type']!r}, which is not supported.",
            "Choose a drafter with one of these types: " + ", ".join(ROPE_TYPES) + ".",
        )
    if rope["rope_type"] != "default" and not isinstance(rope.get("factor"), int | float):
        raise _bad(f"The drafter's rotary embeddings of type {rope['rope_type']!r} lack their factor.")
    if isinstance(rope["rope_theta"], bool) or not isinstance(rope["rope_theta"], int | float):
        raise _bad(f"The drafter's rope_theta is {rope['rope_theta']!r}; it must be a number.")
    if rope["rope_theta"] <= 0:
        raise _bad(f"The drafter's rope_theta is {rope['rope_theta']}; it must be positive.")
    return rope


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bad(message: str) -> EngineError:
    return EngineError("drafter_config", message, _HINT)


def _mismatch(drafter: str, target: str) -> EngineError:
    return EngineError(
        "drafter_mismatch",
        f"This drafter belongs to another target: it expects {drafter}, but {target}.",
        "Choose the drafter that was trained for this target.",
    )
