"""Pairs with a name. Imports neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A target and the drafter trained on it.

    Attributes:
        target, drafter: folder or hub id.
        note: what to know before choosing it, one phrase.
    """

    name: str
    target: str
    drafter: str
    note: str


def demo_folder() -> Path:
    """Where the packaged demo pair lies: ``target`` and ``drafter`` below it."""
    return Path(str(files("engine"))) / "demo" / "weights"


def _demo() -> Preset:
    folder = demo_folder()
    return Preset(
        name="demo",
        target=str(folder / "target"),
        drafter=str(folder / "drafter"),
        note="small hybrid, comes with the package, runs anywhere",
    )


# z-lab's published pairs of the architectures supported here (https://github.com/z-lab/dflash).
_PUBLISHED = (
    ("qwen3-4b", "Qwen/Qwen3-4B", "z-lab/Qwen3-4B-DFlash-b16", "attention only; drafter for thinking off"),
    ("qwen3-8b", "Qwen/Qwen3-8B", "z-lab/Qwen3-8B-DFlash-b16", "attention only; drafter for thinking off"),
    (
        "llama3.1-8b",
        "meta-llama/Llama-3.1-8B-Instruct",
        "z-lab/LLaMA3.1-8B-Instruct-DFlash-UltraChat",
        "attention only; the target's licence must be accepted on the hub",
    ),
    ("qwen3.5-4b", "Qwen/Qwen3.5-4B", "z-lab/Qwen3.5-4B-DFlash", "hybrid"),
    ("qwen3.5-9b", "Qwen/Qwen3.5-9B", "z-lab/Qwen3.5-9B-DFlash", "hybrid"),
    ("qwen3.5-27b", "Qwen/Qwen3.5-27B", "z-lab/Qwen3.5-27B-DFlash", "hybrid; needs a GPU with 80 GB"),
    ("qwen3.6-27b", "Qwen/Qwen3.6-27B", "z-lab/Qwen3.6-27B-DFlash", "hybrid; needs a GPU with 80 GB"),
)

PRESETS: dict[str, Preset] = {"demo": _demo()} | {
    name: Preset(name=name, target=target, drafter=drafter, note=note)
    for name, target, drafter, note in _PUBLISHED
}
