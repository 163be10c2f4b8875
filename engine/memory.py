"""How much memory the engine uses, and how much it used at most."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import torch

from engine.events import MemoryUse

_STATUS = Path("/proc/self/status")
_CLEAR_PEAK = Path("/proc/self/clear_refs")


def memory_use(device: torch.device) -> MemoryUse:
    """Memory in use on ``device`` now, and its peak since the last call; starts the next peak.

    On a GPU what torch has allocated there and on all others, weights and captured graphs included. On a
    CPU the resident size of this process, libraries included; where the kernel cannot restart the peak,
    the peak is that of the whole process.
    """
    if device.type == "cuda":
        gpus = range(torch.cuda.device_count())
        used, peak = (
            sum(map(of, gpus)) for of in (torch.cuda.memory_allocated, torch.cuda.max_memory_allocated)
        )
        for gpu in gpus:
            torch.cuda.reset_peak_memory_stats(gpu)
        return MemoryUse(of="device", bytes=used, peak_bytes=peak)
    try:
        lines = dict(line.split(":", 1) for line in _STATUS.read_text(encoding="utf-8").splitlines())
        used, peak = (1024 * int(lines[name].split()[0]) for name in ("VmRSS", "VmHWM"))
        _CLEAR_PEAK.write_text("5", encoding="ascii")  # proc(5): resets the peak resident size
    except (OSError, KeyError):
        unit = 1 if sys.platform == "darwin" else 1024
        used = peak = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return MemoryUse(of="process", bytes=used, peak_bytes=peak)
