"""The lines about machine and pair, from a process of its own: this one never imports torch."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from ddtree_tui.engine_process import worker_environment
from ddtree_tui.state_folder import state_folder
from engine.diagnosis.lines import Line
from engine.settings import LoadSettings

MAX_LINE_BYTES = 2**22
_LINE = msgspec.json.Decoder(Line)


def examine(load: LoadSettings, command: Sequence[str] | None = None) -> Iterator[Line]:
    """What ``python -m engine.diagnosis`` says, line by line; one more where it ends before it is through."""
    command = command or [
        *(sys.executable, "-P", "-m", "engine.diagnosis"),
        *("--load", msgspec.json.encode(load).decode()),
        *(word for what, folder in _folders().items() for word in ("--folder", what, str(folder))),
    ]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL, env=worker_environment()
        )
        last = ""
        try:
            assert process.stdout is not None
            while data := process.stdout.readline(MAX_LINE_BYTES):
                line = _LINE.decode(data)
                last = line.name
                yield line
            code = process.wait()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if code != 0:
            errors.seek(0)
            said = errors.read()[-4000:].decode(errors="replace").strip().splitlines()
            yield Line(
                part="environment",
                name="examination",
                status="fail",
                seen=f"ended with code {code} after {last or 'its start'}"
                + (f": {said[-1]}" if said else ""),
                means="What comes next is not known. A library that crashes while it is imported does this.",
                todo=f"Try it by itself: {sys.executable} -c 'import torch, transformers'",
                text="\n".join(said),
            )


def _folders() -> dict[str, Path]:
    """Where there must be room."""
    import platformdirs

    return {
        "recordings": state_folder(),
        "logs": Path(platformdirs.user_log_dir("ddtree-tui", appauthor=False)),
        "models": Path(platformdirs.user_cache_dir("huggingface", appauthor=False)),
    }
