"""How large a model is, told from its config: values in the weights and in the caches.

Imports neither torch nor transformers: presets are listed, and folders looked into, without loading anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.room import BUCKETS, MAX_PENDING, PREFILL_CHUNK, SINK_SCORES, SPARE_ROWS
from engine.settings import AUTO_BUDGET

Kind = Literal["full_attention", "sliding_attention", "linear_attention"]
STATE_BYTES = 4
"""Recurrent states are float32, whatever the weights are."""
COPIES = 3
"""Of states and windows beside the text's own: of the text up to the next turn, of the text as rounds on the
device go on from it, and of that before a commit that can be taken back."""
TREES = tuple(places for places in BUCKETS if places <= AUTO_BUDGET)
"""Trees for which the memory of rounds is told: all that ``--budget auto`` may choose among. Rounds on the
device keep what each needs, as it has a graph of its own."""
ROWS = sum(budget + 1 for budget in TREES)
SINK_COPIES = 3
"""Of the scores of attention with sinks: masked, with the sinks beside them, and as weights."""
CHUNKS = 3
"""Of features: of the last two chunks of a prompt, and of one that is being taken or handed over."""
BLOCK = 16
"""Of a drafter whose config does not say."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """What a family of targets has besides projections, norms, an MLP or experts.

    Attributes:
        head_norms: queries and keys are normed per head.
        gated: attention has an output gate, as wide as the queries.
        sinks: a sink per head, and biases in attention, router and experts (gpt-oss).
        experts: config key of an expert's width; None where every layer has a dense MLP.
        shared: beside the experts there is one that every token passes, with a gate.
    """

    head_norms: bool = True
    gated: bool = False
    sinks: bool = False
    experts: str | None = None
    shared: bool = False


FAMILIES: dict[str, Family] = {
    "llama": Family(head_norms=False),
    "qwen3": Family(),
    "qwen3_moe": Family(experts="moe_intermediate_size"),
    "qwen3_next": Family(gated=True, experts="moe_intermediate_size", shared=True),
    "qwen3_5_text": Family(gated=True),
    "qwen3_5_moe_text": Family(gated=True, experts="moe_intermediate_size", shared=True),
    "gpt_oss": Family(head_norms=False, sinks=True, experts="intermediate_size"),
}


@dataclass(frozen=True, kw_only=True)
class ModelShape:
    """Sizes in values, bytes where they say so.

    Attributes:
        parameters: in all weights that are loaded; a drafter's without the target's embedding and head.
        per_token: keys and values cached per token, in the weights' dtype.
        windows: values of the convolutions' windows, in the weights' dtype.
        states: values of the recurrent states.
        kept: values that rounds keep beside the caches, in the weights' dtype: room for a tree behind the
            longest text, copies of the windows, inputs of a tree's rows, logits.
        kept_wide: the same in float32: copies of the states, solutions of a tree's rows.
        passing: values that a chunk of a prefill takes at its peak, in the weights' dtype: the outputs of all
            layers, the convolutions' inputs until the commit, what the widest layer makes; of a drafter, the
            features it is handed.
        passing_wide: the same in float32: the states after the chunk, a convolution's gathered inputs, scores
            of attention with sinks.
        masked: rows of a prefill's attention masks, which are as wide as the text is long.
        context_length: tokens, at most.
        layer_kinds: one per layer.
    """

    parameters: int
    per_token: int
    windows: int = 0
    states: int = 0
    kept: int = 0
    kept_wide: int = 0
    passing: int = 0
    passing_wide: int = 0
    masked: int = 0
    context_length: int
    layer_kinds: tuple[str, ...]

    def cache_bytes(self, context: int, itemsize: int) -> int:
        """Bytes of the caches with ``context`` tokens in them; ``itemsize``: bytes per weight."""
        return (self.per_token * context + self.windows) * itemsize + self.states * STATE_BYTES

    def weight_bytes(self, itemsize: int) -> int:
        return self.parameters * itemsize

    def round_bytes(self, itemsize: int) -> int:
        """Bytes that rounds of the budgets in ``TREES`` keep beside weights and caches."""
        return self.kept * itemsize + self.kept_wide * STATE_BYTES

    def prefill_bytes(self, context: int, itemsize: int) -> int:
        """Bytes that a prefill up to ``context`` tokens takes beside all these, at its last chunk.

        A mask for each kind of attention layer, and one as attention adds it to its scores.
        """
        masks = self.masked * context * (2 + itemsize)
        return self.passing * itemsize + self.passing_wide * STATE_BYTES + masks

    def running_bytes(self, context: int, itemsize: int) -> int:
        """All but the weights: caches with ``context`` tokens in them, and what rounds and prefills take
        beside them."""
        kept = self.cache_bytes(context, itemsize) + self.round_bytes(itemsize)
        return kept + self.prefill_bytes(context, itemsize)

    def bytes(self, context: int, itemsize: int) -> int:
        """Weights, caches, and what rounds and prefills take beside them."""
        return self.weight_bytes(itemsize) + self.running_bytes(context, itemsize)


@dataclass(frozen=True)
class Weights:
    """How large weights are.

    Attributes:
        values: in the dtype that is chosen.
        fixed: bytes of those that have another one, being quantised.
    """

    values: int
    fixed: int = 0

    def bytes(self, itemsize: int) -> int:
        return self.values * itemsize + self.fixed


def target_shape(config: Mapping[str, Any]) -> ModelShape:
    """The text model a config describes.

    Args:
        config: a parsed ``config.json``, or its ``text_config`` where it has one.

    Raises:
        KeyError: for a family or a size that is not known: nothing is guessed.
    """
    config = text_part(config)
    family = FAMILIES[config["model_type"]]
    hidden, vocab = config["hidden_size"], config["vocab_size"]
    kinds = target_layer_kinds(config)
    attention, per_layer = _attention(config, family)
    linear = kinds.count("linear_attention")
    delta, window, state = _delta(config) if linear else (0, 0, 0)
    inputs, solution = _pending(config) if linear else (0, 0)
    logits = (ROWS + len(TREES) * BLOCK) * vocab  # the target's, and the drafter's through the same head
    mlps = sum(_mlp(config, family, number) for number in range(len(kinds)))
    passing, gathered = _passing(config, family, inputs)
    embeddings = vocab * hidden * (1 if config["tie_word_embeddings"] else 2)
    attentive = len(kinds) - linear
    return ModelShape(
        parameters=attentive * attention + linear * delta + mlps + (2 * len(kinds) + 1) * hidden + embeddings,
        per_token=attentive * per_layer,
        windows=linear * window,
        states=linear * state,
        kept=attentive * per_layer * SPARE_ROWS + linear * (COPIES * window + ROWS * inputs) + logits,
        kept_wide=linear * (COPIES * state + ROWS * solution),
        passing=PREFILL_CHUNK * ((len(kinds) + 1) * hidden + linear * inputs + passing),
        passing_wide=linear * state + PREFILL_CHUNK * gathered + (_scores(config) if family.sinks else 0),
        masked=PREFILL_CHUNK,
        context_length=config["max_position_embeddings"],
        layer_kinds=kinds,
    )


def drafter_shape(config: Mapping[str, Any]) -> ModelShape:
    """The DFlash drafter a ``config.json`` describes.

    Raises:
        KeyError: for a size that is not there.
    """
    config = {**config, **(config.get("dflash_config") or {})}
    hidden, layers = config["hidden_size"], config["num_hidden_layers"]
    attention, per_layer = _attention(config, FAMILIES["qwen3"])
    block = attention + 3 * hidden * config["intermediate_size"] + 2 * hidden
    features = len(config["target_layer_ids"]) * hidden
    return ModelShape(
        parameters=layers * block + features * hidden + 2 * hidden,
        per_token=layers * per_layer,
        kept=layers * per_layer * SPARE_ROWS + (MAX_PENDING + config.get("block_size", BLOCK)) * features,
        passing=CHUNKS * PREFILL_CHUNK * features,
        context_length=config.get("max_position_embeddings", 0),
        layer_kinds=tuple(config.get("layer_types") or ["full_attention"] * layers),
    )


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The config of the part that writes text; where only the whole says so, its embeddings are tied."""
    inner = config.get("text_config")
    if not isinstance(inner, Mapping):
        return config
    tied = {key: config[key] for key in ("tie_word_embeddings",) if key in config}
    return {**inner, **tied}


