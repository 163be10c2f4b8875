"""A process that holds a part of the target and does what the first one does, without a word."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NoReturn

from engine.commands import Generate, Load, decode_command
from engine.errors import EngineError
from engine.worker import answer, load

if TYPE_CHECKING:
    from engine.pair import Pair

log = logging.getLogger("engine.follower")


def follow(size: int) -> NoReturn:
    """Carry out the commands of rank 0 until it ends; does not return.

    Args:
        size: how many ranks there are.
    """
    from engine.ranks import join

    try:
        ranks = join(size)
    except EngineError as error:  # the first process finds out too, when it is told to load
        log.error("%s", error.message)
        os._exit(0)
    except Exception:
        log.exception("the other processes are not there")
        os._exit(1)
    pair: Pair | None = None
    while True:
        try:
            command = decode_command(ranks.next_command())
        except RuntimeError as error:
            log.info("the first process ended: exiting (%s)", error)
            os._exit(0)
        try:
            if isinstance(command, Load):
                pair = None  # the old pair's memory must be free before the new one is read
                pair = load(command.settings, None)
            elif isinstance(command, Generate):
                for _ in answer(pair, command):
                    pass
        except EngineError as error:  # the first process has it too, and says so
            log.info("%s: %s %s", error.kind, error.message, error.detail)
        except Exception:
            log.exception("failed: exiting, which ends the other processes")
            os._exit(1)
