"""Writes what a run measured: ``report.json`` and the model card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.demo.split import HELD_OUT_ONE_IN

MODES = {"off": "thinking off", "on": "thinking on"}

_PURPOSE = """\
A small target with the Qwen3.5 architecture (three gated-delta layers to one attention layer) and a DFlash
drafter trained on it. They exist to show speculative decoding with draft trees anywhere, offline, on answers
that can be checked. They know what their training tasks cover and nothing else."""

_DATA = f"""\
The data is drawn by the code in `engine/demo`, which is under the MIT licence; no other text was used.
One content in {HELD_OUT_ONE_IN} (by hash) is never trained on; all numbers below are on such questions."""


def targets_met(report: Mapping[str, Any]) -> dict[str, bool]:
    """The demo's acceptance test, point by point."""
    met: dict[str, bool] = {}
    accuracy = {mode: report["answers"][mode] for mode in MODES}
    arithmetic = accuracy["on"]["tasks"].get("arithmetic", {}).get("accuracy") or 0.0
    met["arithmetic with thinking on >= 95 %"] = arithmetic >= 0.95
    for mode, label in MODES.items():
        met[f"checkable tasks >= 85 %, {label}"] = (accuracy[mode]["accuracy"] or 0.0) >= 0.85
        met[f"ends by itself >= 99 %, {label}"] = (accuracy[mode]["ends_by_itself"] or 0.0) >= 0.99
        lengths = report["acceptance"][mode]
        chain = lengths["chain"].get("all", 0.0)
        met[f"chain between 3 and 9, {label}"] = 3 <= chain <= 9
        if "tree(64)" in lengths:
            met[f"tree(64) >= 1.12 x chain, {label}"] = lengths["tree(64)"].get("all", 0.0) >= 1.12 * chain
        by_task = [value for task, value in lengths["chain"].items() if task != "all"]
        met[f"easiest task >= 1.5 x hardest, {label}"] = bool(by_task) and max(by_task) >= 1.5 * min(by_task)
    return met


def write_report(report: Mapping[str, Any], folder: Path) -> None:
    """``report.json`` and ``README.md`` in ``folder``."""
    (folder / "report.json").write_text(
        json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    (folder / "README.md").write_text(model_card(report), encoding="utf-8")


def model_card(report: Mapping[str, Any]) -> str:
    """The card in Markdown; every number in it comes from ``report``."""
    target, drafter, recipe = report["target"], report["drafter"], report["recipe"]
    replies = report.get("replies", {})
    trained_on = (
        f"{replies['reply_tokens']:,} tokens of the target's own replies to training questions"
        if replies
        else "the training conversations"
    )
    sections = [
        "---\nlicense: mit\nlanguage: en\ntags:\n- speculative-decoding\n- dflash\n- ddtree\n---",
        "# The DDTree demo pair",
        _PURPOSE,
        "This card was written by `python -m engine.demo.train`, which made the pair.",
        "## Models",
        _table(
            ("", "target", "drafter"),
            [
                ("parameters", f"{target['parameters']:,}", f"{drafter['parameters']:,}"),
                ("layers", f"{recipe['layers']} (every fourth attention)", f"{recipe['drafter_layers']}"),
                ("hidden size", f"{recipe['hidden_size']}", f"{recipe['hidden_size']}"),
                ("reads", "tokens", f"outputs of target layers {', '.join(map(str, recipe['tap_layers']))}"),
                (
                    "writes",
                    "one token",
                    f"blocks of {recipe['block_size']} (the root and {recipe['block_size'] - 1} drafts)",
                ),
                ("vocabulary", f"{report['vocab_size']}", "the target's"),
                ("weights", "bfloat16", "bfloat16"),
            ],
        ),
        "## Training",
        _table(
            ("", "target", "drafter"),
            [
                ("data", f"{report['data']['tokens']:,} tokens of generated conversations", trained_on),
                ("steps", f"{target['steps']:,}", f"{drafter['steps']:,}"),
                (
                    "tokens seen, padding left out",
                    f"{target['real_tokens']:,}",
                    f"{drafter['real_tokens']:,}",
                ),
                ("seconds", f"{target['seconds']:,}", f"{drafter['seconds']:,}"),
                ("last training loss", f"{target['loss']:.4f}", f"{drafter['loss']:.4f}"),
            ],
        ),
        _DATA,
        "## Answers",
        f"{report['answers']['off']['questions']} held-out questions per thinking mode, greedy, float32.",
        _table(("", *MODES.values()), _answer_rows(report["answers"], report["heldout_loss"])),
        "## Acceptance",
        f"Mean tokens per round, greedy, along {report['traced']} of these answers per thinking mode.",
        _table(
            ("mode", *MODES.values()),
            [
                (mode, *(_number(report["acceptance"][m][mode].get("all")) for m in MODES))
                for mode in report["acceptance"]["off"]
            ],
        ),
        "By task:",
        _acceptance_by_task(report["acceptance"]),
        "## Versions",
        ", ".join(f"{name} {value}" for name, value in report["versions"].items())
        + f"; seed {recipe['seed']}.",
    ]
    return "\n\n".join(sections) + "\n"


def _answer_rows(answers: Mapping[str, Any], loss: Mapping[str, float]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        ("right, all checkable", *(_percent(answers[mode]["accuracy"]) for mode in MODES)),
        ("ends by itself", *(_percent(answers[mode]["ends_by_itself"]) for mode in MODES)),
        ("mean reply, tokens", *(str(answers[mode]["mean_reply_tokens"]) for mode in MODES)),
        ("loss on written answers, nats per token", *(f"{loss[mode]:.4f}" for mode in MODES)),
    ]
    for task in sorted(set(answers["off"]["tasks"]) | set(answers["on"]["tasks"])):
        shares = (answers[mode]["tasks"].get(task, {}).get("accuracy") for mode in MODES)
        rows.append((task, *(_percent(share) for share in shares)))
    return rows


def _acceptance_by_task(acceptance: Mapping[str, Any]) -> str:
    shown = ["chain"] + [mode for mode in acceptance["off"] if mode == "tree(64)"]
    tasks = sorted({task for mode in MODES for task in acceptance[mode]["chain"]} - {"all"})
    header = ("task", *(f"{kind}, {label}" for label in MODES.values() for kind in shown))
    rows = [
        (task, *(_number(acceptance[mode][kind].get(task)) for mode in MODES for kind in shown))
        for task in tasks
    ]
    return _table(header, rows)


def _table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _percent(share: float | None) -> str:
    return "not checkable" if share is None else f"{share:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