def target_layer_kinds(config: Mapping[str, Any]) -> tuple[str, ...]:
    """One kind per layer, also where the config tells them by a rule."""
    layers: int = config["num_hidden_layers"]
    if config.get("layer_types"):
        return tuple(config["layer_types"])
    if config.get("full_attention_interval"):
        every = config["full_attention_interval"]
        return tuple(
            "linear_attention" if (number + 1) % every else "full_attention" for number in range(layers)
        )
    windowed = config.get("use_sliding_window", False) and config.get("sliding_window") is not None
    return tuple(["sliding_attention" if windowed else "full_attention"] * layers)


def _attention(config: Mapping[str, Any], family: Family) -> tuple[int, int]:
    """Parameters of one attention layer, and values it caches per token."""
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    dim = config.get("head_dim") or hidden // heads
    queries, keys = heads * dim, config["num_key_value_heads"] * dim
    count = hidden * (queries * (2 if family.gated else 1) + 2 * keys) + queries * hidden
    if config.get("attention_bias"):
        count += queries * (2 if family.gated else 1) + 2 * keys + hidden
    if family.head_norms:
        count += 2 * dim
    if family.sinks:
        count += heads
    return count, 2 * keys


def _delta(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Parameters of one gated-delta layer, values of its convolution window and of its state."""
    hidden, heads = config["hidden_size"], config["linear_num_value_heads"]
    dk, dv = config["linear_key_head_dim"], config["linear_value_head_dim"]
    kernel = config["linear_conv_kernel_dim"]
    values = heads * dv
    channels = 2 * config["linear_num_key_heads"] * dk + values
    projections = hidden * (channels + values + 2 * heads) + values * hidden
    return projections + channels * kernel + 2 * heads + dv, (kernel - 1) * channels, heads * dk * dv


def _pending(config: Mapping[str, Any]) -> tuple[int, int]:
    """Values that a gated-delta layer keeps of a row until the commit: conv inputs, and the solution."""
    keys = config["linear_num_key_heads"] * config["linear_key_head_dim"]
    heads = config["linear_num_value_heads"]
    values = heads * config["linear_value_head_dim"]
    return 2 * keys + values, keys + values + heads


def _passing(config: Mapping[str, Any], family: Family, inputs: int) -> tuple[int, int]:
    """Values per row that the widest layer holds at a time, in the weights' dtype and in float32.

    Args:
        inputs: of a gated-delta layer's convolution; 0 where no layer has one.
    """
    if inputs:
        values = config["linear_num_value_heads"] * config["linear_value_head_dim"]
        # Projections; the inputs that each tap reads, again as the product has them, and the sums.
        return inputs + values, (2 * config["linear_conv_kernel_dim"] + 1) * inputs
    # What experts make of their rows is little beside their weights.
    return (3 * int(config["intermediate_size"]) if family.experts is None else 0), 0


def _scores(config: Mapping[str, Any]) -> int:
    """Values that attention with sinks holds at a time, of one chunk before the longest text."""
    heads: int = config["num_attention_heads"]
    whole = heads * PREFILL_CHUNK * int(config["max_position_embeddings"])
    return SINK_COPIES * min(whole, SINK_SCORES)


def _mlp(config: Mapping[str, Any], family: Family, number: int) -> int:
    """Parameters of the MLP or the experts of layer ``number``."""
    hidden: int = config["hidden_size"]
    sparse = (number + 1) % config.get("decoder_sparse_step", 1) == 0
    if family.experts is None or number in (config.get("mlp_only_layers") or ()) or not sparse:
        width: int = config["intermediate_size"]
        return 3 * hidden * width + (2 * width + hidden if config.get("mlp_bias") else 0)
    width = config[family.experts]
    experts: int = config["num_experts"] if "num_experts" in config else config["num_local_experts"]
    count = experts * (hidden + 3 * hidden * width)  # each with its row of the router
    if family.sinks:
        count += experts * (1 + 2 * width + hidden)
    if family.shared:
        count += 3 * hidden * int(config["shared_expert_intermediate_size"]) + hidden
    return count
