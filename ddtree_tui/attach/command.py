"""``ddtree-tui attach``: what runs behind the screen."""

from __future__ import annotations

from ddtree_tui.attach.client import Client
from ddtree_tui.attach.options import AttachOptions
from ddtree_tui.attach.probe import Server, probe
from ddtree_tui.attach.remote_controller import RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from ddtree_tui.controller import Controller
from ddtree_tui.options import AppOptions
from ddtree_tui.recorder import Recorder
from engine.errors import EngineError


def attached(options: AppOptions, attach: AttachOptions, recorder: Recorder | None) -> Controller:
    """A controller whose engine is the server, which was reached.

    Raises:
        EngineError: as ``refusals`` names them; ``trace_write`` for a trace that cannot be made.
    """
    client = Client(attach.address, attach.key)
    server = probe(client)
    if server.kind == "plain":
        return _plain(options, client, server, recorder)
    return _remote(options, attach, client, server, recorder)


def _remote(
    options: AppOptions,
    attach: AttachOptions,
    client: Client,
    server: Server,
    recorder: Recorder | None,
) -> Controller:
    """This program's server: everything its engine says can be seen."""
    link = RemoteLink(client, server.models[0], only=attach.request, trace=options.trace, recorder=recorder)
    if attach.request is not None and attach.request not in {each.id for each in link.requests()}:
        raise EngineError(
            "remote_missing",
            f"{client.address} has no events of a request {attach.request!r}.",
            "Leave --request away: F11 lists those that there are.",
        )
    link.start()
    controller = RemoteController(options.decode, link, log_path=options.log_path)
    controller.system = options.system
    if attach.key is not None and not client.address.secret:
        controller.notices.append("The API key goes to the server unencrypted: use https:// where you can.")
    return controller


def _plain(options: AppOptions, client: Client, server: Server, recorder: Recorder | None) -> Controller:
    """A server with OpenAI's interface alone: what can be seen is what it tells of its answers."""
    raise EngineError(
        "remote_answer",
        f"{client.address} is no DDTree server.",
        "Start one with: ddtree-tui serve",
    )
