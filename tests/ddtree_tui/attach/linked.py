"""Links and controllers for tests, and ways to wait for what they do."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.client import Client
from ddtree_tui.attach.remote_controller import RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from engine.settings import DecodeSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))  # served


def client(url: str, key: str | None = None) -> Client:
    return Client(read_address(url), key)


@contextlib.contextmanager
def watching(url: str, key: str | None = None, **options: Any) -> Iterator[RemoteController]:
    """A controller on a link that was started, without a screen."""
    settings = options.pop("settings", DecodeSettings(max_new_tokens=150))
    options = {"pause": lambda failures: 0.02} | options
    controller = RemoteController(settings, RemoteLink(client(url, key), "demo", **options))
    controller.link.start()
    try:
        yield controller
    finally:
        controller.shut_down()


def until(controller: RemoteController, condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Let the controller's clock run until something holds."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, (controller.state, controller.notices, controller.link.connection)
        controller.tick(time.monotonic())
        time.sleep(0.005)
    return found
