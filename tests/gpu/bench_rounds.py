"""Round times against what reading the weights takes, in one run.

``python tests/gpu/bench_rounds.py --shape qwen3.6-27b --out FILE.json``: builds a pair of random weights in a
published shape, replays rounds at a context of 1k tokens, and the pair's linears alone as one CUDA graph.
``--shape demo`` uses the demo pair as it is. ``--cpu`` is a dry run with a tiny shape.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig, Qwen3Config, Qwen3ForCausalLM

from engine.codec import EncodedPrompt
from engine.control import Control
from engine.decode import generate
from engine.drafter import Drafter
from engine.drafter_config import DFlashConfig
from engine.events import Round, Tokens
from engine.pair import Pair
from engine.target import Target

ROPE = {
    "rope_type": "default",
    "rope_theta": 10_000_000.0,
    "partial_rotary_factor": 0.25,
    "mrope_section": [11, 11, 10],
}
HYBRID = {
    "head_dim": 256,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_num_key_heads": 16,
    "vocab_size": 248320,
    "max_position_embeddings": 4096,
    "rope_parameters": ROPE,
}
SHAPES: dict[str, dict[str, Any]] = {
    "qwen3.6-27b": {
        **HYBRID,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "linear_num_value_heads": 48,
    },
    "qwen3.5-4b": {
        **HYBRID,
        "hidden_size": 2560,
        "intermediate_size": 9216,
        "num_hidden_layers": 32,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "linear_num_value_heads": 32,
        "tie_word_embeddings": True,
    },
    "qwen3-8b": {
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 4096,
    },
    "tiny": {
        **HYBRID,
        "vocab_size": 500,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_hidden_layers": 4,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "rope_parameters": {**ROPE, "mrope_section": [3, 3, 2]},
    },
}


class NoText:
    """A codec without text: the prompt is so many arbitrary ids, nothing ends it."""

    stop_ids: frozenset[int] = frozenset()
    special_ids: frozenset[int] = frozenset()
    think_open_id = think_close_id = None
    strips_first_space = supports_thinking = False

    def __init__(self, vocab_size: int, context: int) -> None:
        generator = torch.Generator().manual_seed(0)
        self.ids = torch.randint(0, vocab_size - 10, (context,), generator=generator).tolist()

    def encode_chat(self, messages: Any, thinking: bool) -> EncodedPrompt:
        return EncodedPrompt(ids=self.ids, text="", stable=0, in_thinking=False)

    def token_bytes(self, token_id: int) -> bytes:
        return b"x"

    def tokens_event(self, ids: Any) -> Tokens:
        return Tokens()


def random_pair(shape: str, context: int, device: torch.device, dtype: torch.dtype) -> Pair:
    settings = SHAPES[shape]
    hybrid = "linear_num_value_heads" in settings
    config: Any = Qwen3_5TextConfig(**settings) if hybrid else Qwen3Config(**settings)
    kind: Any = Qwen3_5ForCausalLM if hybrid else Qwen3ForCausalLM
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    with device:
        with torch.device("meta"):
            model = kind(config)
        model = model.to_empty(device=device)
        drafter = Drafter(drafter_shape(settings)).to(device, dtype)
    torch.set_default_dtype(before)
    torch.manual_seed(0)
    for module in (model, drafter):
        for name, parameter in module.named_parameters():
            nn.init.normal_(parameter, std=0.02)
            if "norm" in name and not (hybrid and module is model and "linear_attn" not in name):
                parameter.data.add_(1.0)
    if hybrid:
        for layer in model.model.layers:
            if hasattr(layer, "linear_attn"):
                layer.linear_attn.A_log.data.uniform_(0, 2)
    model.tie_weights()
    rotary = model.model.rotary_emb
    model.model.rotary_emb = type(rotary)(config).to(device)  # its frequencies are no parameters
    target = Target(model.eval(), drafter.config.target_layer_ids)
    codec: Any = NoText(settings["vocab_size"], context)
    info: Any = SimpleNamespace()
    return Pair(target, drafter.eval(), codec, info, on_device=True)


def drafter_shape(target: dict[str, Any]) -> DFlashConfig:
    layers = target["num_hidden_layers"]
    taps = [round(1 + i * (layers - 4) / 4) for i in range(5)]
    tiny = target["hidden_size"] < 1000
    return DFlashConfig.from_dict(
        {
            "hidden_size": target["hidden_size"],
            "intermediate_size": target["intermediate_size"],
            "num_hidden_layers": 2 if tiny else 5,
            "num_attention_heads": 2 if tiny else 32,
            "num_key_value_heads": 1 if tiny else 8,
            "head_dim": 32 if tiny else 128,
            "rms_norm_eps": 1e-6,
            "rope_theta": 10_000_000.0,
            "max_position_embeddings": 4096,
            "vocab_size": target["vocab_size"],
            "num_target_layers": layers,
            "block_size": 16,
            "dflash_config": {"mask_token_id": target["vocab_size"] - 1, "target_layer_ids": taps},
        }
    )


def round_times(pair: Pair, rounds: int, **settings: Any) -> dict[str, float]:
    """Median milliseconds by stage over rounds that follow one another; the first few are left out."""
    pair.session.reset()
    control, times = Control(), []
    for event in generate(pair, "x", max_new_tokens=2000, control=control, **settings):
        if isinstance(event, Round):
            times.append(event.ms)
            if event.index + 1 >= rounds + 3:
                control.cancel()
    stages = times[0].__struct_fields__
    return {stage: statistics.median(getattr(ms, stage) for ms in times[3:]) for stage in stages}


def rounds_per_second(pair: Pair, rounds: int, **settings: Any) -> float:
    """By the wall clock, all the host does included."""
    pair.session.reset()
    control, stamps = Control(), []
    for event in generate(pair, "x", max_new_tokens=2000, control=control, **settings):
        if isinstance(event, Round):
            stamps.append(time.perf_counter())
            if event.index + 1 >= rounds + 3:
                control.cancel()
    return (len(stamps) - 4) / (stamps[-1] - stamps[3])


def linears(model: nn.Module, rows: int, extra: list[tuple[nn.Module, int]]) -> Callable[[], None]:
    """All linear layers of the target on ``rows`` rows, and ``extra`` modules' on theirs."""
    work: list[tuple[nn.Linear, Tensor]] = [
        (layer, torch.randn_like(layer.weight[:1]).repeat(count, 1))
        for module, count in [(model, rows), *extra]
        for layer in module.modules()
        if isinstance(layer, nn.Linear)
    ]

    def run() -> None:
        for layer, x in work:
            nn.functional.linear(x, layer.weight)

    return run


