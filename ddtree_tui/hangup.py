"""A terminal that is closed must not leave the app behind."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time

from ddtree_tui import exit_codes

GRACE_SECONDS = 3.0


def end_with_terminal() -> None:
    """End the process some seconds after its terminal is gone, should it not have ended by itself.

    SIGHUP asks the app to end, but Textual's shutdown waits for ever when what is still to be drawn can no
    longer be written. The engine needs no care here: the end of this process is the end of its input.
    """
    threading.Thread(target=_watch, args=(sys.stdin.fileno(),), name="hangup", daemon=True).start()


def _watch(terminal: int) -> None:
    poll = select.poll()
    poll.register(terminal, 0)  # a hang-up is reported unasked, and nothing else is wanted
    while not any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        time.sleep(GRACE_SECONDS)
    time.sleep(GRACE_SECONDS)
    os._exit(exit_codes.interrupted(signal.SIGHUP))
