"""The options of ``ddtree-tui attach``. Imports nothing heavy."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ddtree_tui.attach.address import read_address
from ddtree_tui.attach.options import AttachOptions, check_budget
from ddtree_tui.option_types import add, choice
from ddtree_tui.server.options import KEY_VARIABLE
from engine.errors import EngineError
from engine.settings import DecodeSettings

DESCRIPTION = (
    "Open the app on a server, here or elsewhere: watch what it decodes, and send prompts. No model is "
    f"loaded here. {KEY_VARIABLE} in the environment is the API key, if --api-key is not given."
)

KINDS = ("auto", "openai")


def add_attach_options(parser: argparse.ArgumentParser) -> None:
    """Which server, and what of it."""
    parser.add_argument("url", metavar="URL", help="as in http://127.0.0.1:30000")
    where = parser.add_argument_group("server")
    add(where, "--api-key", metavar="KEY", help="for servers that need one; the list of processes shows it")
    add(
        where,
        "--model",
        dest="served",
        metavar="NAME",
        help="which of its models is to answer (default: the first)",
    )
    add(
        where,
        "--as",
        dest="kind",
        type=choice("server", KINDS),
        metavar="KIND",
        help="openai: take it for a server with OpenAI's interface and no more (default: what it is)",
    )
    add(where, "--request", metavar="ID", help="watch this one request (default: whatever runs)")


def attach_options(given: dict[str, Any]) -> AttachOptions:
    """Read them.

    Raises:
        EngineError: ``usage``, ``bad_setting``.
    """
    key: str | None = given.get("api_key", os.environ.get(KEY_VARIABLE))
    if key is not None and (not key.isascii() or not key.isprintable() or not key.strip()):
        raise EngineError(
            "usage",
            "The API key is empty, or has characters that no key has.",
            f"Give the server's with --api-key, or in {KEY_VARIABLE}.",
        )
    check_budget(given.get("budget"), given.get("auto_budget"))
    return AttachOptions(
        read_address(given["url"]),
        key and key.strip(),
        given.get("request"),
        given.get("served"),
        frozenset(given.keys() & {*DecodeSettings.__struct_fields__}),
        given.get("kind") == "openai",
    )
