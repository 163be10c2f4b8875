"""The target: the model whose text must be reproduced.

transformers' own model, driven layer by layer: our attention function masks a tree, our cache keeps pending
rows apart, our gated-delta forward isolates branches. Outside these passes the model is untouched.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from engine import delta_layer
from engine.attention import attend
from engine.cache import Pass, TargetCache, TreeMask
from engine.ddtree import DraftTree
from engine.errors import EngineError
from engine.kernels.backend import wide
from engine.ranks import Ranks
from engine.room import PREFILL_CHUNK, SPARE_ROWS
from engine.rows import Rows
from engine.settings import Verify
from engine.spread import layers_by_device

SUPPORTED_MODEL_TYPES = (
    "gpt_oss",
    "llama",
    "qwen3",
    "qwen3_5_moe_text",
    "qwen3_5_text",
    "qwen3_moe",
    "qwen3_next",
)
LAYER_KINDS = ("full_attention", "sliding_attention", "linear_attention")
_ATTENTION = "ddtree"


@dataclass(frozen=True)
class Verified:
    """Logits (R, V), in float32 at least, and the hidden states (R, layers · hidden) of the tapped layers."""

    logits: Tensor
    features: Tensor


class Target:
    """A causal language model that can verify draft trees.

    Args:
        model: a transformers causal LM of ``SUPPORTED_MODEL_TYPES``, in eval mode.
        tapped: layers whose outputs the drafter reads (``hidden_states[id + 1]`` of transformers;
            for the last layer that is after the final norm).
        context_length: most tokens in a cache; None is the model's own.
        ranks: the processes that hold ``model`` together; None for one process.
        quantised: its linear layers are of another kind than torch's, or their weights no plain tensors.

    Raises:
        EngineError: ``unsupported_architecture``.
    """

    def __init__(
        self,
        model: Any,
        tapped: Sequence[int] = (),
        context_length: int | None = None,
        ranks: Ranks | None = None,
        quantised: bool = False,
    ) -> None:
        config = model.config
        self.layer_kinds = layer_kinds(config)
        if config.model_type not in SUPPORTED_MODEL_TYPES or not set(self.layer_kinds) <= set(LAYER_KINDS):
            raise EngineError(
                "unsupported_architecture",
                f"Targets of type {config.model_type} are not supported.",
                "Supported are " + ", ".join(SUPPORTED_MODEL_TYPES) + ".",
            )
        self.model = model
        self.tapped = tuple(tapped)
        self.ranks = ranks
        self.quantised = quantised
        self.embedding: nn.Embedding = model.get_input_embeddings()
        self.head: nn.Module = model.get_output_embeddings()
        self.vocab_size: int = self.embedding.weight.shape[0]
        self.context_length: int = context_length or config.max_position_embeddings
        self._layers: nn.ModuleList = model.model.layers
        self._window: int | None = getattr(config, "sliding_window", None)
        # transformers renamed the argument within 5.x.
        names = inspect.signature(self._layers[0].forward).parameters
        self._cache_argument = "cache" if "cache" in names else "past_key_values"
        for module in self.delta_modules:
            delta_layer.install(module)

    @property
    def windows(self) -> list[int | None]:
        """Per layer, the positions its sliding window covers; None without one."""
        return [self._window if kind == "sliding_attention" else None for kind in self.layer_kinds]

    @property
    def layers_on(self) -> dict[str, int]:
        """How many layers compute on each device, where they are spread."""
        return layers_by_device(self._layers)

    @property
    def delta_modules(self) -> list[nn.Module]:
        """The gated-delta layers' own modules, in order."""
        layers: list[Any] = list(self._layers)
        return [layer.linear_attn for layer in layers if hasattr(layer, "linear_attn")]

    @property
    def device(self) -> torch.device:
        """Where ids come in, and logits and features come out."""
        return self.embedding.weight.device

    @property
    def dtype(self) -> torch.dtype:
        return self.embedding.weight.dtype

    def agree(self, tensor: Tensor) -> Tensor:
        """The first rank's values of what decides how the text goes on."""
        return tensor if self.ranks is None else self.ranks.agree(tensor)

    def new_cache(self) -> TargetCache:
        return TargetCache(self.layer_kinds, self.context_length + SPARE_ROWS)

    @torch.inference_mode()
    def prefill(self, cache: TargetCache, ids: Sequence[int]) -> Iterator[Verified]:
        """Commit known text, ``PREFILL_CHUNK`` tokens at a time.

        Yields:
            Per chunk, the logits after its last token (1, V) and the features of all its rows.
        """
        for start in range(0, len(ids), PREFILL_CHUNK):
            chunk = torch.tensor(ids[start : start + PREFILL_CHUNK], device=self.device)
            rows = Rows.chain(len(chunk), self.device)
            hidden, features = self.forward(cache, chunk, rows)
            cache.commit(torch.arange(len(chunk), device=self.device))
            yield Verified(_widened(self.logits(hidden[-1:])), features)

    @torch.inference_mode()
    def verify(self, cache: TargetCache, root_id: int, tree: DraftTree, backend: Verify) -> Verified:
        """Run the root and all nodes in one pass; their rows are pending until ``cache.commit``."""
        ids = torch.cat((tree.token_ids.new_tensor([root_id]), tree.token_ids))
        hidden, features = self.forward(cache, ids, self.tree_rows(tree, backend))
        cache.touched = cache.changed_since_commit()
        return Verified(_widened(self.logits(hidden)), features)

    def tree_rows(self, tree: DraftTree, backend: Verify) -> Rows:
        """The rows of a pass over a tree."""
        return Rows.tree(tree, backend)

    def embed(self, ids: Tensor) -> Tensor:
        """Token embeddings, as the drafter's block takes them: (..., hidden)."""
        embedded: Tensor = self.embedding(ids)
        return embedded

    def logits(self, hidden: Tensor) -> Tensor:
        """The head's logits (R, V) for final hidden states (R, hidden), in the head's own type."""
        logits: Tensor = self.head(hidden).to(self.device)
        return logits

    def forward(self, cache: TargetCache, ids: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
        """Final hidden states (R, hidden) and features (R, layers · hidden) of the rows."""
        cache.rows = rows
        hidden = self.embed(ids)[None]
        positions = cache.positions()[None]
        angles = self.rotary_angles(hidden, positions)
        masks = cache.attention_masks(self._window)
        outputs = [hidden[0]]  # as transformers counts hidden states: layer i's output is number i + 1
        with self._our_attention():
            for layer, kind in zip(self._layers, self.layer_kinds, strict=True):
                hidden = layer(
                    hidden,
                    position_embeddings=angles,
                    attention_mask=masks[kind],
                    position_ids=positions,
                    use_cache=True,
                    **{self._cache_argument: cache},
                )
                outputs.append(hidden[0])
        unnormed = outputs[-1]
        outputs[-1] = self.model.model.norm(unnormed).to(self.device)
        features = self.features(outputs, unnormed)
        self._note(cache, ids, positions[0], outputs, unnormed, features)
        return outputs[-1], features

    def features(self, outputs: list[Tensor], unnormed: Tensor) -> Tensor:
        """What the drafter reads of a pass: (R, layers · hidden).

        Args:
            outputs: (R, hidden) each, the embeddings and every layer's output, the last one after the final
                norm.
            unnormed: that before it.
        """
        tapped = [outputs[number + 1].to(self.device) for number in self.tapped]
        return torch.cat(tapped, dim=-1) if tapped else outputs[-1][:, :0]

    def _note(
        self,
        cache: TargetCache,
        ids: Tensor,
        positions: Tensor,
        outputs: list[Tensor],
        unnormed: Tensor,
        features: Tensor,
    ) -> None:
        assert cache.rows is not None
        if cache.rows.backend is not None:
            cache.note(Pass(ids, cache.rows, positions, features))
            return
        if cache.passed is not None and cache.passed.first_row is not None:
            return  # one chunk shows how all are tapped
        # What is kept of a long chunk stays until the next pass, which on the device is none of this cache's.
        first_row = torch.stack([each[0].to(self.device) for each in outputs])
        last = unnormed[0].clone().to(self.device)
        cache.note(Pass(ids, cache.rows, positions, features[:1].clone(), first_row, last))

    @property
    def rotary_frequencies(self) -> tuple[Tensor, float] | None:
        """The angles of position 1 (r,) in float32, and the factor on cosines and sines.

        None where they depend on the longest position.
        """
        rotary = self.model.model.rotary_emb
        if getattr(rotary, "rope_type", "default") in ("dynamic", "longrope"):
            return None
        return rotary.inv_freq.float(), rotary.attention_scaling

    def rotary_angles(self, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Cosines and sines for positions (1, R)."""
        rotary = self.model.model.rotary_emb
        if hasattr(rotary, "mrope_section"):
            # Positions in time, height and width; for text they are the same.
            positions = positions.expand(3, 1, -1)
        angles: tuple[Tensor, Tensor] = rotary(hidden, positions)
        return angles

    @contextmanager
    def _our_attention(self) -> Iterator[None]:
        config = self.model.config
        before = config._attn_implementation
        config._attn_implementation = _ATTENTION
        try:
            yield
        finally:
            config._attn_implementation = before


def layer_kinds(config: Any) -> list[str]:
    """One of ``LAYER_KINDS`` per layer, of a text config of transformers.

    A config without a list of kinds (Llama, Qwen3-MoE) has one kind for all: if it has a window, that of
    the window.
    """
    named = getattr(config, "layer_types", None)
    if named:
        return list(named)
    windowed = getattr(config, "sliding_window", None) is not None
    return ["sliding_attention" if windowed else "full_attention"] * int(config.num_hidden_layers)


def _widened(logits: Tensor) -> Tensor:
    return logits.to(wide(logits.dtype))


def tree_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | TreeMask | None,
    scaling: float | None = None,
    s_aux: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """Transformers' attention interface over the rows of a tree.

    Args:
        query: (1, heads, R, d); key and value: (1, kv heads, committed + R, d).
        attention_mask: bool (1, 1, R, committed + R) from ``Rows.attention_mask``, or what the cache gave
            instead, which then attends itself.
        s_aux: sinks (heads,), for ``attend_with_sinks``.

    Returns:
        (1, R, heads, d).
    """
    if isinstance(attention_mask, TreeMask):
        out = attention_mask.attend(query, key, value, scaling, s_aux)
    else:
        assert attention_mask is not None
        out = attend(query, key, value, attention_mask, scaling, s_aux)
    return out.transpose(1, 2).contiguous(), None


ALL_ATTENTION_FUNCTIONS.register(_ATTENTION, tree_attention)
