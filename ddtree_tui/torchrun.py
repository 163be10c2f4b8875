"""One of several processes that ``torchrun`` started: the first talks, the others become its followers."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import NoReturn, TypeVar

import msgspec

from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.engine_process import under_torchrun, worker_command, worker_environment
from ddtree_tui.options import GenerateOptions
from engine.errors import EngineError

Options = TypeVar("Options", GenerateOptions, BenchOptions)


def is_follower() -> bool:
    """Whether this process has nothing to say."""
    return under_torchrun() and os.environ["RANK"] != "0"


def take_part(options: Options) -> Options:
    """The options of the first process, with ``--tp`` as many as there are; the others do not return.

    Raises:
        EngineError: ``bad_setting`` where ``--tp`` says another number.
    """
    if not under_torchrun():
        return options
    world = int(os.environ["WORLD_SIZE"])
    if options.load.tp not in (None, world):
        raise EngineError(
            "bad_setting",
            f"--tp is {options.load.tp}, and torchrun started {world} processes.",
            f"Leave --tp away, or start {options.load.tp} processes.",
        )
    if is_follower():
        _follow(options, world)
    return replace(options, load=msgspec.structs.replace(options.load, tp=world))


def _follow(options: GenerateOptions | BenchOptions, world: int) -> NoReturn:
    command = worker_command(options.log_path, debug=options.debug, ranks=world, parent=os.getppid())
    os.execve(sys.executable, command, worker_environment())
