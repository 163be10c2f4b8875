"""Tokens per second against transformers' ``generate``, without and with its DFlash assistant.

``python tests/gpu/bench_generate.py --shape qwen3-4b --model smollm2 --out FILE.json``: the same weights, the
same prompts, greedy, whole answers by the wall clock, prefill included. ``--cpu`` is a dry run.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import torch
import transformers
from round_pairs import SHAPES, random_pair

from engine.decode import generate
from engine.demo.lossless import questions
from engine.drafter import Drafter
from engine.events import Finished
from engine.load import load_pair
from engine.pair import Pair
from engine.settings import Message

PROMPT = 64
"""Tokens of a prompt for random weights."""
WAYS: dict[str, dict[str, Any]] = {
    "ar": {"mode": "ar"},
    "chain": {"mode": "chain"},
    "tree(64)": {"mode": "tree", "budget": 64},
}


@dataclass
class Answers:
    """What one way of decoding wrote, and how long it took. ``rounds``: passes of the target, no prefills."""

    ids: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0
    rounds: int = 0

    def add(self, ids: list[int], seconds: float, rounds: int) -> None:
        self.ids.append(ids)
        self.seconds += seconds
        self.rounds += rounds

    def summary(self, expected: Answers) -> dict[str, Any]:
        tokens = sum(map(len, self.ids))
        return {
            "answers": len(self.ids),
            "tokens": tokens,
            "seconds": self.seconds,
            "tokens_per_second": tokens / self.seconds,
            "acceptance_length": (tokens - len(self.ids)) / max(1, self.rounds),
            "same_text": sum(a == b for a, b in zip(self.ids, expected.ids, strict=True)),
        }


def assistant(drafter: Drafter) -> Any:
    """The drafter as the class that transformers drafts with.

    Its layers are those of DFlash under other names. It has no options for what our class also reads:
    causal layers, biases, factors on embeddings and logits.
    """
    from transformers import MuseGlimmerAssistantConfig, MuseGlimmerAssistantModel

    config = drafter.config
    plain = {"input_embedding_scale": 1.0, "output_multiplier": 1.0, "final_logit_softcapping": None}
    assert all(getattr(config, name) == value for name, value in plain.items())
    assert not config.attention_bias
    assert not any(config.causal(layer) for layer in range(config.num_hidden_layers))
    same = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "head_dim")
    same += ("num_key_value_heads", "rms_norm_eps", "hidden_act", "block_size", "mask_token_id")
    theirs = MuseGlimmerAssistantConfig(
        **{name: getattr(config, name) for name in same},
        target_layer_ids=list(config.target_layer_ids),
        layer_types=list(config.layer_types),
        sliding_window=config.sliding_window or config.max_position_embeddings,
        max_position_embeddings=config.max_position_embeddings,
        rope_parameters=dict(config.rope),
        vocab_size=config.vocab_size,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
    )
    with drafter.device:
        model = MuseGlimmerAssistantModel(theirs).to(drafter.dtype).eval()
        model.rotary_emb = type(model.rotary_emb)(theirs)  # its frequencies stay float32
    names = {"fc.": "encoder.fc.", "hidden_norm.": "encoder.output_norm_enc."}
    weights = {}
    for name, weight in drafter.state_dict().items():
        prefix = next((ours for ours in names if name.startswith(ours)), "")
        weights[names.get(prefix, "") + name.removeprefix(prefix)] = weight
    model.load_state_dict(weights, strict=True)
    return model


def ours(pair: Pair, prompts: Sequence[list[Message]], limit: int, settings: dict[str, Any]) -> Answers:
    found = Answers()
    _ours(pair, prompts[0], {**settings, "max_new_tokens": min(limit, 8)})
    for messages in prompts:
        started = time.perf_counter()
        last = _ours(pair, messages, {**settings, "max_new_tokens": limit})
        found.add(last.output_ids, time.perf_counter() - started, last.rounds)
    return found


def _ours(pair: Pair, messages: list[Message], settings: dict[str, Any]) -> Finished:
    pair.session.reset()
    *_, last = generate(pair, messages, **settings)
    assert isinstance(last, Finished)
    return last


@torch.inference_mode()
def theirs(pair: Pair, prompts: Sequence[list[Message]], limit: int, **more: Any) -> Answers:
    """``generate`` of transformers; ``more``: its assistant."""
    found, model = Answers(), pair.target.model
    passes: list[int] = []
    hook = model.model.register_forward_hook(lambda *_: passes.append(1))
    stops = sorted(pair.codec.stop_ids)
    model.generation_config.eos_token_id = stops or None

    def answer(messages: list[Message], tokens: int) -> list[int]:
        ids = torch.tensor([pair.codec.encode_chat(messages, False).ids], device=pair.target.device)
        text = model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            max_new_tokens=tokens,
            pad_token_id=0,
            **more,
        )
        written: list[int] = text[0, ids.shape[1] :].tolist()
        return written

    try:
        answer(prompts[0], min(limit, 8))
        for messages in prompts:
            passes.clear()
            started = time.perf_counter()
            ids = answer(messages, limit)
            found.add(ids, time.perf_counter() - started, len(passes) - 1)
    finally:
        hook.remove()
    return found


def measure(pair: Pair, prompts: Sequence[list[Message]], limit: int) -> dict[str, Any]:
    """All ways of ours and theirs, and the ratios of their speeds."""
    expected = theirs(pair, prompts, limit)
    runs: dict[str, Callable[[], Answers]] = {
        name: lambda settings=settings: ours(pair, prompts, limit, settings)
        for name, settings in WAYS.items()
    }
    if pair.drafter is not None:
        drafter = pair.drafter
        runs["generate, dflash"] = lambda: theirs(
            pair,
            prompts,
            limit,
            assistant_model=assistant(drafter),
            speculation_type="dflash",
        )
    found: dict[str, Any] = {"generate": expected.summary(expected)}
    for name, run in runs.items():
        try:
            found[name] = run().summary(expected)
        except Exception as error:  # what this version of transformers lacks must not hide the rest
            found[name] = {"error": repr(error)[:500]}
    speed = {name: way["tokens_per_second"] for name, way in found.items() if "error" not in way}
    pairs = [("ar", "generate"), ("chain", "generate, dflash"), ("tree(64)", "ar"), ("tree(64)", "chain")]
    ratios = {f"{a} / {b}": speed[a] / speed[b] for a, b in pairs if a in speed and b in speed}
    return {"ways": found, "ratios": ratios}


def named_pairs(options: argparse.Namespace) -> list[tuple[str, Callable[[], Pair]]]:
    device = torch.device("cpu" if options.cpu else "cuda")
    dtype = torch.float32 if options.cpu else torch.bfloat16
    shapes = ["tiny-dense"] if options.cpu else options.shape
    return [
        *((shape, lambda s=shape: random_pair(s, 4096, device, dtype)) for shape in shapes),
        *(
            (
                name,
                lambda n=name: load_pair(
                    n, options.drafter, device=device.type, dtype=str(dtype).removeprefix("torch.")
                ),
            )
            for name in options.model
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=[*SHAPES], nargs="*", default=[])
    parser.add_argument("--model", nargs="*", default=[], help="presets or folders")
    parser.add_argument("--drafter", help="of the models, where they are folders")
    parser.add_argument("--prompts", type=int, default=6)
    parser.add_argument("--prompt-file", type=Path, nargs="+", default=[])
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    results: dict[str, Any] = {
        "command": " ".join(sys.argv),
        "device": "cpu" if options.cpu else torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "pairs": {},
    }
    asked = [question.messages for question in questions(options.prompts, options.prompt_file)]
    for name, load in named_pairs(options):
        pair = load()
        codec: Any = pair.codec
        if name in SHAPES:
            codec.length = PROMPT
        found = measure(pair, asked, options.max_new_tokens)
        results["pairs"][name] = found
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        for way, values in found["ways"].items():
            print(name, way, values.get("error") or {k: round(v, 2) for k, v in values.items()})
        print(name, found["ratios"])
        del pair
        gc.collect()
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
