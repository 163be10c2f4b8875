"""What a run found out: ``report.json`` and the model card, beside the drafter."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

_MOST_POINTS = 12


def versions(device: torch.device) -> dict[str, str]:
    """Of everything that shapes the numbers."""
    found = {"python": platform.python_version()}
    for package in ("torch", "transformers", "tokenizers", "safetensors", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    found["device"] = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    return found


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """``report.json`` and ``README.md`` in ``folder``."""
    text = json.dumps(report, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", encoding="utf-8")
    (folder / "README.md").write_text(model_card(report), encoding="utf-8")


def model_card(report: Mapping[str, Any], *, front: Mapping[str, str] | None = None, about: str = "") -> str:
    """The card in Markdown; every number in it comes from ``report``.

    Args:
        front: more lines of its YAML head.
        about: a section of its own, in Markdown, before the tables.
    """
    drafter, answers, plan = report["drafter"], report["answers"], report["plan"]
    config = drafter["config"]
    taps = ", ".join(map(str, config["dflash_config"]["target_layer_ids"]))
    measured = sum(report["measured"].values())
    sections = [
        "\n".join(
            [
                "---",
                *(f"{name}: {value}" for name, value in (front or {}).items()),
                "tags:\n- speculative-decoding\n- dflash\n- ddtree\n---",
            ]
        ),
        f"# A DFlash drafter for {report['target']}",
        "Written by `python -m engine.train`, which trained it. Embedding and head are the target's.",
        *([about] if about else []),
        "## Model",
        table(
            ("", ""),
            [
                ("parameters", f"{drafter['parameters']:,}"),
                ("layers", str(config["num_hidden_layers"])),
                ("hidden size, MLP", f"{config['hidden_size']}, {config['intermediate_size']}"),
                (
                    "heads",
                    f"{config['num_attention_heads']}, {config['num_key_value_heads']} for keys/values",
                ),
                ("reads", f"outputs of target layers {taps}"),
                ("block", f"{config['block_size']}: the root and {config['block_size'] - 1} drafts"),
                ("mask token id", str(config["dflash_config"]["mask_token_id"])),
                ("weights", "bfloat16"),
            ],
        ),
        "## Training",
        _answers(answers, plan["answers"]),
        table(
            ("", ""),
            [
                ("prompts from", ", ".join(plan["prompts"])),
                ("steps", f"{drafter['steps']:,}"),
                ("seconds", f"{drafter['seconds']:,}"),
                ("tokens seen, padding left out", f"{drafter['real_tokens']:,}"),
                ("blocks per conversation and step", str(drafter["blocks"])),
                *_left_out(drafter, plan["training"]),
                ("seed", str(plan["training"]["seed"])),
            ],
        ),
        "Weighted loss and the chain's mean tokens a round, on the training's blocks and on held-out ones:",
        _curve(drafter["curve"]),
        "## Acceptance",
        f"Mean tokens a round, greedy, along {measured:,} answers to prompts that were not trained on.",
        _acceptance(report["acceptance"], report["measured"]),
        *_speed(report),
        "## Versions",
        ", ".join(f"{name} {value}" for name, value in report["versions"].items()),
    ]
    return "\n\n".join(sections) + "\n"


def _left_out(drafter: Mapping[str, Any], asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not drafter.get("left_out"):
        return []
    longest = min(asked["max_length"] or asked["batch_tokens"], asked["batch_tokens"])
    return [(f"answers left out, with their prompts over {longest:,} tokens", f"{drafter['left_out']:,}")]


def _answers(answers: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    time = f", as many as {asked['seconds']:g} s allowed" if asked["seconds"] else ""
    return (
        f"{answers['tokens']:,} tokens in {answers['answers']:,} answers that the target itself wrote: to "
        f"every prompt one greedy answer and {asked['samples']} sampled at temperature "
        f"{asked['temperature']}, of at most {asked['limit']} tokens{time}."
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _curve(curve: Sequence[Mapping[str, float]]) -> str:
    """At most ``_MOST_POINTS`` points, the last among them."""
    step = max(1, -(-len(curve) // _MOST_POINTS))
    points = [*reversed([*reversed(curve)][::step])]
    names = ("loss", "chain", "heldout_loss", "heldout_chain")
    rows = [
        (f"{point['step']:,.0f}", *(f"{point[name]:.3f}" if name in point else "-" for name in names))
        for point in points
    ]
    return table(("step", "loss", "tokens a round", "held-out loss", "held-out tokens a round"), rows)


def _acceptance(acceptance: Mapping[str, Mapping[str, float]], measured: Mapping[str, int]) -> str:
    rows = [
        (group, str(count), *(f"{lengths.get(group, 1):.2f}" for lengths in acceptance.values()))
        for group, count in {"all": sum(measured.values()), **measured}.items()
    ]
    return table(("prompts", "answers", *acceptance), rows)


def _speed(report: Mapping[str, Any]) -> list[str]:
    if not report.get("speed"):
        return []
    speed = report["speed"]
    rows = [
        (mode, f"{found['tokens_per_second']:,.1f}", f"{found['acceptance']:.2f}")
        for mode, found in speed.items()
    ]
    measured = (
        f"{next(iter(speed.values()))['answers']} answers one after another, greedy, without the time that "
        f"reading the prompt takes, on {report['versions']['device']}."
    )
    return ["## Speed", measured, table(("mode", "tokens per second", "tokens a round"), rows)]
