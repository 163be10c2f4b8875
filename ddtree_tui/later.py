"""Something to do after some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.message_pump import MessagePump


def later(pump: MessagePump, seconds: float, callback: Callable[[], object]) -> None:
    """Call ``callback`` once, as a message of ``pump``, when ``seconds`` have passed.

    In place of ``MessagePump.set_timer``: a timer of Textual 8 that is late already when it is first looked
    at, because others had the processor, counts its only call as one to skip, and never makes it.
    """
    asyncio.get_running_loop().call_later(max(0.0, seconds), pump.call_next, callback)
