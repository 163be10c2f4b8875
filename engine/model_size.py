"""How large a pair is: of a preset, or of folders. Loads nothing and reads no weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.json_file import read_json
from engine.model_shape import ModelShape, drafter_shape, target_shape, text_part
from engine.presets import PRESETS

CONTEXTS = (4096, 32768)
"""Tokens at which memory is told."""


@dataclass(frozen=True, kw_only=True)
class SizedModel:
    """One model of a pair.

    Attributes:
        name: folder or hub id.
        family: its text model's type, as in ``config.json``.
        shape: None where the config does not tell it all.
    """

    name: str
    family: str
    shape: ModelShape | None

    def weight_bytes(self, itemsize: int) -> int | None:
        return None if self.shape is None else self.shape.weight_bytes(itemsize)

    def bytes(self, context: int, itemsize: int) -> int | None:
        """Weights, caches with ``context`` tokens in them, and what rounds keep beside."""
        return None if self.shape is None else self.shape.bytes(context, itemsize)


@dataclass(frozen=True, kw_only=True)
class SizedPair:
    """A target and its drafter, if it has one."""

    name: str
    note: str
    target: SizedModel
    drafter: SizedModel | None

    @property
    def models(self) -> list[SizedModel]:
        return [self.target] if self.drafter is None else [self.target, self.drafter]

    def weight_bytes(self, itemsize: int) -> int | None:
        """Both models' weights; None where one of them is not known."""
        return _sum(model.weight_bytes(itemsize) for model in self.models)

    def bytes(self, context: int, itemsize: int) -> int | None:
        """Both models' weights, caches, and what rounds keep beside; None where one of them is not known."""
        return _sum(model.bytes(context, itemsize) for model in self.models)


def size_pair(model: str, drafter: str | None = None) -> SizedPair:
    """The sizes of a preset or of folders.

    Raises:
        EngineError: ``model_not_found`` for what is neither, ``no_config``, ``bad_json``.
    """
    preset = PRESETS.get(model)
    if preset is None:
        return SizedPair(
            name=model,
            note="",
            target=_sized(model, _read(model, "target"), target_shape),
            drafter=None if drafter is None else _sized(drafter, _read(drafter, "drafter"), drafter_shape),
        )
    target_config = preset.target_config or _read(preset.target, "target")
    if drafter is None:
        drafter, drafter_config = preset.drafter, preset.drafter_config or _read(preset.drafter, "drafter")
    else:
        drafter_config = _read(drafter, "drafter")
    return SizedPair(
        name=preset.name,
        note=preset.note,
        target=_sized(preset.target, target_config, target_shape),
        drafter=_sized(drafter, drafter_config, drafter_shape),
    )


def _read(model: str, role: str) -> dict[str, Any]:
    try:
        folder = Path(model).expanduser()
        is_folder = model != "" and folder.is_dir()
    except (OSError, RuntimeError, ValueError):  # no such home, a name too long
        is_folder = False
    if not is_folder:
        raise EngineError(
            "model_not_found",
            f"There is no preset and no folder called {model!r}.",
            "Sizes are known of folders and of: " + ", ".join(PRESETS) + ".",
        )
    if not (folder / "config.json").is_file():
        raise EngineError(
            "no_config",
            f"The {role} folder {folder} has no config.json, so it holds no model.",
            "Give the folder that contains config.json and the safetensors files.",
        )
    return read_json(folder / "config.json")


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total


def _sized(name: str, config: dict[str, Any], shape: Callable[[dict[str, Any]], ModelShape]) -> SizedModel:
    family = str(text_part(config).get("model_type", "unknown"))
    try:
        return SizedModel(name=name, family=family, shape=shape(config))
    except (KeyError, TypeError, ZeroDivisionError):  # a size that is missing, or no number
        return SizedModel(name=name, family=family, shape=None)
