"""The requests of the server that the app is attached to."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import work

from ddtree_tui.actions.keep import KeepActions
from ddtree_tui.keys import Key
from ddtree_tui.problem import Problem
from engine.errors import EngineError

if TYPE_CHECKING:
    from ddtree_tui.attach.client import Client

KEYS = (
    Key(
        "attach.requests",
        "requests",
        "attached: the server's requests; watch, open",
        "Requests of the server",
        "f11",
        "W",
    ),
)


class RequestActions(KeepActions):
    def action_requests(self) -> None:
        """List them: one that runs is watched, one that is over is opened like a recording."""
        from ddtree_tui.attach.remote_controller import RemoteController
        from ddtree_tui.attach.routes import requests
        from ddtree_tui.screens.requests import Picked, RequestsScreen

        controller = self.live or self.controller
        if not isinstance(controller, RemoteController):
            text = "There is no server to list: ddtree-tui attach URL shows the requests of ddtree-tui serve."
            if controller.place:
                text = "The requests of others are not listed here: only ddtree-tui serve tells them, "
                text += "without --as openai."
            self.notify(text, markup=False, timeout=5)
            return
        link = controller.link

        def picked(what: Picked | None) -> None:
            if what is None:
                return
            if what.request is not None and not what.request.running:
                self._open_request(link.client, what.request.id)
                return
            self.leave_recording()
            controller.watch(what.request.id if what.request is not None else None)
            self.changed()

        current = None if link.follows or link.shown is None else link.shown.id
        read = partial(requests, link.client)
        place = f"{link.model} at {controller.place}"
        self.push_screen(RequestsScreen(place, read, link.sent_ids, current), picked)

    @work(thread=True, exclusive=True, group="read")
    def _open_request(self, client: Client, request: str) -> None:
        """Fetch a request's events beside the screen, and show them."""
        from ddtree_tui.attach.routes import fetch

        with tempfile.TemporaryDirectory(prefix="ddtree-") as folder:
            path = Path(folder) / "request.jsonl"
            try:
                fetch(client, request, path)
            except EngineError as error:
                self._then(
                    self.open_dialog, Problem("The request cannot be opened", error.message, error.hint)
                )
                return
            trace = self._read(path)
        if trace is not None:
            self._then(self._replay, Path(request), trace)
