"""``ddtree-tui config``: where the configuration is, what it can say, and whether what it says is right."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ddtree_tui import exit_codes
from ddtree_tui.config_file import config_path, example, read_config
from ddtree_tui.standard_output import put


@dataclass(frozen=True)
class ConfigOptions:
    """What ``ddtree-tui config`` is to do. ``example``: print a documented file; ``path``: only say where."""

    example: bool
    path: bool


def run_config(options: ConfigOptions) -> int:
    """Print to standard output, what is wrong to standard error; returns the exit code."""
    if options.example:
        put(example())
        return exit_codes.OK
    if options.path:
        put(f"{config_path()}\n")
        return exit_codes.OK
    from ddtree_tui.keymap import laid_over
    from ddtree_tui.playground import KEYS

    read = read_config()
    problems = [*read.problems, *laid_over(KEYS, read.config.keys).problems]
    put(f"{read.path}: {_state(read.path, len(problems))}\n")
    for problem in problems:
        print(problem, file=sys.stderr)
    return exit_codes.BAD_INPUT if problems else exit_codes.OK


def _state(path: Path, problems: int) -> str:
    if problems:  # such as a name that is too long to be looked for
        return "not all of it holds"
    return (
        "all of it holds"
        if path.exists()
        else "there is no such file, and none is needed (--print writes an example)"
    )
