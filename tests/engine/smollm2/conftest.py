"""A GGUF of SmolLM2's kind in small, and the real one where it is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError
from engine.smollm2.source import find_gguf

LAYERS, HIDDEN, MLP, HEADS, KEY_VALUE_HEADS = 2, 64, 96, 4, 2
HEAD = HIDDEN // HEADS
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ("1 2", "h e", "l l", "he ll", "hell o", "Ġ hello")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def real_gguf() -> Path:
    try:
        return find_gguf()
    except EngineError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Quantised like the real one, with random weights."""
    gguf = pytest.importorskip("gguf")
    from tokenizers.pre_tokenizers import ByteLevel

    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    tokens = [*SPECIAL, *sorted(ByteLevel.alphabet()), *(merge.replace(" ", "") for merge in MERGES)]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_VALUE_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(100000.0)
    writer.add_rope_dimension_count(HEAD)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(list(MERGES))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    kind = gguf.GGMLQuantizationType.Q4_1
    for name, shape in _shapes(len(tokens)).items():
        values = np.random.default_rng(len(name)).normal(0, 0.5, shape).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _shapes(vocab: int) -> dict[str, tuple[int, ...]]:
    narrow = KEY_VALUE_HEADS * HEAD
    layer = {
        "attn_norm": (HIDDEN,),
        "attn_q": (HIDDEN, HIDDEN),
        "attn_k": (narrow, HIDDEN),
        "attn_v": (narrow, HIDDEN),
        "attn_output": (HIDDEN, HIDDEN),
        "ffn_norm": (HIDDEN,),
        "ffn_gate": (MLP, HIDDEN),
        "ffn_up": (MLP, HIDDEN),
        "ffn_down": (HIDDEN, MLP),
    }
    layers = {f"blk.{n}.{name}.weight": shape for n in range(LAYERS) for name, shape in layer.items()}
    return {"token_embd.weight": (vocab, HIDDEN), **layers, "output_norm.weight": (HIDDEN,)}
