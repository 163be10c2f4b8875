"""What is told of an answer that is wrong on purpose, wherever it is shown. Pure."""

from __future__ import annotations

from engine.settings import DecodeSettings

NAIVE = "WRONG ON HYBRIDS: verify=naive"
PLANTED = "▲ FAULT PLANTED: "


def alarm(settings: DecodeSettings, hybrid: bool) -> str:
    """Which faults are planted, or that a target with recurrent layers is verified naively; empty else."""
    if settings.inject:
        return PLANTED + ", ".join(settings.inject)
    return NAIVE if hybrid and settings.verify == "naive" else ""
