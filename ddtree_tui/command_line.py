"""The command that makes a run again."""

from __future__ import annotations

import shlex
from pathlib import Path

import msgspec

from ddtree_tui.budget import budget_text
from engine.events import Loaded, ModelInfo, Prefilled
from engine.presets import PRESETS
from engine.settings import QUANTIZATIONS, DecodeSettings, LoadSettings


def reproducing_command(
    prefilled: Prefilled, loaded: Loaded | None, load: LoadSettings | None, conversation: Path | None = None
) -> str:
    """A ``ddtree-tui generate`` line for a shell, with every setting that is not the default.

    Args:
        load: what the pair was loaded with; without it (a recording), what ``loaded`` reports of it.
        conversation: a file of all messages, for an answer that depends on turns before it.
    """
    words = ["ddtree-tui", "generate"]
    system = [message["content"] for message in prefilled.messages if message["role"] == "system"]
    if conversation is not None:
        words.append(f"--messages={conversation}")
    elif system:
        words.append(f"--system={system[0]}")
    load = load or (reported_load(loaded) if loaded is not None else LoadSettings())
    words += _options(load, LoadSettings())
    words += _decoding(prefilled.settings)
    return shlex.join(words if conversation is not None else [*words, "--", _prompt(prefilled)])


def continues_a_conversation(prefilled: Prefilled) -> bool:
    """Whether the answer depends on turns before it."""
    return sum(message["role"] != "system" for message in prefilled.messages) > 1


def _prompt(prefilled: Prefilled) -> str:
    users = [message["content"] for message in prefilled.messages if message["role"] == "user"]
    return users[-1] if users else prefilled.prompt_text


def reported_load(loaded: Loaded) -> LoadSettings:
    """What to load the same pair with, as far as the report of it tells."""
    target, drafter = loaded.target, loaded.drafter
    own = drafter is None or drafter.name in (target.name, f"{target.name} drafter")  # the preset's
    several = loaded.processes if loaded.processes > 1 else None
    return LoadSettings(
        model=_findable(target),
        drafter=None if drafter is None or own else _findable(drafter),
        device=loaded.device.split(" ")[0] if several is None and not loaded.layers_on else "auto",
        dtype=target.dtype,
        device_map="auto" if loaded.layers_on else None,
        tp=several,
        quantize=target.quantization if target.quantization in QUANTIZATIONS else None,
    )


def _findable(model: ModelInfo) -> str:
    """What --model takes: the name of a preset or on the hub; a folder's own name says nothing."""
    return model.name if model.name in PRESETS or "/" in model.name else model.path


def _decoding(settings: DecodeSettings) -> list[str]:
    plain = msgspec.structs.replace(settings, auto_budget=False)
    if not settings.auto_budget:
        return _options(plain, DecodeSettings())
    plain = msgspec.structs.replace(plain, budget=DecodeSettings().budget)
    return [f"--budget={budget_text(settings.budget, auto=True)}", *_options(plain, DecodeSettings())]


def _options(settings: msgspec.Struct, defaults: msgspec.Struct) -> list[str]:
    """``--name=value`` of each field that is not as by default: a value may begin with a dash."""
    words: list[str] = []
    for name in settings.__struct_fields__:
        value = getattr(settings, name)
        if value == getattr(defaults, name):
            continue
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{name.replace('_', '-')}")
        elif isinstance(value, tuple):
            words += [f"{option}={item}" for item in value]
        else:
            words.append(f"{option}={value}")
    return words
