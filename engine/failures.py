"""What to tell the user about an exception, and which of them need another process."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from engine.errors import EngineError
from engine.events import Failed


def as_error(event: Failed) -> EngineError:
    """What an event told, to be raised on its reader's side."""
    return EngineError(event.error, event.message, event.hint, event.detail)


def as_event(error: EngineError) -> Failed:
    """What was raised, to be told as an event."""
    return Failed(error=error.kind, message=error.message, hint=error.hint, detail=error.detail)


def failed_event(error: Exception, detail: str, log_path: Path, seconds: float, command: str = "") -> Failed:
    """What to tell the user about ``error``, ``seconds`` after the job started that ``command`` asked for."""
    told = partial(Failed, t=seconds, detail=detail, command=command)
    if isinstance(error, EngineError):
        return told(error=error.kind, message=error.message, hint=error.hint)
    if is_out_of_memory(error):
        return told(
            error="out_of_memory",
            message="There is not enough memory for this.",
            hint="Close other programs on the device, or choose a smaller --budget, a shorter prompt, "
            "--dtype bfloat16 or a smaller model.",
        )
    if is_lost_rank(error):
        return told(
            error="rank_lost",
            message="Another of the processes that hold the target together ended or does not answer.",
            hint=f"The log says why: {log_path}",
        )
    return told(
        error="internal",
        message=f"The engine failed unexpectedly ({type(error).__name__}).",
        hint=f"Please report it with the log: {log_path}",
    )


def is_out_of_memory(error: Exception) -> bool:
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)  # CPU allocator


def is_device_failure(error: Exception) -> bool:
    """Whether this is a CUDA error after which every other call fails too (an illegal access, ...)."""
    return isinstance(error, RuntimeError) and not is_out_of_memory(error) and "CUDA error:" in str(error)


def is_lost_rank(error: Exception) -> bool:
    """Whether this comes from an exchange between processes, of torch's backends on CPUs and GPUs."""
    return isinstance(error, RuntimeError) and ("gloo" in str(error) or "NCCL" in str(error))
