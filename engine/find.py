"""Finds a target or a drafter by preset name, folder or hub id."""

from __future__ import annotations

from pathlib import Path

from engine.errors import EngineError
from engine.hub import Report, Source, locate
from engine.presets import PRESETS


def find_target(model: str, report: Report) -> Source:
    """Where the target of that name lies.

    Raises:
        EngineError: ``demo_missing``, as ``smollm2.source.target_folder``, and as ``locate``.
    """
    preset = PRESETS.get(model)
    if preset is None:
        return locate(model, report=report)
    if preset.name == "demo" and not Path(preset.target).is_dir():
        raise EngineError(
            "demo_missing",
            "This installation has no demo weights.",
            "Install the released package, or make them with: python -m engine.demo.train",
            preset.target,
        )
    if preset.name == "smollm2":
        from engine.smollm2.source import target_folder

        return Source(name=preset.name, folder=target_folder(report))
    return locate(preset.target, name=preset.name, report=report)


def find_drafter(model: str, drafter: str | None, report: Report) -> Source | None:
    """Where the drafter lies: the one named, else that of the preset ``model``, else None.

    Raises:
        EngineError: as ``locate``.
    """
    if drafter is not None:
        return locate(drafter, report=report)
    preset = PRESETS.get(model)
    if preset is None:
        return None
    return locate(preset.drafter, name=f"{preset.name} drafter", report=report)
