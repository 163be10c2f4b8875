"""The options of ``ddtree-tui serve``. Imports nothing heavy."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from ddtree_tui.option_types import add, number, whole
from ddtree_tui.server.options import KEY_VARIABLE, MIB, Limits, ServeOptions
from engine.errors import EngineError
from engine.settings import DecodeSettings, LoadSettings

DESCRIPTION = (
    "Answer OpenAI's HTTP interface with the engine. The decoding options hold for requests that do not say; "
    "without --max-new-tokens an answer may fill the context, and without --seed one is drawn for each. "
    f"{KEY_VARIABLE} in the environment is an API key too, and is not seen in the list of processes."
)


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """What the server has beyond models, decoding and sampling."""
    options, limits = ServeOptions, Limits()
    where = parser.add_argument_group("server")
    add(where, "--host", metavar="NAME", help=f"address to listen at (default {options.host})")
    add(
        where,
        "--port",
        type=whole("port", "from 0 (any that is free) to 65535"),
        metavar="N",
        help=f"(default {options.port})",
    )
    add(where, "--served-model-name", metavar="NAME", help="what clients call it (default: as --model)")
    add(
        where,
        "--api-key",
        action="append",
        metavar="KEY",
        help="let in who has it; may be repeated; needed beyond the loopback",
    )
    add(where, "--log-prompts", action="store_true", help="write prompts and answers into the log too")
    bounds = parser.add_argument_group("limits")
    add(
        bounds,
        "--max-queue",
        type=whole("queue's length", "from 0"),
        metavar="N",
        help=f"requests that may wait while one decodes (default {limits.queue})",
    )
    for name, what, default in (
        ("--request-timeout", "of a request, waiting included", limits.request_seconds),
        ("--idle-timeout", "without a sign of life of engine or client", limits.idle_seconds),
        ("--shutdown-grace", "for the answer under way when told to end", limits.grace_seconds),
    ):
        add(
            bounds,
            name,
            type=number(name[2:].replace("-", " ")),
            metavar="S",
            help=f"seconds {what} (default {default:g})",
        )
    add(
        bounds,
        "--max-body",
        type=whole("body's size", "of at least 1"),
        metavar="MIB",
        help=f"most MiB of a request (default {limits.body_bytes // MIB})",
    )
    add(
        bounds,
        "--history",
        type=whole("history's size", "of at least 1"),
        metavar="MIB",
        help=f"MiB of past events to keep for viewers (default {limits.history_bytes // MIB})",
    )
    add(
        bounds,
        "--prefix-cache",
        type=whole("prefix cache's size", "from 0"),
        metavar="MIB",
        help="MiB of main memory to keep past conversations in, so that their next turns are not read anew "
        f"(default {limits.prefix_bytes // MIB}; with --tp none)",
    )


def serve_options(
    given: dict[str, Any], load: LoadSettings, decode: DecodeSettings, *, log_path: Path, debug: bool
) -> ServeOptions:
    """Read them.

    Raises:
        EngineError: ``usage``, ``bad_setting``.
    """
    defaults = Limits()
    limits = Limits(
        queue=given.get("max_queue", defaults.queue),
        request_seconds=given.get("request_timeout", defaults.request_seconds),
        idle_seconds=given.get("idle_timeout", defaults.idle_seconds),
        grace_seconds=given.get("shutdown_grace", defaults.grace_seconds),
        body_bytes=given["max_body"] * MIB if "max_body" in given else defaults.body_bytes,
        history_bytes=given["history"] * MIB if "history" in given else defaults.history_bytes,
        prefix_bytes=_prefix_bytes(given, load),
    )
    keys = [*given.get("api_key", []), *([os.environ[KEY_VARIABLE]] if KEY_VARIABLE in os.environ else [])]
    options = ServeOptions(
        load=load,
        decode=decode,
        name=given.get("served_model_name", load.model),
        log_path=log_path,
        answer_tokens=given.get("max_new_tokens"),
        fixed_seed="seed" in given,
        host=given.get("host", ServeOptions.host),
        port=given.get("port", ServeOptions.port),
        api_keys=tuple(keys),
        log_prompts=given.get("log_prompts", False),
        debug=debug,
        limits=limits,
    )
    options.check()
    return options


def _prefix_bytes(given: dict[str, Any], load: LoadSettings) -> int:
    divided = (load.tp or 1) > 1  # every process would have to forget the same conversations
    if divided and given.get("prefix_cache"):
        raise EngineError(
            "bad_setting",
            "Past conversations cannot be kept where several processes hold the target (--tp).",
            "Leave --prefix-cache away, or --tp.",
        )
    if "prefix_cache" in given:
        return int(given["prefix_cache"]) * MIB
    return 0 if divided else Limits().prefix_bytes
