"""``ddtree-tui attach``: what runs behind the screen."""

from __future__ import annotations

from ddtree_tui.attach.client import Client
from ddtree_tui.attach.options import AttachOptions
from ddtree_tui.attach.plain_controller import PlainController
from ddtree_tui.attach.plain_link import PlainLink
from ddtree_tui.attach.probe import Server, chosen, probe
from ddtree_tui.attach.remote_controller import RemoteController
from ddtree_tui.attach.remote_link import RemoteLink
from ddtree_tui.attach.routes import requests
from ddtree_tui.controller import Controller
from ddtree_tui.options import AppOptions
from ddtree_tui.recorder import Recorder
from ddtree_tui.served import SETTINGS
from engine.errors import EngineError


def attached(options: AppOptions, attach: AttachOptions, recorder: Recorder | None) -> Controller:
    """A controller whose engine is the server, which was reached.

    Raises:
        EngineError: as ``refusals`` names them; ``usage`` for what this server has not; ``trace_write`` for a
            trace that cannot be made.
    """
    client = Client(attach.address, attach.key)
    server = probe(client)
    chosen(client.address, server.models, attach.model)
    plain = server.kind == "plain" or attach.openai
    controller = (_plain if plain else _remote)(options, attach, client, server, recorder)
    controller.system = options.system
    if attach.key is not None and not client.address.secret:
        controller.notices.append("The API key goes to the server unencrypted: use https:// where you can.")
    return controller


def _remote(
    options: AppOptions,
    attach: AttachOptions,
    client: Client,
    server: Server,
    recorder: Recorder | None,
) -> Controller:
    """This program's server: everything its engine says can be seen."""
    if attach.request is not None and attach.request not in {each.id for each in requests(client)}:
        raise EngineError(
            "remote_missing",
            f"{client.address} has no events of a request {attach.request!r}.",
            "Leave --request away: F11 lists those that there are.",
        )
    link = RemoteLink(client, server.models[0], only=attach.request, trace=options.trace, recorder=recorder)
    link.start()
    return RemoteController(options.decode, link)


def _plain(
    options: AppOptions,
    attach: AttachOptions,
    client: Client,
    server: Server,
    recorder: Recorder | None,
) -> Controller:
    """A server with OpenAI's interface alone: what can be seen is what it tells of its answers."""
    if attach.request is not None:
        raise EngineError(
            "usage",
            f"{client.address} does not tell of the requests of others.",
            "Leave --request away, and send prompts of your own.",
        )
    link = PlainLink(client, model=attach.model, trace=options.trace, recorder=recorder)
    link.start()
    controller = PlainController(options.decode, link)
    if theirs := sorted(name.replace("_", " ") for name in attach.decoding - SETTINGS):
        controller.notices.append(f"The server decides by itself: {', '.join(theirs)}.")
    return controller
