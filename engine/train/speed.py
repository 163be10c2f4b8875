"""Tokens per second of the decoder itself, in every mode, on the same prompts."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from engine.decode import generate
from engine.events import Finished
from engine.load import load_pair
from engine.pair import Pair
from engine.settings import DecodeSettings
from engine.train.plan import TrainPlan
from engine.train.progress import Progress
from engine.train.prompts import Prompt


def measure_speed(plan: TrainPlan, drafter: Path, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Decode the prompts greedily, one after another, as anybody would.

    Returns:
        Per mode (``ar``, ``chain``, ``tree(64)`` ...): ``tokens_per_second`` and ``acceptance`` of all
        answers together, and how many of the texts are those of ``ar``.
    """
    gc.collect()
    torch.cuda.empty_cache()
    pair = load_pair(plan.target, str(drafter), device=plan.device, dtype=plan.dtype)
    limit = plan.answers.limit
    modes = {"ar": DecodeSettings(mode="ar", max_new_tokens=limit)}
    modes["chain"] = DecodeSettings(mode="chain", max_new_tokens=limit)
    for budget in plan.budgets:
        modes[f"tree({budget})"] = DecodeSettings(mode="tree", budget=budget, max_new_tokens=limit)
    progress, measured = Progress("speed"), dict[str, Any]()
    texts: dict[str, list[list[int]]] = {}
    for done, (name, settings) in enumerate(modes.items()):
        list(generate(pair, list(prompts[0].messages), settings))  # pays for first calls and graphs
        answers = [_decode(pair, prompt, settings) for prompt in prompts]
        texts[name] = [finished.output_ids for finished, _ in answers]
        # Of decoding alone: the first token comes from reading the prompt, and its time is not counted.
        tokens = sum(finished.tokens - 1 for finished, _ in answers)
        rounds = sum(finished.rounds for finished, _ in answers)
        measured[name] = {
            "tokens_per_second": round(tokens / sum(seconds for _, seconds in answers), 1),
            "acceptance": round(tokens / max(rounds, 1), 3),
            "same_text_as_ar": sum(a == b for a, b in zip(texts[name], texts["ar"], strict=True)),
            "answers": len(answers),
        }
        progress.update((done + 1) / len(modes), f"{name} {measured[name]['tokens_per_second']:,} tokens/s")
    return measured


def _decode(pair: Pair, prompt: Prompt, settings: DecodeSettings) -> tuple[Finished, float]:
    """The last event, and the seconds from the first token to it."""
    started = time.perf_counter()
    last = list(generate(pair, list(prompt.messages), settings))[-1]
    assert isinstance(last, Finished)
    return last, time.perf_counter() - started - last.ttft_s