def replay_ms(run: Callable[[], None], repeats: int) -> float:
    """Median of ``repeats`` replays of one graph, by device events; plain calls without a GPU."""
    if not torch.cuda.is_available():
        start = time.perf_counter()
        run()
        return 1000 * (time.perf_counter() - start)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    times = []
    for _ in range(repeats):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        graph.replay()
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last))
    return statistics.median(times)


@torch.inference_mode()
def measure(pair: Pair, rounds: int, budgets: list[int]) -> dict[str, Any]:
    model, drafter = pair.target.model, pair.drafter
    assert drafter is not None
    results: dict[str, Any] = {"modes": {}, "linears_ms": {}, "ratios": {}}
    modes = {"ar": {"mode": "ar"}, "chain": {"mode": "chain"}}
    modes |= {f"tree({budget})": {"mode": "tree", "budget": budget} for budget in budgets}
    for name, settings in modes.items():
        results["modes"][name] = round_times(pair, rounds, **settings)
        results["modes"][name]["rounds_per_second"] = rounds_per_second(pair, rounds, **settings)
    results["linears_ms"]["1 row"] = replay_ms(linears(model, 1, []), 20)
    for budget in budgets:
        extra = [(drafter, 16), (pair.target.head, 16)]
        results["linears_ms"][f"{budget + 1} rows + drafter"] = replay_ms(
            linears(model, budget + 1, extra), 20
        )
    total = {name: times["total"] for name, times in results["modes"].items()}
    results["ratios"]["ar / linears"] = total["ar"] / results["linears_ms"]["1 row"]
    for budget in budgets:
        tree = total[f"tree({budget})"]
        results["ratios"][f"tree({budget}) / linears"] = (
            tree / results["linears_ms"][f"{budget + 1} rows + drafter"]
        )
        results["ratios"][f"tree({budget}) / chain"] = tree / total["chain"]
        results["ratios"][f"build+walk+commit share, tree({budget})"] = (
            sum(results["modes"][f"tree({budget})"][stage] for stage in ("build", "walk", "commit")) / tree
        )
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=[*SHAPES], default="qwen3.6-27b")
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--budgets", type=int, nargs="+", default=[64])
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    device = torch.device("cpu" if options.cpu else "cuda")
    shape = "tiny" if options.cpu else options.shape
    dtype = torch.float32 if options.cpu else torch.bfloat16
    started = time.perf_counter()
    pair = random_pair(shape, options.context, device, dtype)
    results = measure(pair, options.rounds, options.budgets)
    results |= {
        "command": " ".join(sys.argv),
        "shape": shape,
        "context": options.context,
        "device": torch.cuda.get_device_name() if not options.cpu else "cpu",
        "torch": torch.__version__,
        "seconds": time.perf_counter() - started,
        "peak_memory_bytes": 0 if options.cpu else torch.cuda.max_memory_allocated(),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    for name, times in results["modes"].items():
        print(f"{name:12}" + "".join(f"{stage} {ms:8.3f}  " for stage, ms in times.items()))
    for name, ms in results["linears_ms"].items():
        print(f"linears {name}: {ms:.3f} ms")
    for name, ratio in results["ratios"].items():
        print(f"{name}: {ratio:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
